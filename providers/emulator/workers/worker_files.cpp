#include "providers/emulator/workers/worker_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>

#include "providers/emulator/shell/worker_texts.h"

namespace podctl::emulator {
namespace {

namespace fs = std::filesystem;

constexpr int kFirstUser = 1001;  // Ubuntu's own first user has 1000
constexpr char kMetadataHosts[] = "169.254.169.254 metadata.google.internal metadata\n";
constexpr std::size_t kMaxUsers = 200;

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// In place, by one write: the file is bound into the VM, where a renamed one would not appear.
Result<void> AppendLine(const std::string& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return IoError("open", path);
  const std::string text = line + "\n";
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  if (!whole) return IoError("write", path);
  return {};
}

// The accounts of the system itself: those that packages made, and nobody.
std::string SystemLines(const std::string& path) {
  std::istringstream file(FileText(path));
  std::string kept;
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    int id = -1;
    std::from_chars(line.data() + second + 1, line.data() + line.size(), id);
    if (id >= 0 && (id < 1000 || id == 65534)) kept += line + "\n";
  }
  return kept;
}

std::string ShadowLines(const std::string& passwd) {
  std::istringstream file(passwd);
  std::string shadow;
  std::string line;
  while (std::getline(file, line)) {
    // "*": no password opens it, but unlike "!" sshd does not call the account locked.
    shadow += line.substr(0, line.find(':')) + ":*:19000:0:99999:7:::\n";
  }
  return shadow;
}

std::string OwnUser() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry == nullptr ? "" : entry->pw_name;
}

// The VM's root may lay links where this is at work: everything by descriptors, nothing by way of a
// link. A home of an earlier boot keeps its files.
Result<void> MakeHome(const std::string& homes, const std::string& user, uid_t owner) {
  const std::string path = homes + "/" + user;
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return IoError("make", path);
  const int home = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (home < 0) return IoError("open", path);
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator("/etc/skel", problem)) {
    if (!fs::is_regular_file(entry.symlink_status(problem))) continue;
    const int file = ::openat(home, entry.path().filename().c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0) continue;  // it is there
    const std::string text = FileText(entry.path().string());
    const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const bool given = ::fchown(file, owner, owner) == 0;
    ::close(file);
    if (whole && given) continue;
    ::close(home);
    return IoError("write", path);
  }
  const bool given = ::fchown(home, owner, owner) == 0;
  ::close(home);
  if (!given) return IoError("give away", path);
  return {};
}

// For a POSIX shell.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

bool HasSudo() {
  return ::access("/usr/bin/sudo", X_OK) == 0;
}

using Words = std::vector<std::string>;

// Shell words: blanks part them, quotes and backslashes join them.
std::optional<Words> ShellWords(std::string_view text) {
  Words words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == '\'') {
      word += c;
    } else if (c == '\\' && i + 1 < text.size()) {
      const char next = text[++i];
      // Inside double quotes a backslash is one only before these (POSIX shell, 2.2.3).
      if (quote == '"' && std::string_view("\"\\$`").find(next) == std::string_view::npos) {
        word += c;
      }
      word += next;
      in_word = true;
    } else if (quote == '"') {
      word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) words.push_back(std::move(word));
  return words;
}

