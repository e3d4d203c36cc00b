#include "providers/ssh/keys/identities.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "providers/base/encoding.h"
#include "providers/base/text.h"
#include "providers/os/file_system.h"
#include "providers/os/this_process.h"
#include "providers/ssh/keys/agent.h"
#include "providers/ssh/keys/wire.h"

namespace podctl::ssh {
namespace {

using Keys = std::vector<std::shared_ptr<const Key>>;

constexpr std::uint64_t kMaxKeyFile = std::uint64_t{64} * 1024;
// podctl's own before gcloud's: whoever let podctl make a key keeps it as the first one when gcloud
// makes its RSA key later.
constexpr std::array<const char*, 5> kUsualFiles = {"id_ed25519", "id_ecdsa", "id_rsa",
                                                    "podctl_ed25519", "google_compute_engine"};

std::string Home(const Environment& environment) {
  return environment.Get("HOME").value_or("");
}

std::string Expand(const std::string& path, const Environment& environment) {
  return path.rfind("~/", 0) == 0 ? Home(environment) + path.substr(1) : path;
}

Keys AgentKeys(const Environment& environment) {
  const std::string socket = environment.Get("SSH_AUTH_SOCK").value_or("");
  if (socket.empty()) return {};
  const Result<std::shared_ptr<Agent>> agent = Agent::Connect(socket);
  // A stale SSH_AUTH_SOCK is common (tmux, screen) and no reason to leave the key files alone.
  if (!agent) return {};
  return (*agent)->Keys().value_or({});
}

const std::shared_ptr<const Key>* FindBlob(const Keys& keys, std::string_view blob) {
  const auto it =
      std::find_if(keys.begin(), keys.end(), [&](const auto& key) { return key->blob() == blob; });
  return it == keys.end() ? nullptr : &*it;
}

Error Protected(const std::string& path) {
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("the key `{}` is protected by a passphrase", path),
                   fmt::format("add it to ssh-agent: ssh-add {}", ShellQuote(path)));
}

Result<KeyFile> ReadKeyFile(const std::string& path, FileSystem& files) {
  Result<std::string> text = files.Read(path, kMaxKeyFile);
  if (!text) return std::move(text).error();
  const Secret secret(*std::move(text));
  Result<KeyFile> file = ParseKeyFile(secret.view(), path);
  if (!file || !file->blob.empty()) return file;
  // A protected PEM file hides its public half, which may lie beside it.
  if (const Result<std::string> line = files.Read(path + ".pub", kMaxKeyFile)) {
    const std::vector<std::string> lines = SplitLines(*line);
    const std::string_view first = lines.empty() ? std::string_view() : TrimBlanks(lines.front());
    const std::size_t blank = first.find(' ');
    if (blank != std::string_view::npos) {
      const std::string_view rest = first.substr(blank + 1);
      file->blob = Base64Decode(rest.substr(0, rest.find(' '))).value_or("");
    }
  }
  return file;
}

Result<Keys> NamedKey(const std::string& path, const Environment& environment, FileSystem& files) {
  Result<KeyFile> file = ReadKeyFile(path, files);
  if (!file) {
    Error error = std::move(file).error();
    if (error.hint.empty()) error.hint = "check `identityFile`, or leave it out to use ssh-agent";
    return error;
  }
  if (file->key != nullptr) return Keys{file->key};
  const Keys held = AgentKeys(environment);
  if (const auto* key = FindBlob(held, file->blob)) return Keys{*key};
  return Protected(path);
}

Result<Keys> UsualKeys(const Environment& environment, FileSystem& files) {
  Keys keys = AgentKeys(environment);
  std::optional<Error> locked;
  std::string unreadable;
  for (const char* name : kUsualFiles) {
    const std::string path = fmt::format("{}/.ssh/{}", Home(environment), name);
    const Result<KeyFile> file = ReadKeyFile(path, files);
    if (!file && file.error().code != ErrorCode::kNotFound && unreadable.empty()) {
      unreadable = "; " + file.error().message;
    }
    if (!file || FindBlob(keys, file->blob) != nullptr) continue;
    if (file->key == nullptr) {
      if (!locked.has_value()) locked = Protected(path);
    } else {
      keys.push_back(file->key);
    }
  }
  if (!keys.empty()) return keys;
  if (locked.has_value()) return *locked;
  return MakeError(ErrorCode::kNotFound, "there is no SSH key to log in with" + unreadable,
                   "make one: ssh-keygen -t ed25519");
}

Result<std::shared_ptr<const Identities>> Wrap(Result<Keys> keys) {
  if (!keys) return std::move(keys).error();
  return std::shared_ptr<const Identities>(std::make_shared<Identities>(*std::move(keys)));
}

}  // namespace

