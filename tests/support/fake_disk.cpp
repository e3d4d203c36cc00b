// What a test sets up on the disk and looks at, and what it breaks: calls that fail, a full disk, a
// killed process, a cut of the power. The calls themselves are in fake_file_system.cpp.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "tests/support/fake_file_system.h"

namespace podctl::testing {

std::string FakeFileSystem::Normal(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal.empty() ? "." : normal;
}

// ---- What a test sets up and looks at.

void FakeFileSystem::SetFile(const std::string& path, std::string bytes, unsigned mode) {
  std::lock_guard guard(mutex_);
  auto node = std::make_shared<Node>();
  node->bytes = bytes;
  node->on_disk = std::move(bytes);
  node->mode = mode;
  if (clock_ != nullptr) node->modified = clock_->Now();
  const std::string at = Follow(Normal(path));
  names_[at] = node;
  names_on_disk_[at] = node;
}

void FakeFileSystem::SetFolder(const std::string& path) {
  std::lock_guard guard(mutex_);
  std::string at = Normal(path);
  while (folders_.insert(at).second) {
    folders_on_disk_.insert(at);
    at = FolderOf(at);
  }
}

void FakeFileSystem::SetLink(const std::string& path, const std::string& target) {
  std::lock_guard guard(mutex_);
  links_[Normal(path)] = target;
}

void FakeFileSystem::SetReadOnly(const std::string& folder, bool read_only) {
  std::lock_guard guard(mutex_);
  if (!read_only) read_only_.erase(Normal(folder));
  if (read_only) read_only_.insert(Normal(folder));
}

std::optional<std::string> FakeFileSystem::FileText(const std::string& path) const {
  std::lock_guard guard(mutex_);
  auto it = names_.find(Follow(Normal(path)));
  return it == names_.end() ? std::nullopt : std::make_optional(it->second->bytes);
}

std::optional<unsigned> FakeFileSystem::FileMode(const std::string& path) const {
  std::lock_guard guard(mutex_);
  auto it = names_.find(Follow(Normal(path)));
  return it == names_.end() ? std::nullopt : std::make_optional(it->second->mode);
}

std::vector<std::string> FakeFileSystem::AllFiles() const {
  std::lock_guard guard(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, node] : names_) paths.push_back(path);
  return paths;
}

std::vector<std::string> FakeFileSystem::Log() const {
  std::lock_guard guard(mutex_);
  return log_;
}

void FakeFileSystem::ClearLog() {
  std::lock_guard guard(mutex_);
  log_.clear();
}

// ---- Faults and death.

void FakeFileSystem::FailCall(int call, Error error, bool sticky) {
  std::lock_guard guard(mutex_);
  fail_in_ = call;
  fail_with_ = std::move(error);
  fail_sticky_ = sticky;
}

void FakeFileSystem::Interleave(int call, std::function<void()> other) {
  std::lock_guard guard(mutex_);
  interleave_in_ = call;
  interleaved_ = std::move(other);
}

void FakeFileSystem::HoldFile(const std::string& path) {
  std::lock_guard guard(mutex_);
  std::lock_guard holders(holders_->mutex);
  holders_->by_node[names_.at(Normal(path)).get()] = ++holders_->last;
}

void FakeFileSystem::LetGoOfFile(const std::string& path) {
  std::lock_guard guard(mutex_);
  std::lock_guard holders(holders_->mutex);
  holders_->by_node.erase(names_.at(Normal(path)).get());
}

void FakeFileSystem::LimitSpace(std::optional<std::uint64_t> bytes) {
  std::lock_guard guard(mutex_);
  space_ = bytes;
}

void FakeFileSystem::HoldLock(const std::string& path, const std::string& text) {
  SetFile(path, text);
  std::lock_guard guard(holders_->mutex);
  holders_->by_path[Normal(path)] = ++holders_->last;
}

void FakeFileSystem::EndHolder(const std::string& path, bool killed) {
  {
    std::lock_guard guard(holders_->mutex);
    holders_->by_path.erase(Normal(path));
  }
  if (killed) return;
  std::lock_guard guard(mutex_);
  names_.erase(Normal(path));
  names_on_disk_.erase(Normal(path));
}

void FakeFileSystem::StopAfter(int steps) {
  std::lock_guard guard(mutex_);
  stop_in_ = steps;
  stopped_ = steps == 0;
}

int FakeFileSystem::Steps() const {
  std::lock_guard guard(mutex_);
  return steps_;
}

bool FakeFileSystem::Stopped() const {
  std::lock_guard guard(mutex_);
  return stopped_;
}

void FakeFileSystem::FreeAllLocks() {
  std::lock_guard guard(holders_->mutex);
  holders_->by_path.clear();
  holders_->by_node.clear();
}

void FakeFileSystem::Restart() {
  std::lock_guard guard(mutex_);
  stopped_ = false;
  stop_in_.reset();
  FreeAllLocks();
}

std::size_t FakeFileSystem::UnsyncedNames() const {
  std::lock_guard guard(mutex_);
  return unsynced_.size();
}

void FakeFileSystem::CutPower(std::uint64_t kept_names, TornBytes bytes) {
  std::lock_guard guard(mutex_);
  for (std::size_t i = 0; i < unsynced_.size() && i < 64; ++i) {
    if ((kept_names >> i) & 1) Apply(names_on_disk_, folders_on_disk_, unsynced_[i]);
  }
  unsynced_.clear();
  folders_ = folders_on_disk_;
  std::erase_if(names_on_disk_,
                [&](const auto& name) { return !FolderExists(FolderOf(name.first)); });
  for (auto& [path, node] : names_on_disk_) {
    if (!node->synced) {
      switch (bytes) {
        case TornBytes::kGone:
          node->bytes = node->on_disk;
          break;
        case TornBytes::kHalf:
          node->bytes.resize(node->bytes.size() / 2);
          break;
        case TornBytes::kZeroed:
          std::fill(node->bytes.begin(), node->bytes.end(), '\0');
          break;
        case TornBytes::kWhole:
          break;
      }
    }
    node->on_disk = node->bytes;
    node->synced = true;
  }
  names_ = names_on_disk_;
  stopped_ = false;
  stop_in_.reset();
  FreeAllLocks();
}

}  // namespace podctl::testing
