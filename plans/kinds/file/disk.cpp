#include "plans/kinds/file/disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "plans/kinds/file/record.h"
#include "providers/base/digest.h"

namespace podctl {
namespace {

constexpr std::uint64_t kMostContent = 16u << 20;
constexpr const char* kWithoutLink =
    "Remove the link, or name the file where it is by an absolute path.";

// Where a file is: `base` is reached through whatever links there are, and what is `below` it
// through none. An absolute path is the user's own way; of another one each folder counts from the
// spec's on, since whoever writes to the repository could lead it away.
struct Way {
  std::string base;
  std::string below;
  std::string name;
};

Way WayOf(const std::string& path, const std::string& folder) {
  Way way{FolderOf(path), "", path.substr(path.rfind('/') + 1)};
  if (folder.empty()) return way;
  std::size_t begin = folder == "." ? 0 : folder.size();
  begin = std::min(path.find_first_not_of('/', begin), path.size());
  way.base = folder;
  way.below = path.substr(begin, path.size() - begin - way.name.size());
  return way;
}

Result<std::unique_ptr<HeldFolder>> Held(FileSystem& files, const Way& way, bool make) {
  return files.HoldFolder(way.base, way.below, make);
}

Error NotExpected(const std::string& path, bool expects_some) {
  return MakeError(ErrorCode::kAlreadyExists,
                   expects_some
                       ? fmt::format("{} was changed after the plan was made", path)
                       : fmt::format("{} is there already, and podctl did not write it", path),
                   expects_some ? "`podctl plan` shows what it is now."
                                : "Move it away, or give the file of the spec another `path`.");
}

// As LookAtFile.
Result<Value> LookIn(HeldFolder& folder, const std::string& name) {
  using Kind = FileInfo::Kind;
  Value seen = Value::EmptyMap();
  const auto info = folder.Look(name);
  if (!info) return info.error();
  if (info->kind != Kind::kFile) {
    seen.Set("kind", info->kind == Kind::kFolder ? "folder"
                     : info->kind == Kind::kLink ? "link"
                                                 : "other");
    return seen;
  }
  auto text = folder.Read(name, kMostContent);
  // Other things of the spec are none the worse for it.
  if (!text && text.error().code == ErrorCode::kNotFound) return text.error();
  seen.Set("kind", text ? "file" : "unreadable");
  seen.Set("mode", static_cast<int>((text ? text->info.mode : info->mode) & 0777));
  if (!text) return seen;
  seen.Set("digest", DigestOf(text->bytes, false, {}));
  seen.Set("content", std::move(text->bytes));
  return seen;
}

// kNotFound: nothing is there.
Result<void> CheckExpected(HeldFolder& folder, const std::string& name, const FileOnDisk& file) {
  const auto seen = LookIn(folder, name);
  if (!seen) return seen.error();
  if ((*seen)["kind"].AsString() == "link") {
    return MakeError(
        ErrorCode::kFailedPrecondition,
        fmt::format("{} is a symbolic link, and podctl writes through none", file.path),
        kWithoutLink);
  }
  if ((*seen)["kind"].AsString() != "file") return NotExpected(file.path, !file.replaces.empty());
  const std::string& content = (*seen)["content"].AsString();
  const bool same = !file.replaces.empty() && DigestOf(content, file.replaces.starts_with("hmac-"),
                                                       file.digest_key) == file.replaces;
  if (same) return {};
  return NotExpected(file.path, !file.replaces.empty());
}

constexpr std::size_t kProofDigits = 32;

std::string BeginOfTemporary(const std::string& name) {
  constexpr std::size_t kMostBytes = 160;  // of the 255 that a name may have
  return fmt::format(".{}.podctl-tmp-", name.size() > kMostBytes ? Sha256Hex(name) : name);
}

// What killed runs left. Best effort: it only takes room, and where the folder may not be read
// nothing is found.
void RemoveLeftovers(HeldFolder& folder, const FileOnDisk& file) {
  const auto names = folder.List();
  if (!names) return;
  const std::string begin = BeginOfTemporary(file.path.substr(file.path.rfind('/') + 1));
  for (const std::string& name : *names) {
    if (!name.starts_with(begin)) continue;
    const std::string rest = name.substr(begin.size());
    const std::string nonce =
        rest.size() > kProofDigits + 1 ? rest.substr(kProofDigits + 1) : std::string();
    const std::string ours = TemporaryOf(file.path, file.digest_key, nonce);
    if (name == ours.substr(ours.rfind('/') + 1)) static_cast<void>(folder.Remove(name));
  }
}

}  // namespace

std::string TemporaryOf(const std::string& path, const std::string& digest_key,
                        const std::string& nonce) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string about = nonce.empty() ? name : fmt::format("{} {}", name, nonce);
  const std::string proof = HmacSha256Hex(digest_key, "temporary file of " + about);
  return fmt::format("{}/{}{}{}{}", FolderOf(path), BeginOfTemporary(name),
                     proof.substr(0, kProofDigits), nonce.empty() ? "" : "-", nonce);
}

