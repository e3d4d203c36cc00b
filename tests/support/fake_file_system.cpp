#include "tests/support/fake_file_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace podctl::testing {
namespace {

constexpr int kMaxLinks = 40;

Error NotFound(const std::string& path) {
  return MakeError(ErrorCode::kNotFound, fmt::format("{}: No such file or directory", path));
}

Error Exists(const std::string& path) {
  return MakeError(ErrorCode::kAlreadyExists, fmt::format("{}: File exists", path));
}

Error MachineIsOff() {
  return MakeError(ErrorCode::kIo, "the machine stands still");
}

}  // namespace

class FakeFileSystem::Lock final : public FileLock {
 public:
  Lock(std::shared_ptr<Holders> holders, std::string path, std::uint64_t id)
      : holders_(std::move(holders)), path_(std::move(path)), id_(id) {}
  ~Lock() override {
    std::lock_guard guard(holders_->mutex);
    auto it = holders_->by_path.find(path_);
    if (it != holders_->by_path.end() && it->second == id_) holders_->by_path.erase(it);
  }
  const std::string& path() const { return path_; }

 private:
  std::shared_ptr<Holders> holders_;
  std::string path_;
  std::uint64_t id_;
};

class FakeFileSystem::NodeHold final : public FileLock {
 public:
  NodeHold(std::shared_ptr<Holders> holders, std::shared_ptr<Node> node, std::uint64_t id)
      : holders_(std::move(holders)), node_(std::move(node)), id_(id) {}
  ~NodeHold() override {
    std::lock_guard guard(holders_->mutex);
    auto it = holders_->by_node.find(node_.get());
    if (it != holders_->by_node.end() && it->second == id_) holders_->by_node.erase(it);
  }

 private:
  std::shared_ptr<Holders> holders_;
  std::shared_ptr<Node> node_;
  std::uint64_t id_;
};

FakeFileSystem::FakeFileSystem()
    : folders_{".", "/", "/tmp"},
      folders_on_disk_(folders_),
      holders_(std::make_shared<Holders>()) {}
FakeFileSystem::~FakeFileSystem() = default;

// ---- The machine room.

void FakeFileSystem::RunInterleaved() {
  std::function<void()> other;
  {
    std::lock_guard guard(mutex_);
    if (interleave_in_ > 0 && --interleave_in_ == 0) other = std::exchange(interleaved_, nullptr);
  }
  if (other) other();
}

std::optional<Error> FakeFileSystem::Begin(const std::string& call) {
  log_.push_back(call);
  if (stopped_) return MachineIsOff();
  if (fail_in_ == 0) return std::nullopt;
  if (fail_in_ > 1) {
    --fail_in_;
    return std::nullopt;
  }
  if (!fail_sticky_) fail_in_ = 0;
  return fail_with_;
}

bool FakeFileSystem::Step() {
  if (stopped_) return false;
  ++steps_;
  if (stop_in_ && --*stop_in_ == 0) stopped_ = true;
  return true;
}

std::string FakeFileSystem::Follow(const std::string& path) const {
  std::string at = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    auto it = links_.find(at);
    if (it == links_.end()) return at;
    at = Normal(it->second.starts_with('/') ? it->second : FolderOf(at) + "/" + it->second);
  }
  return at;
}

bool FakeFileSystem::FolderExists(const std::string& folder) const {
  return folders_.contains(Normal(folder));
}

std::optional<Error> FakeFileSystem::CheckFolder(const std::string& path) const {
  const std::string folder = FolderOf(path);
  if (!FolderExists(folder)) return NotFound(path);
  if (read_only_.contains(Normal(folder))) {
    return MakeError(ErrorCode::kPermissionDenied, fmt::format("{}: Permission denied", path));
  }
  return std::nullopt;
}

void FakeFileSystem::Apply(Names& names, std::set<std::string>& folders,
                           const NameChange& change) const {
  if (!change.gone.empty()) names.erase(change.gone);
  if (change.path.empty()) return;
  if (change.node != nullptr) {
    names[change.path] = change.node;
  } else {
    folders.insert(change.path);
  }
}

void FakeFileSystem::Change(NameChange change) {
  Apply(names_, folders_, change);
  unsynced_.push_back(std::move(change));
}

Result<void> FakeFileSystem::Append(Node& node, std::string_view bytes) {
  const bool full = space_ && *space_ < bytes.size();
  if (full) bytes = bytes.substr(0, *space_);
  if (space_) *space_ -= bytes.size();
  node.bytes += bytes;
  node.synced = false;
  if (clock_ != nullptr) node.modified = clock_->Now();
  if (full) return MakeError(ErrorCode::kIo, "No space left on device");
  return {};
}

