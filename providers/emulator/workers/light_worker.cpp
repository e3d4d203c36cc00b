#include "providers/emulator/workers/light_worker.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>
#include <utility>

#include "providers/emulator/shell/worker_texts.h"
#include "providers/emulator/workers/worker_files.h"

namespace podctl::emulator {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxKeys = 1000;         // of one node
constexpr std::size_t kLongestTemporary = 72;  // bytes of the path of a worker's TMPDIR
constexpr std::string_view kKeyEnd = "-----END OPENSSH PRIVATE KEY-----\n";

Result<void> MakeFolder(const std::string& path) {
  std::error_code problem;
  fs::create_directories(path, problem);
  if (!problem) return {};
  return MakeError(ErrorCode::kIo, fmt::format("cannot make {}: {}", path, problem.message()));
}

// "ssh-ed25519 AAAA… comment" without the comment.
std::string WithoutComment(const std::string& key) {
  std::istringstream words(key);
  std::string type;
  std::string base64;
  words >> type >> base64;
  return type + " " + base64;
}

std::string RandomHex(int bytes) {
  std::random_device random;
  std::string text;
  for (int i = 0; i < bytes; ++i) text += fmt::format("{:02x}", random() & 255U);
  return text;
}

long long UptimeMicroseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1'000'000LL + now.tv_nsec / 1000;
}

}  // namespace

Result<void> WriteLightPrograms(const std::string& folder) {
  Result<void> done = MakeFolder(folder);
  const std::string systemctl = ForFolder(kSystemctl, "$TPU_VM_FOLDER");
  if (done) done = WriteFile(folder + "/systemctl", systemctl, 0755);
  if (done) done = WriteFile(folder + "/sudo", kSudo, 0755);
  if (done) done = WriteFile(folder + "/hostname", kHostname, 0755);
  if (done) done = LinkRuntime(folder);
  return done;
}

// ---- The node.

Result<void> LightNode::SetMetadata(const Value& metadata, const std::string& accounts) {
  auto begin = WriteMetadataFolder(folder_, metadata, programs_ + "/tpu-runtime",
                                   "\"LIGHT_WORKER=$LIGHT_WORKER\"");
  if (!begin) return begin.error();
  Result<void> done = MakeFolder(folder_ + "/units");
  if (done && has_runtime_) {
    done = WriteFile(folder_ + "/units/tpu-runtime.service", ForFolder(kUnitFile, folder_), 0644);
  }
  const std::lock_guard lock(mutex_);
  runtime_begin_ = *std::move(begin);
  keys_.clear();
  std::size_t count = 0;
  for (const auto& [user, key] : ReadSshKeys(accounts)) {
    if (++count <= kMaxKeys) keys_[user].insert(WithoutComment(key));
  }
  return done;
}

bool LightNode::Admits(std::string_view user, std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = keys_.find(user);
  return found != keys_.end() && found->second.count(std::string(key)) != 0;
}

std::string LightNode::RuntimeBegin() const {
  const std::lock_guard lock(mutex_);
  return runtime_begin_;
}

Result<std::vector<HostKey>> LightNode::LoadHostKeys(std::size_t count) const {
  std::vector<HostKey> keys;
  std::ifstream file(folder_ + "/host_keys", std::ios::binary);
  std::stringstream whole;
  whole << file.rdbuf();
  const std::string text = whole.str();
  std::size_t at = 0;
  while (keys.size() < count) {
    const std::size_t end = text.find(kKeyEnd, at);
    if (end == std::string::npos) break;
    Result<HostKey> key = HostKey::Parse(text.substr(at, end + kKeyEnd.size() - at));
    if (!key) return key.error();
    keys.push_back(*std::move(key));
    at = end + kKeyEnd.size();
  }
  if (keys.size() == count) return keys;
  while (keys.size() < count) {
    Result<HostKey> key = HostKey::Make();
    if (!key) return key.error();
    keys.push_back(*std::move(key));
  }
  if (Result<void> saved = SaveHostKeys(keys); !saved) return saved.error();
  return keys;
}

Result<void> LightNode::SaveHostKeys(const std::vector<HostKey>& keys) const {
  std::string text;
  for (const HostKey& key : keys) {
    Result<std::string> one = key.PrivateText();
    if (!one) return one.error();
    text += *one;
    if (text.back() != '\n') text += '\n';
  }
  return WriteFile(folder_ + "/host_keys", text, 0600);
}