Result<Value> LookAtFile(FileSystem& files, const std::string& path, const std::string& folder) {
  const Way way = WayOf(path, folder);
  const auto held = Held(files, way, false);
  if (held) return LookIn(**held, way.name);
  if (held.error().code != ErrorCode::kFailedPrecondition) return held.error();
  Value seen = Value::EmptyMap();
  seen.Set("kind", "link");
  return seen;
}

Result<void> WriteFile(FileSystem& files, const FileOnDisk& file) {
  const Way way = WayOf(file.path, file.folder);
  auto held = Held(files, way, true);
  if (!held) {
    if (held.error().code != ErrorCode::kFailedPrecondition) return held.error();
    return MakeError(held.error().code, held.error().message, kWithoutLink);
  }
  HeldFolder& folder = **held;
  auto expected = CheckExpected(folder, way.name, file);
  const bool is_new = !expected && expected.error().code == ErrorCode::kNotFound;
  if (!expected && !is_new) {
    const auto there = LookIn(folder, way.name);
    const bool as_wanted = there && (*there)["content"] == Value(file.content);
    if (!as_wanted) return expected;
  }
  RemoveLeftovers(folder, file);
  std::string temporary = TemporaryOf(file.path, file.digest_key, file.nonce);
  temporary = temporary.substr(temporary.rfind('/') + 1);
  if (auto written =
          folder.WriteNew(temporary, file.content, static_cast<unsigned>(file.mode), true);
      !written) {
    static_cast<void>(folder.Remove(temporary));  // the first error is the one to tell
    return written;
  }
  // What somebody puts there meanwhile is not written over.
  const auto renamed =
      is_new ? folder.RenameToNew(temporary, way.name) : folder.Rename(temporary, way.name);
  if (!renamed) {
    static_cast<void>(folder.Remove(temporary));
    return renamed.error().code == ErrorCode::kAlreadyExists ? NotExpected(file.path, false)
                                                             : renamed;
  }
  return folder.Sync();
}

Result<void> RemoveFile(FileSystem& files, const FileOnDisk& file) {
  const Way way = WayOf(file.path, file.folder);
  const auto held = Held(files, way, false);
  if (!held) {
    if (held.error().code == ErrorCode::kNotFound) return {};
    return held.error();
  }
  HeldFolder& folder = **held;
  RemoveLeftovers(folder, file);
  if (auto expected = CheckExpected(folder, way.name, file); !expected) {
    if (expected.error().code == ErrorCode::kNotFound) return {};
    return expected;
  }
  if (auto removed = folder.Remove(way.name); !removed) {
    if (removed.error().code == ErrorCode::kNotFound) return {};
    return removed;
  }
  return folder.Sync();
}

}  // namespace podctl
