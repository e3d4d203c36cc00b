#include "tests/e2e/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <system_error>
#include <thread>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "tests/support/folders.h"

namespace podctl::testing {
namespace {

namespace fs = std::filesystem;

std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What exec wants, made before the fork: a child may not allocate.
struct Image {
  Image(const Arguments& words, const Variables& variables) : words_(words) {
    for (std::string& word : words_) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    for (const auto& [name, value] : variables) entries_.push_back(name + "=" + value);
    for (std::string& entry : entries_) environment.push_back(entry.data());
    environment.push_back(nullptr);
  }
  std::vector<char*> arguments;
  std::vector<char*> environment;

 private:
  Arguments words_;
  std::vector<std::string> entries_;
};

[[noreturn]] void Become(const Image& image, const std::string& folder) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (chdir(folder.c_str()) == 0) {
    execvpe(image.arguments[0], image.arguments.data(), image.environment.data());
  }
  _exit(127);
}

int CodeOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// -1 is no pid to wait for or to signal: kill(2) takes it for everybody's.
pid_t Born(pid_t pid) {
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  return pid;
}

void KillGroup(pid_t pid) {
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

bool Eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::ostream& operator<<(std::ostream& out, const RunResult& run) {
  return out << "exit code " << run.code << "\n--- stdout\n"
             << run.out << "--- stderr\n"
             << run.err << "---";
}

Process::Process(const Arguments& words, const Variables& environment, const std::string& folder,
                 const std::string& output_base)
    : output_base_(output_base) {
  const Image image(words, environment);
  const auto file = [](const std::string& name) {
    return open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  };
  const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = file(output_base + ".out");
  const int err = file(output_base + ".err");
  pid_ = Born(fork());
  if (pid_ == 0) {
    setpgid(0, 0);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    Become(image, folder);
  }
  setpgid(pid_, pid_);
  for (int each : {in, out, err}) close(each);
}

Process::~Process() {
  if (!code_) KillGroup(pid_);
}

std::string Process::out() const {
  return Slurp(output_base_ + ".out");
}
std::string Process::err() const {
  return Slurp(output_base_ + ".err");
}
void Process::Signal(int signal) const {
  kill(pid_, signal);
}
void Process::SignalOnceMore(int signal) const {
  std::this_thread::sleep_for(kTwoSignals);
  Signal(signal);
}
bool Process::WaitForOut(const std::string& text) const {
  return Eventually([&] { return out().find(text) != std::string::npos; });
}
bool Process::WaitForErr(const std::string& text) const {
  return Eventually([&] { return err().find(text) != std::string::npos; });
}

std::optional<int> Process::Wait(std::chrono::milliseconds limit) {
  Eventually(
      [&] {
        int status = 0;
        if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_) code_ = CodeOf(status);
        return code_.has_value();
      },
      limit);
  return code_;
}

RunResult Process::Result() {
  const int code = Wait().value_or(-1);
  return {code, out(), err()};
}

Pty::Pty(const Arguments& words, const Variables& environment, const std::string& folder) {
  const Image image(words, environment);
  winsize size{};
  size.ws_col = 100;
  size.ws_row = 30;
  pid_ = Born(forkpty(&terminal_, nullptr, nullptr, &size));
  if (pid_ == 0) Become(image, folder);
  fcntl(terminal_, F_SETFL, O_NONBLOCK);
  fcntl(terminal_, F_SETFD, FD_CLOEXEC);
}

Pty::~Pty() {
  if (!code_) KillGroup(pid_);
  close(terminal_);
}

bool Pty::IsRaw() const {
  termios mode{};  // the master shows the modes of the terminal
  return tcgetattr(terminal_, &mode) == 0 && (mode.c_lflag & (ICANON | ISIG)) == 0;
}

void Pty::SendKeys(const std::string& keys) {
  std::size_t sent = 0;
  Eventually([&] {
    const ssize_t wrote = write(terminal_, keys.data() + sent, keys.size() - sent);
    if (wrote > 0) sent += static_cast<std::size_t>(wrote);
    return sent == keys.size();
  });
}

void Pty::Resize(int columns, int rows) {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = static_cast<unsigned short>(rows);
  ioctl(terminal_, TIOCSWINSZ, &size);
}

void Pty::Read() {
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(terminal_, buffer, sizeof buffer)) > 0) {
    shown_.append(buffer, static_cast<std::size_t>(got));
  }
}

bool Pty::WaitForText(const std::string& text) {
  return Eventually([&] {
    Read();
    return shown_.find(text, forgotten_) != std::string::npos;
  });
}