// ---- FileSystem.

Result<std::shared_ptr<FakeFileSystem::Node>> FakeFileSystem::Readable(
    const std::string& path, std::uint64_t max_bytes) const {
  const std::string at = Follow(Normal(path));
  if (folders_.contains(at)) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("{} is not a regular file", path));
  }
  auto it = names_.find(at);
  if (it == names_.end()) return NotFound(path);
  if ((it->second->mode & 0400U) == 0) {
    return MakeError(ErrorCode::kPermissionDenied, fmt::format("{}: Permission denied", path));
  }
  if (it->second->bytes.size() > max_bytes) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is longer than {} bytes", path, max_bytes));
  }
  return it->second;
}

Result<std::string> FakeFileSystem::Read(const std::string& path, std::uint64_t max_bytes) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("Read " + path)) return *error;
  auto node = Readable(path, max_bytes);
  if (!node) return node.error();
  return (*node)->bytes;
}

Result<FileInfo> FakeFileSystem::Stat(const std::string& path) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("Stat " + path)) return *error;
  const std::string at = Follow(Normal(path));
  if (folders_.contains(at)) return FileInfo{FileInfo::Kind::kFolder, 0, 0755, {}};
  auto it = names_.find(at);
  if (it == names_.end()) return NotFound(path);
  return FileInfo{FileInfo::Kind::kFile, it->second->bytes.size(), it->second->mode,
                  it->second->modified};
}

Result<std::vector<std::string>> FakeFileSystem::List(const std::string& folder) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("List " + folder)) return *error;
  const std::string at = Normal(folder);
  if (!folders_.contains(at)) return NotFound(folder);
  std::set<std::string> found;
  auto add = [&](const std::string& path) {
    if (path != at && Normal(FolderOf(path)) == at) {
      found.insert(std::filesystem::path(path).filename().string());
    }
  };
  for (const auto& [path, node] : names_) add(path);
  for (const auto& [path, target] : links_) add(path);
  for (const std::string& path : folders_) {
    if (path != ".") add(path);
  }
  return std::vector<std::string>(found.begin(), found.end());
}

Result<std::string> FakeFileSystem::FollowLinks(const std::string& path) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("FollowLinks " + path)) return *error;
  const std::string at = Follow(Normal(path));
  if (links_.contains(at)) {
    return MakeError(ErrorCode::kIo, fmt::format("{} goes through too many symbolic links", path));
  }
  return links_.contains(Normal(path)) ? at : path;
}

Result<void> FakeFileSystem::WriteNew(const std::string& path, std::string_view bytes,
                                      unsigned mode) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("WriteNew " + path)) return *error;
  const std::string at = Normal(path);
  if (auto error = CheckFolder(at)) return *error;
  if (names_.contains(at) || folders_.contains(at) || links_.contains(at)) {
    return Exists(path);
  }
  if (!Step()) return MachineIsOff();
  auto node = std::make_shared<Node>();
  node->synced = false;
  node->mode = mode;
  Change({Normal(FolderOf(at)), "", at, node});
  for (std::string_view part :
       {bytes.substr(0, bytes.size() / 2), bytes.substr(bytes.size() / 2)}) {
    if (!Step()) return MachineIsOff();
    if (auto written = Append(*node, part); !written) return written;
  }
  if (!Step()) return MachineIsOff();
  node->on_disk = node->bytes;
  node->synced = true;
  return {};
}

Result<void> FakeFileSystem::SetMode(const std::string& path, unsigned mode) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("SetMode " + path)) return *error;
  auto it = names_.find(Normal(path));
  if (it == names_.end()) return NotFound(path);
  if (!Step()) return MachineIsOff();
  it->second->mode = mode;
  return {};
}

Result<void> FakeFileSystem::Rename(const std::string& from, const std::string& to) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("Rename " + from + " " + to)) return *error;
  const std::string source = Normal(from);
  const std::string target = Normal(to);
  if (auto error = CheckFolder(source)) return *error;
  if (auto error = CheckFolder(target)) return *error;
  auto it = names_.find(source);
  if (it == names_.end()) return NotFound(from);
  if (folders_.contains(target)) {
    return MakeError(ErrorCode::kIo, fmt::format("{}: Is a directory", to));
  }
  if (!Step()) return MachineIsOff();
  links_.erase(target);  // rename(2) replaces the link itself
  Change({Normal(FolderOf(target)), source, target, it->second});
  return {};
}

