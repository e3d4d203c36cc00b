// Secrets of Secret Manager and their versions, as secretmanager.googleapis.com v1 has them: of a
// project, or of one of its regions (place.zone is one, or ""). Replication, rotation, keys, topics
// and who may do what are not played.
#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include "providers/base/value.h"
#include "providers/emulator/service/core.h"

namespace podctl::emulator {

class SecretTable {
 public:
  explicit SecretTable(Core* core) : core_(core), secrets_(core->journal, "secret") {}  // lent

  Answer List(const Call& call) const;
  Answer Create(const Call& call);
  Answer Get(const Call& call) const;
  Answer Patch(const Call& call);
  Answer Delete(const Call& call);
  Answer AddVersion(const Call& call);
  Answer ListVersions(const Call& call) const;
  // The version by its number, an alias, or "latest", whatever has become of that.
  Answer GetVersion(const Call& call) const;
  Answer Access(const Call& call) const;
  Answer Enable(const Call& call) { return SetState(call, "ENABLED"); }
  Answer Disable(const Call& call) { return SetState(call, "DISABLED"); }
  Answer Destroy(const Call& call) { return SetState(call, "DESTROYED"); }

  void Restore(const std::string& name, const Value& record) { secrets_.Restore(name, record); }

 private:
  struct Secret {
    Value resource;
    Value versions = Value(Value::List{});  // SecretVersion, with `data` in base64

    template <typename Archive>
    void Fields(Archive& archive) {
      archive("resource", resource);
      archive("versions", versions);
    }
  };
  // Its place in the list; a refusal where there is none.
  std::variant<std::size_t, ApiError> Find(const Call& call) const;
  Answer SetState(const Call& call, const char* state);

  Core* const core_;
  Table<Secret> secrets_;
};

}  // namespace podctl::emulator