std::optional<int> Pty::Wait(std::chrono::milliseconds limit) {
  Eventually(
      [&] {
        Read();  // a full terminal would hold the program back
        int status = 0;
        if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_) code_ = CodeOf(status);
        return code_.has_value();
      },
      limit);
  Read();
  return code_;
}

Sandbox::Sandbox() : http_("podctl-e2e") {
  std::string pattern = (fs::temp_directory_path() / "podctl-e2e-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
  folder_ = pattern;
  fs::create_directory(folder_ + "/home");
  fs::create_directory(folder_ + "/outputs");
  // A user's own settings (keys, projects, tokens, an agent) have no say here.
  for (const char* name : {"PATH", "USER", "LOGNAME", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                           "TSAN_OPTIONS", "LSAN_OPTIONS", "TMPDIR"}) {
    if (const char* value = std::getenv(name); value != nullptr) variables_[name] = value;
  }
  variables_["HOME"] = folder_ + "/home";
  variables_["TERM"] = "xterm-256color";
  variables_["LC_ALL"] = "C.UTF-8";
  variables_["PODCTL"] = podctl::testing::BinaryFolder() + "/podctl";
}

Sandbox::~Sandbox() {
  if (::testing::Test::HasFailure() && emulator_) {
    std::cerr << "emulator's stderr:\n" << emulator_->err() << "\n";
  }
  StopEmulator();
  std::error_code problem;
  fs::remove_all(folder_, problem);
  EXPECT_FALSE(problem) << folder_ << " is left behind: " << problem.message();
}

void Sandbox::StartEmulator(const std::string& workers, const std::string& delay) {
  has_workers_ = workers != "none";
  emulator_ = Start({"emulator", "--listen", "127.0.0.1:0", "--data", Path("emulator"), "--workers",
                     workers, "--operation-delay", delay});
  const bool ready = emulator_->WaitForOut("\n");
  ASSERT_TRUE(ready && emulator_->out().starts_with("ready http://"))
      << emulator_->out() << emulator_->err();
  url_ = std::string(TrimBlanks(emulator_->out().substr(6)));
  variables_["PODCTL_ENDPOINT"] = url_;
  const std::string err = emulator_->err();
  workers_are_machines_ = err.find("a network of its own") != std::string::npos;
  const std::string mark = "SSH on port ";
  if (const auto at = err.find(mark); at != std::string::npos) {
    ssh_port_ = std::atoi(err.c_str() + at + mark.size());
  }
}

void Sandbox::UseEmulatorOf(const Sandbox& other) {
  url_ = other.url_;
  ssh_port_ = other.ssh_port_;
  has_workers_ = other.has_workers_;
  workers_are_machines_ = other.workers_are_machines_;
  variables_["PODCTL_ENDPOINT"] = url_;
}

void Sandbox::StopEmulator() {
  if (!emulator_) return;
  emulator_->Signal(SIGTERM);
  EXPECT_TRUE(emulator_->Wait()) << "the emulator does not stop";
  emulator_.reset();
}

std::vector<pid_t> Sandbox::OnWorkers(const std::string& words) const {
  const std::vector<pid_t> below = Descendants(emulator_pid());
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 1 || pid == emulator_pid()) continue;
    const bool is_below = std::find(below.begin(), below.end(), pid) != below.end();
    const std::string environment = is_below ? "" : Slurp(entry.path() / "environ");
    if (!is_below && environment.find(Path("emulator")) == std::string::npos) continue;
    std::string line = Slurp(entry.path() / "cmdline");
    std::replace(line.begin(), line.end(), '\0', ' ');
    if (line.find(words) != std::string::npos) found.push_back(pid);
  }
  return found;
}

std::string Sandbox::SpecDefaults() const {
  if (!has_workers_) return "defaults:\n  ssh: {check: false}\n";
  return ssh_port_ == 22 ? "" : "defaults:\n  ssh: {port: " + std::to_string(ssh_port_) + "}\n";
}

void Sandbox::WriteSpec(const std::string& pods) {
  WriteFile("podctl.yaml",
            "project: my-project\nzone: europe-west4-a\n" + SpecDefaults() + "pods:\n" + pods);
}

void Sandbox::WriteFile(const std::string& name, const std::string& text) const {
  fs::create_directories(fs::path(Path(name)).parent_path());
  std::ofstream(Path(name), std::ios::binary) << text;
}
std::string Sandbox::ReadFile(const std::string& name) const {
  return Slurp(Path(name));
}
bool Sandbox::Exists(const std::string& name) const {
  return fs::exists(Path(name));
}
Value Sandbox::State() const {
  return ParseJson(ReadFile("podctl.state.json")).value_or(Value());
}

Value Remembered(const Value& state, const std::string& address) {
  return state["resources"][address]["payload"];
}

