#include "tests/bench/gitea.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "providers/http/curl_transport.h"
#include "tests/bench/measure.h"
#include "tests/bench/workbench.h"
#include "tests/support/free_port.h"

namespace podctl::bench {

namespace fs = std::filesystem;

namespace {

constexpr int kLooks = 300;  // of 200 ms each

constexpr const char* kSettings = R"(RUN_MODE = prod
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

std::string Wish(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

bool Answers(int port) {
  http::CurlTransport transport("podctl-bench");
  http::Request request;
  request.method = "GET";
  request.url = fmt::format("http://127.0.0.1:{}/api/v1/version", port);
  const auto answer = transport.Send(request, {});
  return answer && answer->status == 200;
}

}  // namespace

std::unique_ptr<Gitea> Gitea::Start() {
  std::string program = Wish("PODCTL_GITEA");
  if (program.empty() && HasProgram("gitea")) program = "gitea";
  if (program.empty()) return nullptr;
  std::string source = Wish("PODCTL_GITEA_SOURCE");
  if (source.empty()) source = fs::absolute(program).parent_path().string();
  std::unique_ptr<Gitea> gitea(new Gitea());
  std::string pattern = (fs::temp_directory_path() / "podctl-bench-gitea.XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) Fail("cannot make a temporary folder");
  gitea->folder_ = pattern;
  gitea->port_ = testing::FreePort();
  fs::create_directory(gitea->folder_ / "data");
  WriteFile(gitea->folder_ / "app.ini",
            fmt::format(fmt::runtime(kSettings), fmt::arg("port", gitea->port_),
                        fmt::arg("source", source), fmt::arg("folder", pattern)));
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"env", "GITEA_WORK_DIR=" + pattern, "HOME=" + pattern, program,
                                 "-c", pattern + "/app.ini"});
    Run(words, pattern);
  };
  run({"migrate"});
  run({"admin", "user", "create", "--username", kUser, "--password", kPassword, "--email",
       "team@example.com", "--must-change-password=false"});
  gitea->Serve(program);
  return gitea;
}

void Gitea::Serve(const std::string& program) {
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    const int log = open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    setenv("GITEA_WORK_DIR", folder_.c_str(), 1);
    setenv("HOME", folder_.c_str(), 1);
    execlp(program.c_str(), program.c_str(), "-c", (folder_ / "app.ini").c_str(), "web", nullptr);
    _exit(127);
  }
  for (int look = 0; look < kLooks; ++look) {
    if (Answers(port_)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  Fail("Gitea does not come up: " + program);
}

Gitea::~Gitea() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace podctl::bench