// ---- The worker.

LightWorker::LightWorker(std::shared_ptr<LightNode> node, int index, std::string hostname)
    : node_(std::move(node)),
      folder_(fmt::format("{}/{}", node_->folder(), index)),
      hostname_(std::move(hostname)) {}

std::string LightWorker::Mark() const {
  return "LIGHT_WORKER=" + folder_ + "/";
}

void LightWorker::Boot() {
  const std::lock_guard lock(mutex_);
  std::error_code problem;
  for (const char* passing : {"/state", "/tmp"}) fs::remove_all(folder_ + passing, problem);
  furnished_.clear();
  const bool broken = fs::exists(folder_ + "/broken-runtime", problem);
  runtime_begin_ = broken ? "" : node_->RuntimeBegin();
  booted_ = std::chrono::system_clock::now();
}

Result<void> LightWorker::SetBroken(bool broken) {
  const std::string path = folder_ + "/broken-runtime";
  if (broken) {
    if (Result<void> made = MakeFolder(folder_); !made) return made;
    return WriteFile(path, "", 0644);
  }
  std::error_code problem;
  fs::remove(path, problem);
  return {};
}

bool LightWorker::Admits(std::string_view user, std::string_view key) {
  return node_->Admits(user, key);
}

Result<Login> LightWorker::LogIn(const std::string& user) {
  if (Result<void> done = Furnish(user); !done) return done.error();
  const std::string home = folder_ + "/home/" + user;
  Login login{.shell = "/bin/bash", .environment = {}, .folder = home};
  login.environment = {
      Mark(),
      "TPU_VM_FOLDER=" + folder_,
      "TPU_VM_HOSTNAME=" + hostname_,
      "HOME=" + home,
      "USER=" + user,
      "LOGNAME=" + user,
      "SHELL=/bin/bash",
      "PATH=" + node_->programs() + ":/usr/local/bin:/usr/bin:/bin:/usr/local/games"};
  if (!node_->storage().empty()) {
    login.environment.push_back("STORAGE_EMULATOR_HOST=" + node_->storage());
  }
  // What a process that was killed leaves there goes with the worker. Sockets in a longer one might
  // have names that no socket can have (sun_path, 108 bytes).
  if (const std::string temporary = folder_ + "/tmp"; temporary.size() <= kLongestTemporary) {
    login.environment.push_back("TMPDIR=" + temporary);
  }
  return login;
}

// The contents of state/run for a unit that was started at boot; its process comes when asked for.
std::string LightWorker::UnitState() const {
  const auto age = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now() - booted_);
  const std::time_t when = std::chrono::system_clock::to_time_t(booted_);
  return fmt::format("0 {} {}\n{:%a %Y-%m-%d %H:%M:%S %Z}\n", RandomHex(16),
                     UptimeMicroseconds() - age.count(), fmt::localtime(when));
}

Result<void> LightWorker::Furnish(const std::string& user) {
  const std::lock_guard lock(mutex_);
  if (furnished_.count(user) != 0) return {};
  Result<void> done = MakeFolder(folder_ + "/home/" + user);
  if (!done) return done;
  if (furnished_.empty()) {
    done = MakeFolder(folder_ + "/state");
    if (done) done = MakeFolder(folder_ + "/tmp");
    std::error_code problem;
    for (const char* shared : {"metadata", "units"}) {
      const std::string link = folder_ + "/" + shared;
      if (!fs::exists(fs::symlink_status(link))) {
        fs::create_symlink(node_->folder() + "/" + shared, link, problem);
      }
    }
    if (problem) return MakeError(ErrorCode::kIo, "cannot furnish " + folder_);
    if (done && node_->has_runtime()) {
      const bool starts = !runtime_begin_.empty();
      if (starts) done = WriteFile(folder_ + "/state/begin", runtime_begin_, 0644);
      if (done) {
        done = starts ? WriteFile(folder_ + "/state/run", UnitState(), 0644)
                      : WriteFile(folder_ + "/state/failed", "", 0644);
      }
    }
  }
  if (done) furnished_.insert(user);
  return done;
}

}  // namespace podctl::emulator
