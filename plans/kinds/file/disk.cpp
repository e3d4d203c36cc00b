#include "plans/kinds/file/disk.h"

#include <fmt/format.h>

#include <cstdint>

#include "plans/kinds/file/record.h"
#include "providers/base/digest.h"

namespace podctl {
namespace {

constexpr std::uint64_t kMostContent = 16u << 20;

Error IsLink(const std::string& path, const std::string& link) {
  return MakeError(ErrorCode::kFailedPrecondition,
                   link == path
                       ? fmt::format("{} is a symbolic link, and podctl writes through none", path)
                       : fmt::format("{} leads through {}, a symbolic link", path, link),
                   "Remove the link, or name the file where it is by an absolute path.");
}

// The first symbolic link on the way; "": there is none. An absolute path is the user's own way;
// of another one each folder counts from the spec's on, since whoever writes to the repository
// could lead it away.
Result<std::string> LinkOnTheWay(FileSystem& files, const std::string& path,
                                 const std::string& folder) {
  std::size_t end = path.find('/');
  if (folder.empty()) end = path.size();
  if (!folder.empty() && path.starts_with('/')) end = path.find('/', folder.size() + 1);
  for (;; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    const auto leads = files.FollowLinks(part);
    if (!leads && leads.error().code != ErrorCode::kNotFound) return leads.error();
    if (leads && *leads != part) return part;
    if (part.size() == path.size()) return std::string();
  }
}

Error NotExpected(const std::string& path, bool expects_some) {
  return MakeError(ErrorCode::kAlreadyExists,
                   expects_some
                       ? fmt::format("{} was changed after the plan was made", path)
                       : fmt::format("{} is there already, and podctl did not write it", path),
                   expects_some ? "`podctl plan` shows what it is now."
                                : "Move it away, or give the file of the spec another `path`.");
}

// kNotFound: nothing is there.
Result<void> CheckExpected(FileSystem& files, const FileOnDisk& file) {
  const auto seen = LookAtFile(files, file.path, file.folder);
  if (!seen) return seen.error();
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
void RemoveLeftovers(FileSystem& files, const FileOnDisk& file) {
  const std::string folder = FolderOf(file.path);
  const auto names = files.List(folder);
  if (!names) return;
  const std::string begin = BeginOfTemporary(file.path.substr(file.path.rfind('/') + 1));
  for (const std::string& name : *names) {
    if (!name.starts_with(begin)) continue;
    const std::string rest = name.substr(begin.size());
    const std::string nonce =
        rest.size() > kProofDigits + 1 ? rest.substr(kProofDigits + 1) : std::string();
    const std::string path = fmt::format("{}/{}", folder, name);
    if (path != TemporaryOf(file.path, file.digest_key, nonce)) continue;
    static_cast<void>(files.Remove(path));
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
  Value seen = Value::EmptyMap();
  const auto link = LinkOnTheWay(files, path, folder);
  if (!link) return link.error();
  if (!link->empty()) {
    seen.Set("kind", "link");
    return seen;
  }
  const auto info = files.Stat(path);
  if (!info) return info.error();
  if (info->kind != FileInfo::Kind::kFile) {
    seen.Set("kind", info->kind == FileInfo::Kind::kFolder ? "folder" : "other");
    return seen;
  }
  auto content = files.Read(path, kMostContent);
  // Other things of the spec are none the worse for it.
  if (!content && content.error().code == ErrorCode::kNotFound) return content.error();
  seen.Set("kind", content ? "file" : "unreadable");
  seen.Set("mode", static_cast<int>(info->mode & 0777));
  if (!content) return seen;
  seen.Set("digest", DigestOf(*content, false, {}));
  seen.Set("content", *std::move(content));
  return seen;
}

Result<void> WriteFile(FileSystem& files, const FileOnDisk& file) {
  const auto link = LinkOnTheWay(files, file.path, file.folder);
  if (!link) return link.error();
  if (!link->empty()) return IsLink(file.path, *link);
  auto expected = CheckExpected(files, file);
  const bool is_new = !expected && expected.error().code == ErrorCode::kNotFound;
  if (!expected && !is_new) {
    const auto there = LookAtFile(files, file.path, file.folder);
    const bool as_wanted = there && (*there)["content"] == Value(file.content);
    if (!as_wanted) return expected;
  }
  const std::string folder = FolderOf(file.path);
  if (auto made = files.MakeFolders(folder); !made) return made;
  RemoveLeftovers(files, file);
  const std::string temporary = TemporaryOf(file.path, file.digest_key, file.nonce);
  // Nobody else reads it before it is complete.
  constexpr unsigned kPrivate = 0600;
  auto written = files.WriteNew(temporary, file.content, kPrivate);
  if (written) written = files.SetMode(temporary, static_cast<unsigned>(file.mode));
  if (!written) {
    static_cast<void>(files.Remove(temporary));  // the first error is the one to tell
    return written;
  }
  // What somebody puts there meanwhile is not written over.
  const auto renamed =
      is_new ? files.RenameToNew(temporary, file.path) : files.Rename(temporary, file.path);
  if (!renamed) {
    static_cast<void>(files.Remove(temporary));
    return renamed.error().code == ErrorCode::kAlreadyExists ? NotExpected(file.path, false)
                                                             : renamed;
  }
  return files.SyncFolder(folder);
}

Result<void> RemoveFile(FileSystem& files, const FileOnDisk& file) {
  RemoveLeftovers(files, file);
  auto expected = CheckExpected(files, file);
  if (!expected) {
    if (expected.error().code == ErrorCode::kNotFound) return {};
    return expected;
  }
  if (auto removed = files.Remove(file.path); !removed) {
    if (removed.error().code == ErrorCode::kNotFound) return {};
    return removed;
  }
  return files.SyncFolder(FolderOf(file.path));
}

}  // namespace podctl
