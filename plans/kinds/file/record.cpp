#include "plans/kinds/file/record.h"

#include <fmt/format.h>

#include <filesystem>

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "state/record_codec.h"
#include "state/state_json.h"

namespace podctl {
namespace {

constexpr int kMostMode = 0777;

bool IsDigest(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  for (const std::string_view head : {"sha256:", "hmac-sha256:"}) {
    if (text.size() != head.size() + kDigits || !text.starts_with(head)) continue;
    text.remove_prefix(head.size());
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  }
  return false;
}

std::string InNormalForm(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

// What the spec's reader lets pass (reader.cpp), and what is made of it: a record of another place
// would have podctl look there, and remove a file.
std::string_view WhatIsWrongWithPlace(const std::string& path, const std::string& locator) {
  const std::string whole = "/" + path + "/";
  const bool is_file = !path.empty() && !path.ends_with('/') && !path.ends_with("/.");
  const bool is_own = (locator + "/").find("/podctl.state.json") != std::string::npos;
  if (!is_file || is_own) return "has a `path` at which no file of a spec can be";
  if (locator == "/" || !locator.starts_with('/') || locator.ends_with('/') ||
      InNormalForm(locator) != locator) {
    return "has a `locator` that is no path from the root";
  }
  const bool is_absolute = path.starts_with('/');
  if (!is_absolute && whole.find("/../") != std::string::npos) {
    return "has a `path` that leads out of its folder";
  }
  const bool fits =
      is_absolute ? locator == InNormalForm(path) : locator.ends_with("/" + InNormalForm(path));
  return fits ? "" : "has a `locator` and a `path` that are not of one place";
}

class FileCodec final : public RecordCodecOf<FileRecord> {
 public:
  int since_version() const override { return kFormatOfObjects; }

  std::string_view noun() const override { return "file"; }
  std::string_view form() const override { return "file.NAME"; }
  std::string_view section() const override { return "files"; }
  std::string_view forget_risk() const override {
    return "the file stays where it is, and no state knows it.";
  }

  std::vector<std::pair<std::string, std::string>> Lines(const AnyRecord& any) const override {
    const auto& record = any.As<FileRecord>();
    return {{"path", ToJson(Value(record.current.locator))},
            {"mode", ToJson(Value(ModeText(record.mode)))},
            {"content", "(digest " + record.digest + ")"}};
  }

  Value Document(const AnyRecord& any) const override {
    const auto& record = any.As<FileRecord>();
    Value file = Value::EmptyMap();
    file.Set("path", record.current.locator);
    file.Set("mode", ModeText(record.mode));
    file.Set("contentDigest", record.digest);
    return file;
  }

  ShownObject Shown(const AnyRecord& any) const override {
    ShownObject object;
    object.values = Document(any);
    return object;
  }

  std::vector<std::string> StatusHeader() const override { return {"FILE", "STATE", "PATH"}; }
  std::vector<std::string> StatusRow(const std::string& name, const AnyRecord& any,
                                     const Value* looked) const override {
    const auto& record = any.As<FileRecord>();
    const Value* seen = looked == nullptr ? nullptr : &(*looked)["old"];
    // What is sensitive is remembered by a keyed digest, and compared by one (WithKeyedDigests).
    const auto is_keyed = [](const std::string& digest) { return digest.starts_with("hmac-"); };
    std::string state = "WRITTEN";
    if (seen == nullptr || record.pending()) {
      state = "PENDING";
    } else if (seen->is_null()) {
      state = "GONE";
    } else if (const std::string& digest = (*seen)["digest"].AsString();
               (is_keyed(digest) == is_keyed(record.digest) && digest != record.digest) ||
               (*seen)["mode"].AsInt(-1) != record.mode) {
      state = "CHANGED";
    }
    return {name, state, record.current.locator};
  }
  bool IsGood(const std::string& state) const override { return state == "WRITTEN"; }

  bool Accept(const Value& looked, const std::string& digest_key, AnyRecord* any) const override {
    const Value& seen = looked["old"];
    if (seen["kind"] != Value("file")) return false;
    auto& record = any->Edit<FileRecord>();
    record.digest =
        DigestOf(seen["content"].AsString(), record.digest.starts_with("hmac-"), digest_key);
    record.mode = static_cast<int>(seen["mode"].AsInt());
    return true;
  }

 private:
  void Read(ObjectReader& in, int /*version*/, FileRecord* file) const override {
    file->depends_on = in.SpareAddresses("depends_on");
    file->digest = in.Text("digest");
    file->mode = static_cast<int>(in.Number("mode", 0, kMostMode));
    file->old_digest = in.SpareText("old_digest");
    if (in.IsThere("old_mode")) {
      file->old_mode = static_cast<int>(in.Number("old_mode", 0, kMostMode));
    }
    file->path = in.Text("path");
    if (!IsDigest(file->digest)) in.Fail("has a `digest` that is none");
    if (!file->old_digest.empty() && !IsDigest(file->old_digest)) {
      in.Fail("has an `old_digest` that is none");
    }
    const std::string_view wrong = WhatIsWrongWithPlace(file->path, file->current.locator);
    if (!wrong.empty()) in.Fail(std::string(wrong));
    if (!file->deposed.empty() || !file->auxiliary.empty()) {
      in.Fail("has other objects than its one file");
    }
  }

  void Write(const FileRecord& file, ObjectWriter& out) const override {
    out.Spare("depends_on", file.depends_on);
    out.Member("digest", file.digest);
    out.Member("mode", file.mode);
    out.Spare("old_digest", file.old_digest);
    if (file.old_mode != 0) out.Member("old_mode", file.old_mode);
    out.Member("path", file.path);
  }
};

}  // namespace

const RecordCodec& FileRecord::Codec() {
  static const FileCodec codec;
  return codec;
}

Address FileAddress(const std::string& file) {
  return {std::string(kFileKind), file};
}

std::string FolderOfRecord(const FileRecord& record) {
  const std::string& whole = record.current.locator;
  const std::string end = "/" + record.path;
  if (record.path.starts_with('/') || !whole.ends_with(end)) return {};
  return whole.substr(0, whole.size() - end.size());
}

std::string DigestOf(const std::string& content, bool sensitive, const std::string& digest_key) {
  return sensitive ? "hmac-sha256:" + HmacSha256Hex(digest_key, content)
                   : "sha256:" + Sha256Hex(content);
}

void WithKeyedDigests(const State& state, std::map<Address, Value>* seen) {
  for (const auto& [address, record] : RecordsOf<FileRecord>(state)) {
    const auto found = seen->find(address);
    if (found == seen->end() || !record.digest.starts_with("hmac-")) continue;
    const Value& old = found->second["old"];
    if (old["kind"] != Value("file")) continue;
    const std::string digest = DigestOf(old["content"].AsString(), true, state.digest_key);
    found->second.SetPath("old.digest", digest);
  }
}

std::string ModeText(int mode) {
  return fmt::format("{:04o}", mode);
}

}  // namespace podctl
