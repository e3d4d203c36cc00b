// What state/ asks of a kind of things that are remembered: what its records are called, and how
// the part that only the kind understands is written and read. One for each kind, without a state
// of its own; which there are is handed in by the wiring.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/value.h"
#include "state/any_record.h"
#include "state/object_json.h"

namespace podctl {

// A thing as terraform's JSON has it. `values` is null for what is not there (then the others mean
// nothing).
struct ShownObject {
  Value values;
  Value sensitive = Value::EmptyMap();  // true at the place of each sensitive value
  Value unknown = Value::EmptyMap();    // true at the place of each value known after apply
};

// How records of a kind are shown. What a kind leaves out here, cmd/views shows by itself.
class RecordShow {
 public:
  // What people call one, and its addresses: "training job", "trainingJob.NAME".
  virtual std::string_view noun() const = 0;
  virtual std::string_view form() const = 0;
  // The key of a spec under which it is declared, and of a document under which it is listed; "":
  // with something else.
  virtual std::string_view section() const { return {}; }
  // A value and no thing: nothing of the world stands for it, and it is shown, counted and told of
  // apart, as terraform has its outputs.
  virtual bool is_value() const { return false; }
  // What it risks to forget one of which something is under way, and who it is of.
  virtual std::string_view forget_risk() const { return {}; }
  // A path and a value a line, in any order; without what any record has.
  virtual std::vector<std::pair<std::string, std::string>> Lines(const AnyRecord&) const {
    return {};
  }
  // The members of a document, in their order; likewise.
  virtual Value Document(const AnyRecord&) const { return Value::EmptyMap(); }
  virtual ShownObject Shown(const AnyRecord&) const { return {}; }
  // The columns of a table, the second the thing's state, the last without a limit; and a row.
  // `seen`: what the world says, nullptr where nobody looked.
  virtual std::vector<std::string> StatusHeader() const { return {}; }
  virtual std::vector<std::string> StatusRow(const std::string& /*name*/, const AnyRecord&,
                                             const Value* /*seen*/) const {
    return {};
  }
  virtual bool IsGood(const std::string& /*state*/) const { return false; }  // of a row

 protected:
  ~RecordShow() = default;
};

// An object of a record, lent by it, with its full name: "projects/p/locations/z/nodes/n".
struct NamedObject {
  std::string name;
  const Object& object;
  int parts = 1;  // 2 or more: it is those with "-0", "-1", … behind the name
};

class RecordCodec : public RecordShow {
 public:
  virtual std::string_view kind() const = 0;  // of its addresses, and the member `type`: "pod"
  virtual AnyRecord New() const = 0;
  // Takes the members of the payload; what is wrong with them is told to `in`. `version` is the
  // format's; below kFormatOfObjects the members stand beside those of the objects. The objects of
  // `record` have been read.
  virtual void ReadPayload(ObjectReader& in, int version, AnyRecord* record) const = 0;
  // In the order of the members' keys.
  virtual void WritePayload(const AnyRecord& record, ObjectWriter& out) const = 0;

  // What is unusual about it, in a few words: "PREEMPTED, being deleted"; "": nothing.
  virtual std::string Remark(const AnyRecord&) const { return {}; }
  // What the service calls the objects of `record`: no two of a state are the same one. Nothing of
  // a kind whose things may have the name of another for a while.
  virtual std::vector<NamedObject> Named(const AnyRecord& /*record*/) const { return {}; }
  // Takes the record for right as the world says it is (`seen`; null: it is gone). False: nothing
  // is left of it, and it is to be forgotten. `digest_key` is the state's, for what is sensitive.
  virtual bool Accept(const Value& /*seen*/, const std::string& /*digest_key*/, AnyRecord*) const {
    return true;
  }

  // The first version of the format that has such records.
  virtual int since_version() const { return 1; }
  // The first one that can say all of this record.
  virtual int VersionOf(const AnyRecord& /*record*/) const { return since_version(); }
  // The member that named the current object before kFormatOfObjects.
  virtual std::string_view old_locator() const { return {}; }

 protected:
  ~RecordCodec() = default;
};

using RecordKinds = std::span<const RecordCodec* const>;

// "Addresses are `pod.NAME`, `bootstrap.NAME.STEP` and `trainingJob.NAME`."
std::string FormsOfAddresses(RecordKinds kinds);

// One for records of type T, which it opens.
template <typename T>
class RecordCodecOf : public RecordCodec {
 public:
  std::string_view kind() const override { return T::kKind; }
  AnyRecord New() const override { return T(); }
  void ReadPayload(ObjectReader& in, int version, AnyRecord* record) const override {
    Read(in, version, &record->Edit<T>());
  }
  void WritePayload(const AnyRecord& record, ObjectWriter& out) const override {
    Write(record.As<T>(), out);
  }

 protected:
  ~RecordCodecOf() = default;
  virtual void Read(ObjectReader& in, int version, T* record) const = 0;
  virtual void Write(const T& record, ObjectWriter& out) const = 0;
};

}  // namespace podctl