Value UnderWay(const Value& state, const std::string& address) {
  for (const Value& object : state["resources"][address]["objects"].AsList()) {
    if (object["intent"].is_null()) continue;
    Value under_way = object["intent"];
    under_way.Set("life", object["life"]);
    return under_way;
  }
  return {};
}

std::string Sandbox::OutputBase() {
  return folder_ + "/outputs/" + std::to_string(++started_);
}
RunResult Sandbox::Run(const Arguments& arguments) {
  return Start(arguments)->Result();
}
std::unique_ptr<Process> Sandbox::Start(const Arguments& arguments) {
  Arguments words = {podctl::testing::BinaryFolder() + "/podctl"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return std::make_unique<Process>(words, variables_, folder_, OutputBase());
}
std::unique_ptr<Pty> Sandbox::RunInPty(const Arguments& arguments) {
  Arguments words = {podctl::testing::BinaryFolder() + "/podctl"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return std::make_unique<Pty>(words, variables_, folder_);
}
RunResult Sandbox::RunProgram(const Arguments& words) {
  return StartProgram(words)->Result();
}
std::unique_ptr<Process> Sandbox::StartProgram(const Arguments& words) {
  return std::make_unique<Process>(words, variables_, folder_, OutputBase());
}
std::unique_ptr<Pty> Sandbox::RunProgramInPty(const Arguments& words) {
  return std::make_unique<Pty>(words, variables_, folder_);
}
RunResult Sandbox::Apply() {
  RunResult run = Run({"apply", "--auto-approve"});
  EXPECT_EQ(run.code, 0) << run;
  return run;
}

Reply Sandbox::Http(const std::string& method, const std::string& path, const std::string& body) {
  http::Request request;
  request.method = method;
  request.url = url_ + path;
  request.body = body;
  if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  auto response = http_.Send(request, {});
  // On a machine that is full of other tests the emulator may give up a client that it hears
  // nothing of; a look can be taken again.
  for (int tries = 0; tries < 3 && !response && method == "GET"; ++tries) {
    response = http_.Send(request, {});
  }
  if (!response) {
    std::cerr << method << " " << path << ": " << response.error().message << "\n";
    return {};
  }
  return {response->status, ParseJson(response->body).value_or(Value())};
}

std::int64_t Sandbox::Calls(const std::string& call) {
  return Requests()["byMethod"][call].AsInt();
}
void Sandbox::OrderFault(const std::string& json) {
  EXPECT_EQ(Http("POST", "/emulator/faults", json).status, 200) << json;
}
std::int64_t Sandbox::FaultsLeft() {
  std::int64_t left = 0;
  const Value faults = Http("GET", "/emulator/faults").body["faults"];
  for (const Value& fault : faults.AsList()) left += fault["times"].AsInt();
  return left;
}
Reply Sandbox::GetNode(const std::string& id) {
  return Http("GET", std::string(kNodes) + "/" + id);
}

void Sandbox::Change(const std::string& method, const std::string& path, const std::string& body) {
  const Reply begun = Http(method, path, body);
  ASSERT_EQ(begun.status, 200) << ToJson(begun.body);
  const std::string operation = "/v2/" + begun.body["name"].AsString();
  Value ended;
  ASSERT_TRUE(Eventually([&] {
    ended = Http("GET", operation).body;
    return ended["done"].AsBool();
  })) << operation;
  ASSERT_TRUE(ended["error"].is_null()) << ToJson(ended);
}

std::vector<pid_t> Descendants(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    // "pid (name, which may hold anything) state ppid …"
    const std::string stat = Slurp(entry.path() / "stat");
    const auto at = stat.rfind(')');
    if (at == std::string::npos || at + 4 > stat.size() || stat[at + 2] == 'Z') continue;
    children.emplace(std::atoi(stat.c_str() + at + 4), pid);
  }
  std::vector<pid_t> found;
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    const auto [first, last] = children.equal_range(open.back());
    open.pop_back();
    for (auto child = first; child != last; ++child) {
      found.push_back(child->second);
      open.push_back(child->second);
    }
  }
  return found;
}

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "`" << from << "` is not in\n" << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

int CountLines(const std::string& text, const std::string& start, const std::string& end) {
  int count = 0;
  for (const auto& line : SplitLines(text)) {
    if (line.starts_with(start) && line.ends_with(end)) ++count;
  }
  return count;
}

std::vector<Value> JsonLines(const std::string& text) {
  std::vector<Value> values;
  for (const auto& line : SplitLines(text)) {
    auto value = ParseJson(line);
    EXPECT_TRUE(value) << "not JSON: " << line;
    if (value) values.push_back(*std::move(value));
  }
  return values;
}

}  // namespace podctl::testing