Result<std::shared_ptr<const Identities>> Identities::Load(const std::string& identity_file,
                                                           const Environment& environment,
                                                           FileSystem& files) {
  if (identity_file.empty()) return Wrap(UsualKeys(environment, files));
  return Wrap(NamedKey(Expand(identity_file, environment), environment, files));
}

Result<std::shared_ptr<const Identities>> Identities::LoadOrMake(const Environment& environment,
                                                                 FileSystem& files) {
  Result<std::shared_ptr<const Identities>> found = Load({}, environment, files);
  if (found || found.error().code != ErrorCode::kNotFound) return found;
  const std::string folder = Home(environment) + "/.ssh";
  const std::string path = folder + "/" + kMadeKey;
  Result<NewKey> made = MakeEd25519Key("podctl");
  if (!made) return std::move(made).error();
  const Secret secret(std::move(made->private_text));
  if (Result<void> done = MakePrivateFolders(files, folder); !done) return done.error();
  // The key takes its name when it is whole: half of one would stand in the way of every later run.
  const std::string temp = fmt::format("{}.{}.tmp", path, ProcessId());
  static_cast<void>(files.Remove(temp));  // of a dead run with our number
  if (Result<void> done = files.WriteNew(temp, secret.view(), 0600); !done) return done.error();
  if (Result<void> done = files.RenameToNew(temp, path); !done) {
    static_cast<void>(files.Remove(temp));
    // Another run has made one meanwhile, and may have published it.
    if (done.error().code == ErrorCode::kAlreadyExists) return Load({}, environment, files);
    return done.error();
  }
  // Nodes will be made that know only this key, so it must outlive a loss of power.
  if (Result<void> done = files.SyncFolder(folder); !done) return done.error();
  Result<void> done = files.WriteNew(path + ".pub", made->public_line + "\n", 0644);
  // An old .pub without its key is only a note to people.
  if (!done && done.error().code != ErrorCode::kAlreadyExists) return done.error();
  return Load({}, environment, files);
}

std::vector<std::string> UsualKeyFiles(const Environment& environment) {
  std::vector<std::string> paths;
  const std::string home = Home(environment);
  if (home.empty()) return paths;
  for (const char* const name : kUsualFiles) paths.push_back(home + "/.ssh/" + name);
  return paths;
}

std::vector<std::string> Identities::PublicKeyLines() const {
  PODCTL_CHECK(!keys_.empty());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(keys_.size(), kMaxKeysOffered); ++i) {
    lines.push_back(keys_[i]->type() + " " + Base64Encode(keys_[i]->blob()));
  }
  return lines;
}

Result<std::shared_ptr<const Identities>> Keyring::For(const std::string& identity_file) {
  const std::lock_guard lock(mutex_);
  const auto it = loaded_.find(identity_file);
  if (it != loaded_.end()) return it->second;
  Result<std::shared_ptr<const Identities>> identities =
      Identities::Load(identity_file, environment_, files_);
  // A failure is not remembered: `apply` may make the missing key, and steps then need it.
  if (identities) loaded_.emplace(identity_file, identities);
  return identities;
}

}  // namespace podctl::ssh
