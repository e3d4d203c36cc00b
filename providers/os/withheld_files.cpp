#include "providers/os/withheld_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

namespace podctl {
namespace {

constexpr std::string_view kOwn = "is podctl's own";
constexpr std::string_view kCredential = "is what podctl logs in with";
constexpr std::string_view kGitLogin = "is where git keeps what it logs in with";
constexpr std::string_view kKernel = "is no file of a disk";
constexpr std::string_view kOwnFolder = ".podctl";
constexpr std::string_view kStateName = "podctl.state.json";
constexpr std::string_view kSavedAside =
    "podctl.errored-";  // of a state on a server: it is out of reach

bool IsAt(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || folder.ends_with('/') || path[folder.size()] == '/');
}

// As linux/magic.h has them: the same contents may be mounted elsewhere, too.
bool IsOfKernel(const std::string& real) {
  constexpr std::array<std::string_view, 3> kFolders = {"/proc", "/sys", "/dev"};
  if (IsAt(real, "/dev/shm")) return false;
  if (std::any_of(kFolders.begin(), kFolders.end(),
                  [&](std::string_view folder) { return IsAt(real, folder); })) {
    return true;
  }
  constexpr long kProc = 0x9fa0;
  constexpr long kSys = 0x62656572;
  struct statfs info {};
  if (statfs(real.c_str(), &info) != 0) return false;
  return static_cast<long>(info.f_type) == kProc || static_cast<long>(info.f_type) == kSys;
}

// "podctl.state.json" itself, "podctl.state.json.history", ".podctl.state.json.x.podctl-tmp".
bool IsOfState(std::string_view name, std::string_view state) {
  if (name == state) return true;
  if (name.starts_with('.')) name.remove_prefix(1);
  return name.size() > state.size() && name.starts_with(state) && name[state.size()] == '.';
}

// What git keeps for itself may hold by which token the files were fetched: a pipeline's checkout
// writes it there.
bool IsOfGitLogin(std::string_view real) {
  const std::string_view name = real.substr(real.rfind('/') + 1);
  const bool of_module = real.find("/.git/modules/") != std::string_view::npos &&
                         name == "config" && real.find("/refs/") == std::string_view::npos;
  return of_module || real.ends_with("/.git/config") || real.ends_with("/.git/config.worktree") ||
         name == ".git-credentials" || name == ".netrc";
}

bool IsOwnByName(std::string_view real) {
  while (!real.empty()) {
    const auto slash = std::min(real.find('/'), real.size());
    const std::string_view part = real.substr(0, slash);
    if (part == kOwnFolder || IsOfState(part, kStateName) || part.starts_with(kSavedAside)) {
      return true;
    }
    real.remove_prefix(std::min(slash + 1, real.size()));
  }
  return false;
}

// Two names of one file. Only a file that has several is worth a look.
bool IsSameFile(const struct stat& file, const std::string& other) {
  struct stat there {};
  return stat(other.c_str(), &there) == 0 && there.st_dev == file.st_dev &&
         there.st_ino == file.st_ino;
}

}  // namespace

std::string RealPath(const std::string& path) {
  std::error_code problem;
  const auto absolute = std::filesystem::absolute(path, problem);
  if (problem) return path;
  auto real = std::filesystem::weakly_canonical(absolute, problem);
  std::string text = (problem ? absolute.lexically_normal() : real).string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

void WithheldFiles::Add(Entry entry) {
  const std::lock_guard lock(mutex_);
  // Nothing is withheld with the whole disk.
  if (entry.real == "/" || std::find(entries_.begin(), entries_.end(), entry) != entries_.end()) {
    return;
  }
  entries_.push_back(std::move(entry));
}

void WithheldFiles::AddCredential(const std::string& path) {
  Add({RealPath(path), kCredential});
}
void WithheldFiles::AddOwn(const std::string& path) {
  Add({RealPath(path), kOwn});
}
void WithheldFiles::AddState(const std::string& path) {
  Add({RealPath(path), kOwn, true});
}

std::string WithheldFiles::Why(const std::string& path) const {
  return WhyOfReal(RealPath(path));
}

std::string WithheldFiles::WhyOfReal(const std::string& real) const {
  if (IsOfKernel(real)) return std::string(kKernel);
  if (IsOwnByName(real)) return std::string(kOwn);
  if (IsOfGitLogin(real)) return std::string(kGitLogin);
  struct stat file {};
  const bool linked = stat(real.c_str(), &file) == 0 && S_ISREG(file.st_mode) && file.st_nlink > 1;
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (IsAt(real, entry.real)) return std::string(entry.why);
    const std::size_t slash = entry.real.rfind('/') + 1;
    if (entry.is_state && real.size() > slash && real.starts_with(entry.real.substr(0, slash))) {
      const std::string_view rest = std::string_view(real).substr(slash);
      if (IsOfState(rest.substr(0, rest.find('/')), entry.real.substr(slash))) {
        return std::string(entry.why);
      }
    }
    if (linked && IsSameFile(file, entry.real)) return std::string(entry.why);
  }
  return "";
}

CopySource::CopySource(const WithheldFiles& withheld, std::string source)
    : withheld_(withheld), source_(std::move(source)), root_(RealPath(source_)) {}

Result<bool> CopySource::Judge(const std::string& path, const std::string& real) const {
  if (!IsAt(real, root_)) {
    return MakeError(ErrorCode::kPermissionDenied,
                     fmt::format("`{}` is a link that leads out of the source `{}`", path, source_),
                     "Copy the file there, name it as a source of its own, or leave it out "
                     "(`exclude` of a job).");
  }
  const std::string why = withheld_.WhyOfReal(real);
  if (why.empty()) return true;
  if (real != root_) return false;
  return MakeError(ErrorCode::kPermissionDenied,
                   fmt::format("`{}` {}: a spec cannot have it copied", path, why));
}

}  // namespace podctl
