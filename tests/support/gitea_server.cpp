#include "tests/support/gitea_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "providers/http/curl_transport.h"
#include "tests/support/free_port.h"

namespace podctl::testing {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kGiteaComesUpWithin{120};

constexpr const char* kGiteaSettings = R"(RUN_MODE = prod
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = {source}
APP_DATA_PATH = {folder}/data
[database]
DB_TYPE = sqlite3
PATH = {folder}/data/gitea.db
[security]
INSTALL_LOCK = true
[log]
MODE = console
LEVEL = Warn
[actions]
ENABLED = false
[indexer]
ISSUE_INDEXER_TYPE = db
)";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

[[noreturn]] void ExecGitea(const std::string& program, const std::string& folder,
                            const std::vector<std::string>& words) {
  const int log = ::open((folder + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::setenv("GITEA_WORK_DIR", folder.c_str(), 1);
  ::setenv("HOME", folder.c_str(), 1);
  std::vector<std::string> line = {program, "-c", folder + "/app.ini"};
  line.insert(line.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : line) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  ::_exit(127);
}

}  // namespace

std::string GiteaServer::Program() {
  if (const std::string named = Variable("PODCTL_GITEA"); !named.empty()) return named;
  std::istringstream path(Variable("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (::access((folder + "/gitea").c_str(), X_OK) == 0) return folder + "/gitea";
  }
  return "";
}

Result<std::unique_ptr<GiteaServer>> GiteaServer::Start() {
  std::unique_ptr<GiteaServer> server(new GiteaServer());
  server->program_ = Program();
  if (server->program_.empty()) {
    return MakeError(ErrorCode::kNotFound,
                     "Gitea is not on this machine: neither is `gitea` in PATH, nor its path in "
                     "PODCTL_GITEA");
  }
  std::string source = Variable("PODCTL_GITEA_SOURCE");
  if (source.empty()) source = fs::absolute(server->program_).parent_path().string();
  std::string pattern = (fs::temp_directory_path() / "podctl-gitea-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return MakeError(ErrorCode::kIo, "no folder for Gitea could be made");
  }
  server->folder_ = pattern;
  server->port_ = FreePort();
  fs::create_directory(pattern + "/data");
  std::ofstream(pattern + "/app.ini")
      << fmt::format(fmt::runtime(kGiteaSettings), fmt::arg("port", server->port_),
                     fmt::arg("source", source), fmt::arg("folder", pattern));
  const bool prepared =
      server->Tell({"migrate"}) &&
      server->Tell({"admin", "user", "create", "--username", kUser, "--password", kPassword,
                    "--email", "team@example.com", "--must-change-password=false"});
  if (prepared) server->Launch();
  if (prepared && server->IsUp()) return server;
  std::ostringstream log;
  log << std::ifstream(pattern + "/log").rdbuf();
  return MakeError(ErrorCode::kUnavailable,
                   fmt::format("{} does not come up:\n{}", server->program_, log.str()));
}

bool GiteaServer::Tell(const std::vector<std::string>& words) const {
  const pid_t pid = ::fork();
  if (pid == 0) ExecGitea(program_, folder_, words);
  int status = 0;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

void GiteaServer::Launch() {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ != 0) return;
  // Whoever kills the test leaves no server behind.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ExecGitea(program_, folder_, {"web"});
}

bool GiteaServer::IsUp() {
  http::CurlTransport transport("podctl-test");
  http::Request request;
  request.method = "GET";
  request.url = fmt::format("http://127.0.0.1:{}/api/v1/version", port_);
  request.timeout = std::chrono::seconds(5);
  const auto end = std::chrono::steady_clock::now() + kGiteaComesUpWithin;
  while (std::chrono::steady_clock::now() < end) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    const auto answer = transport.Send(request, {});
    if (answer && answer->status == 200) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

void GiteaServer::End(int signal) {
  if (pid_ <= 0) return;
  ::kill(pid_, signal);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

bool GiteaServer::Restart() {
  End(SIGKILL);
  Launch();
  return IsUp();
}

GiteaServer::~GiteaServer() {
  End(SIGTERM);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace podctl::testing