Result<void> FakeFileSystem::RenameToNew(const std::string& from, const std::string& to) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("RenameToNew " + from + " " + to)) return *error;
  const std::string source = Normal(from);
  const std::string target = Normal(to);
  if (auto error = CheckFolder(source)) return *error;
  if (auto error = CheckFolder(target)) return *error;
  auto it = names_.find(source);
  if (it == names_.end()) return NotFound(from);
  if (names_.contains(target) || folders_.contains(target) || links_.contains(target)) {
    return Exists(to);
  }
  if (!Step()) return MachineIsOff();
  Change({Normal(FolderOf(target)), source, target, it->second});
  return {};
}

Result<void> FakeFileSystem::Link(const std::string& from, const std::string& to) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("Link " + from + " " + to)) return *error;
  if (refuse_links_) {
    return MakeError(ErrorCode::kUnimplemented, fmt::format("{}: Operation not permitted", to));
  }
  const std::string target = Normal(to);
  if (auto error = CheckFolder(target)) return *error;
  auto it = names_.find(Normal(from));
  if (it == names_.end()) return NotFound(from);
  if (names_.contains(target) || folders_.contains(target) || links_.contains(target)) {
    return Exists(to);
  }
  if (!Step()) return MachineIsOff();
  Change({Normal(FolderOf(target)), "", target, it->second});
  return {};
}

Result<void> FakeFileSystem::SyncFolder(const std::string& folder) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("SyncFolder " + folder)) return *error;
  const std::string at = Normal(folder);
  if (!folders_.contains(at)) return NotFound(folder);
  if (!Step()) return MachineIsOff();
  std::vector<NameChange> others;
  for (NameChange& change : unsynced_) {
    if (change.folder == at) {
      Apply(names_on_disk_, folders_on_disk_, change);
    } else {
      others.push_back(std::move(change));
    }
  }
  unsynced_ = std::move(others);
  return {};
}

Result<void> FakeFileSystem::Remove(const std::string& path) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("Remove " + path)) return *error;
  const std::string at = Normal(path);
  if (auto error = CheckFolder(at)) return *error;
  if (!names_.contains(at) && !links_.contains(at)) return NotFound(path);
  if (!Step()) return MachineIsOff();
  if (links_.erase(at) == 0) Change({Normal(FolderOf(at)), at, "", nullptr});
  return {};
}

Result<void> FakeFileSystem::MakeFolders(const std::string& path) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("MakeFolders " + path)) return *error;
  if (!Step()) return MachineIsOff();
  std::string at = Normal(path);
  if (names_.contains(at)) {
    return MakeError(ErrorCode::kIo, fmt::format("{}: File exists", path));
  }
  while (folders_.insert(at).second) {
    folders_on_disk_.insert(at);
    at = Normal(FolderOf(at));
  }
  return {};
}

Result<void> FakeFileSystem::MakeFolder(const std::string& path, unsigned) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("MakeFolder " + path)) return *error;
  const std::string at = Normal(path);
  if (folders_.contains(at) || names_.contains(at) || links_.contains(at)) return Exists(path);
  if (auto error = CheckFolder(at)) return *error;
  if (!Step()) return MachineIsOff();
  Change({Normal(FolderOf(at)), "", at, nullptr});
  return {};
}