bool IsUserName(std::string_view name) {
  const auto starts = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto continues = [&](char c) {
    return starts(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= 32 && starts(name[0]) &&
         std::all_of(name.begin(), name.end(), continues);
}

}  // namespace

Error IoError(std::string_view what, const std::string& path) {
  return MakeError(ErrorCode::kIo, fmt::format("cannot {} {}: {}", what, path,
                                               std::generic_category().message(errno)));
}

Result<void> WriteFile(const std::string& path, std::string_view text, mode_t mode) {
  const std::string temporary = path + ".new";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    // Before there is anything in it to be read.
    if (::chmod(temporary.c_str(), mode) != 0) return IoError("chmod", temporary);
    file << text;
    if (!file.flush()) return IoError("write", temporary);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return IoError("rename", temporary);
  return {};
}

std::optional<std::vector<std::string>> ParseRuntimeEnv(std::string_view text) {
  const std::optional<Words> words = ShellWords(text);
  if (!words) return std::nullopt;
  Words variables;
  for (std::size_t i = 0; i < words->size(); ++i) {
    std::string_view word = (*words)[i];
    if (word == "-e" || word == "--env") {
      if (++i == words->size()) return std::nullopt;
      word = (*words)[i];
    } else if (word.rfind("--env=", 0) == 0) {
      word.remove_prefix(6);
    } else if (word.rfind("-e", 0) == 0) {
      word.remove_prefix(2);
    } else {
      return std::nullopt;
    }
    const std::size_t equals = word.find('=');
    if (equals == 0 || word.find('\0') != std::string_view::npos) return std::nullopt;
    if (equals != std::string_view::npos) variables.emplace_back(word);
  }
  return variables;
}

Result<void> LinkRuntime(const std::string& programs) {
  const std::string runtime = programs + "/tpu-runtime";
  std::error_code problem;
  if (fs::exists(fs::symlink_status(runtime))) return {};
  fs::create_symlink("/usr/bin/sleep", runtime, problem);
  if (problem) return IoError("make", runtime);
  return {};
}

Result<std::string> WriteMetadataFolder(const std::string& folder, const Value& metadata,
                                        const std::string& runtime, std::string_view kept) {
  const std::string attributes = folder + "/metadata/attributes/";
  std::error_code problem;
  fs::create_directories(attributes, problem);
  Result<void> done;
  for (const auto& [key, value] : metadata.AsMap()) {
    if (done) done = WriteFile(attributes + key, value.AsString(), 0644);
  }
  if (!done) return done.error();
  for (const auto& entry : fs::directory_iterator(attributes, problem)) {
    if (metadata.Find(entry.path().filename().string()) == nullptr) {
      fs::remove(entry.path(), problem);
    }
  }
  const std::string path = folder + "/metadata/runtime.begin";
  const auto words = ParseRuntimeEnv(metadata["tensorflow-env-vars"].AsString());
  if (!words) {
    fs::remove(path, problem);
    return std::string();
  }
  std::string begin = fmt::format(
      "exec setsid env -i {} PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      kept);
  for (const std::string& word : *words) begin += " " + Quoted(word);
  begin += fmt::format(" {} infinity\n", Quoted(runtime));
  if (done = WriteFile(path, begin, 0644); !done) return done.error();
  return begin;
}

std::vector<std::pair<std::string, std::string>> ReadSshKeys(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> keys;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    const std::size_t begin = line.find_first_not_of(" \t");
    const std::size_t colon = line.find(':');
    if (begin == std::string::npos || colon == std::string::npos) continue;
    std::string user = line.substr(begin, colon - begin);
    if (IsUserName(user)) keys.emplace_back(std::move(user), line.substr(colon + 1));
  }
  return keys;
}

std::string WorkerFiles::Inside() const {
  return namespaces ? "/run/tpu-vm" : folder;
}

Result<void> WorkerFiles::Prepare(const Value& metadata, const std::string& accounts) const {
  std::error_code problem;
  for (const char* part :
       {"bin", "etc", "home", "root", "ssh/authorized_keys", "metadata/attributes", "units"}) {
    fs::create_directories(folder + "/" + part, problem);
    if (problem) {
      return MakeError(ErrorCode::kIo,
                       fmt::format("cannot make {}/{}: {}", folder, part, problem.message()));
    }
  }
  ::chmod((folder + "/root").c_str(), 0700);
  std::string init(namespaces ? kNamespaceInit : kPlainInit);
  constexpr std::string_view kMark = "@CAPABILITIES@";
  if (namespaces) init.replace(init.find(kMark), kMark.size(), kWorkerCapabilities);
  const struct {
    bool wanted;
    const char* name;
    std::string_view text;
  } programs[] = {{true, "init", init},
                  {true, "make-keys", kMakeKeys},
                  {namespaces, "walls", kWalls},
                  {true, "boot", kBoot},
                  {namespaces, "doorman", kDoorman},
                  {true, "systemctl", kSystemctl},
                  {!namespaces || !HasSudo(), "sudo", kSudo},
                  {!namespaces, "session", kPlainSession},
                  {!namespaces, "hostname", kHostname}};
  Result<void> done;
  for (const auto& [wanted, name, text] : programs) {
    if (done && wanted) done = WriteFile(folder + "/bin/" + name, ForFolder(text, Inside()), 0755);
  }
  if (done) done = LinkRuntime(folder + "/bin");
  if (!done) return done;
  if (has_runtime) {
    done = WriteFile(folder + "/units/tpu-runtime.service", ForFolder(kUnitFile, Inside()), 0644);
  }
  if (done && !namespaces) done = WriteFile(folder + "/plain", "", 0644);
  if (done) done = WriteFile(folder + "/ssh/sshd_config", SshdConfig(), 0644);
  if (done) done = WriteSystem();
  if (done) done = WriteMetadata(metadata, accounts);
  return done;
}

Result<void> WorkerFiles::WriteSystem() const {
  const std::string etc = folder + "/etc/";
  struct EtcFile {
    const char* name;
    std::string text;
    mode_t mode = 0644;
  };
  std::vector<EtcFile> files = {
      {"hostname", hostname + "\n"},
      {"hosts", fmt::format("127.0.0.1 localhost\n::1 localhost\n{} {}\n{}", address, hostname,
                            has_metadata_server ? kMetadataHosts : "")},
      {"profile",
       fmt::format("{}\nPATH={}/bin:$PATH\nexport PATH\n", FileText("/etc/profile"), Inside())}};
  if (!fs::exists(etc + "passwd")) {
    const std::string accounts = SystemLines("/etc/passwd");
    files.push_back({"group", SystemLines("/etc/group")});
    files.push_back({"shadow", ShadowLines(accounts), 0640});
    files.push_back({"sudoers",
                     fmt::format("Defaults env_reset, lecture=never\n"
                                 "Defaults secure_path=\"{}/bin:/usr/local/sbin:/usr/local/bin:"
                                 "/usr/sbin:/usr/bin:/sbin:/bin\"\n"
                                 "root ALL=(ALL:ALL) ALL\n",
                                 Inside()),
                     0440});
    // Last, since its presence says that the others are there.
    files.push_back({"passwd", accounts});
  }
  Result<void> done;
  for (const EtcFile& file : files) {
    if (done) done = WriteFile(etc + file.name, file.text, file.mode);
  }
  return done;
}

std::string WorkerFiles::SshdConfig() const {
  const std::string ssh = Inside() + "/ssh";
  std::string text = fmt::format(
      "ListenAddress {0}:{1}\n"
      "HostKey \"{2}/ssh_host_ed25519_key\"\n"
      "HostKey \"{2}/ssh_host_ecdsa_key\"\n"
      "HostKey \"{2}/ssh_host_rsa_key\"\n"
      "AuthorizedKeysFile \"{2}/authorized_keys/%u\"{3}\n"
      "PidFile none\n"
      "StrictModes no\n"
      "UsePAM no\n"
      "UseDNS no\n"
      "PasswordAuthentication no\n"
      "KbdInteractiveAuthentication no\n"
      "PermitRootLogin prohibit-password\n"
      "PrintMotd no\n"
      "PrintLastLog no\n"
      "LogLevel ERROR\n"
      "MaxStartups 200\n"
      "MaxSessions 100\n"
      "AcceptEnv LANG LC_*\n"
      "Subsystem sftp internal-sftp\n",
      address, port, ssh, namespaces ? " .ssh/authorized_keys" : "");
  if (namespaces) {
    text +=
        fmt::format("SetEnv PATH={}/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/games\n", Inside());
  } else {
    text += fmt::format(
        // HOME, or the user's own start-up files would run on a machine that has none of them.
        "SetEnv \"TPU_VM_FOLDER={0}\" \"HOME={0}/home\" TPU_VM_HOSTNAME={1}{2}{3}\n"
        "ForceCommand '{0}/bin/session'\n",
        folder, hostname, storage.empty() ? "" : " STORAGE_EMULATOR_HOST=", storage);
  }
  return text;
}

Result<void> WorkerFiles::WriteMetadata(const Value& metadata, const std::string& accounts) const {
  auto begin = WriteMetadataFolder(folder, metadata, Inside() + "/bin/tpu-runtime", {});
  if (!begin) return begin.error();
  return WriteAccounts(accounts);
}

Result<void> WorkerFiles::WriteAccounts(const std::string& accounts) const {
  std::map<std::string, std::string> keys;  // user -> authorized_keys
  for (const auto& [user, key] : ReadSshKeys(accounts)) {
    if (keys.size() < kMaxUsers || keys.count(user) != 0) keys[user] += key + "\n";
  }
  const std::string own = namespaces ? "" : OwnUser();
  for (const auto& [user, text] : keys) {
    if (!namespaces && user != own) {
      return MakeError(ErrorCode::kFailedPrecondition,
                       fmt::format("without namespaces an sshd worker lets nobody in but {}, and "
                                   "`ssh-keys` names {}; `--workers light` has no such limit",
                                   own, user));
    }
    if (namespaces) {
      if (auto added = AddAccount(user); !added) return added;
    }
    if (auto done = WriteFile(folder + "/ssh/authorized_keys/" + user, text, 0644); !done) {
      return done;
    }
  }
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder + "/ssh/authorized_keys", problem)) {
    if (keys.count(entry.path().filename().string()) == 0) fs::remove(entry.path(), problem);
  }
  return {};
}