class FakeFileSystem::Folder final : public HeldFolder {
 public:
  Folder(FakeFileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  Result<FileInfo> Look(const std::string& name) override {
    if (files_.IsLink(At(name))) return FileInfo{FileInfo::Kind::kLink, 0, 0777, {}};
    return files_.Stat(At(name));
  }
  Result<Text> Read(const std::string& name, std::uint64_t max_bytes) override {
    if (files_.IsLink(At(name))) return MakeError(ErrorCode::kFailedPrecondition, "a link");
    auto bytes = files_.Read(At(name), max_bytes);
    if (!bytes) return bytes.error();
    return Text{{FileInfo::Kind::kFile, bytes->size(), files_.FileMode(At(name)).value_or(0), {}},
                *std::move(bytes)};
  }
  Result<std::vector<std::string>> List() override { return files_.List(path_); }
  Result<void> WriteNew(const std::string& name, std::string_view bytes, unsigned mode,
                        bool) override {
    return files_.WriteNew(At(name), bytes, mode);
  }
  Result<void> Append(const std::string&, std::string_view, bool) override {
    return MakeError(ErrorCode::kUnimplemented, "nothing is appended here");
  }
  Result<void> Rename(const std::string& from, const std::string& to) override {
    return files_.Rename(At(from), At(to));
  }
  Result<void> RenameToNew(const std::string& from, const std::string& to) override {
    return files_.RenameToNew(At(from), At(to));
  }
  Result<void> Remove(const std::string& name) override { return files_.Remove(At(name)); }
  Result<void> RemoveFolder(const std::string&) override {
    return MakeError(ErrorCode::kUnimplemented, "no folder is removed here");
  }
  Result<void> Sync() override { return files_.SyncFolder(path_); }

 private:
  std::string At(const std::string& name) const {
    return path_ == "." ? name : fmt::format("{}/{}", path_, name);
  }
  FakeFileSystem& files_;
  const std::string path_;
};

bool FakeFileSystem::IsLink(const std::string& path) const {
  const std::lock_guard guard(mutex_);
  return links_.contains(Normal(path));
}

Result<std::unique_ptr<HeldFolder>> FakeFileSystem::HoldFolder(const std::string& base,
                                                               const std::string& below,
                                                               bool make) {
  RunInterleaved();
  const std::string whole = below.empty() ? base : base + "/" + below;
  {
    const std::lock_guard guard(mutex_);
    if (auto error = Begin("HoldFolder " + whole)) return *error;
    for (std::size_t end = base.size(); !below.empty() && end != std::string::npos;) {
      end = whole.find('/', end + 1);
      const std::string part = Normal(whole.substr(0, end));
      if (links_.contains(part)) {
        return MakeError(ErrorCode::kFailedPrecondition,
                         fmt::format("{} is a symbolic link", part));
      }
    }
    if (!make && !FolderExists(Follow(Normal(whole)))) return NotFound(whole);
  }
  const std::string at = Follow(Normal(whole));
  if (make) {
    if (auto made = MakeFolders(at); !made) return made.error();
  }
  return std::unique_ptr<HeldFolder>(std::make_unique<Folder>(*this, at));
}

Result<FileSystem::Locked> FakeFileSystem::TryLock(const std::string& path) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("TryLock " + path)) return *error;
  const std::string at = Normal(path);
  if (!FolderExists(FolderOf(at))) return NotFound(path);
  std::lock_guard holders(holders_->mutex);
  if (holders_->by_path.contains(at)) {
    return MakeError(ErrorCode::kLocked, fmt::format("{} is locked", path));
  }
  if (!names_.contains(at)) {
    if (auto error = CheckFolder(at)) return *error;
    if (!Step()) return MachineIsOff();
    Change({Normal(FolderOf(at)), "", at, std::make_shared<Node>()});
  }
  const std::uint64_t id = ++holders_->last;
  holders_->by_path[at] = id;
  return Locked{std::make_unique<Lock>(holders_, at, id), names_[at]->bytes};
}

Result<FileSystem::Locked> FakeFileSystem::Hold(const std::string& path, std::uint64_t max_bytes) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  if (auto error = Begin("Hold " + path)) return *error;
  auto node = Readable(path, max_bytes);
  if (!node) return node.error();
  std::lock_guard holders(holders_->mutex);
  if (holders_->by_node.contains(node->get())) {
    return MakeError(ErrorCode::kLocked, fmt::format("{} is held by another process", path));
  }
  const std::uint64_t id = ++holders_->last;
  holders_->by_node[node->get()] = id;
  return Locked{std::make_unique<NodeHold>(holders_, *node, id), (*node)->bytes};
}

Result<void> FakeFileSystem::ReplaceLockText(FileLock& lock, std::string_view text) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  const std::string& path = static_cast<Lock&>(lock).path();
  if (auto error = Begin("ReplaceLockText " + path)) return *error;
  auto it = names_.find(path);
  if (it == names_.end()) return NotFound(path);
  if (!Step()) return MachineIsOff();
  it->second->bytes.clear();
  return Append(*it->second, text);
}

Result<void> FakeFileSystem::Unlock(std::unique_ptr<FileLock> lock) {
  RunInterleaved();
  std::lock_guard guard(mutex_);
  const std::string path = static_cast<Lock&>(*lock).path();
  if (auto error = Begin("Unlock " + path)) return *error;
  if (!Step()) return MachineIsOff();
  if (names_.contains(path)) Change({Normal(FolderOf(path)), path, "", nullptr});
  return {};
}

}  // namespace podctl::testing