Result<void> WorkerFiles::AddAccount(const std::string& user) const {
  const std::string etc = folder + "/etc/";
  std::istringstream accounts(FileText(etc + "passwd"));
  std::string line;
  int id = kFirstUser;
  while (std::getline(accounts, line)) {
    if (line.rfind(user + ":", 0) == 0) return {};
    if (line.find(":TPU VM user:") != std::string::npos) ++id;
  }
  // Without sudo on this machine everybody is root, under a name and home of their own.
  const int uid = HasSudo() ? id : 0;
  if (auto made = MakeHome(folder + "/home", user, static_cast<uid_t>(uid)); !made) return made;
  Result<void> done = AppendLine(etc + "group", fmt::format("{}:x:{}:", user, id));
  if (done) done = AppendLine(etc + "shadow", user + ":*:19000:0:99999:7:::");
  if (done) done = AppendLine(etc + "sudoers", user + " ALL=(ALL:ALL) NOPASSWD:ALL");
  if (done) {
    done = AppendLine(etc + "passwd",
                      fmt::format("{0}:x:{1}:{1}:TPU VM user:/home/{0}:/bin/bash", user, uid));
  }
  return done;
}

std::vector<std::pair<std::string, std::string>> WorkerFiles::HostKeys() const {
  std::vector<std::pair<std::string, std::string>> keys;
  for (const char* type : {"ed25519", "ecdsa", "rsa"}) {
    std::istringstream file(FileText(fmt::format("{}/ssh/ssh_host_{}_key.pub", folder, type)));
    std::string name;
    std::string key;
    if (file >> name >> key) keys.emplace_back(name, key);
  }
  return keys;
}

void WorkerFiles::RemoveHostKeys() const {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder + "/ssh", problem)) {
    if (entry.path().filename().string().rfind("ssh_host_", 0) == 0) {
      fs::remove(entry.path(), problem);
    }
  }
}

}  // namespace podctl::emulator
