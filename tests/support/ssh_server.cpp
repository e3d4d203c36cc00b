#include "tests/support/ssh_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

namespace podctl::testing {
namespace {

sockaddr_in LoopbackAddress(const std::string& address, int port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, address.c_str(), &in.sin_addr);
  return in;
}

bool Answers(const std::string& address, int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in in = LoopbackAddress(address, port);
  const bool good = connect(fd, reinterpret_cast<const sockaddr*>(&in), sizeof(in)) == 0;
  close(fd);
  return good;
}

}  // namespace

TempFolder::TempFolder() {
  std::string path = (std::filesystem::temp_directory_path() / "podctl-test-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) std::abort();
  path_ = path;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

pid_t StartProgram(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(in, 0);
  dup2(out, 1);
  dup2(out, 2);
  execvp(argv[0], argv.data());
  _exit(127);
}

bool IsRunning(const std::string& program, const std::string& argument) {
  using namespace std::string_literals;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (ReadAll(entry.path().string() + "/cmdline") == program + "\0"s + argument + "\0"s) {
      return true;
    }
  }
  return false;
}

void EndProgram(pid_t pid) {
  if (pid <= 0) return;
  kill(pid, SIGTERM);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

int RunProgram(const std::vector<std::string>& arguments) {
  const pid_t pid = StartProgram(arguments, "/dev/null");
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteAll(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void MakeKey(const std::string& path, const std::vector<std::string>& arguments,
             const std::string& passphrase) {
  std::vector<std::string> command = {"ssh-keygen", "-q",   "-N", passphrase,
                                      "-C",         "test", "-f", path};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ASSERT_EQ(RunProgram(command), 0) << "ssh-keygen failed";
}

int FreePort(const std::string& address) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in in = LoopbackAddress(address, 0);
  socklen_t size = sizeof(in);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&in), sizeof(in)) != 0) std::abort();
  getsockname(fd, reinterpret_cast<sockaddr*>(&in), &size);
  close(fd);
  return ntohs(in.sin_port);
}

SshServer::SshServer(Options options)
    : options_(std::move(options)), client_key_(folder_.path() + "/client") {
  user_ = getpwuid(getuid())->pw_name;
  std::filesystem::create_directories(Home());
  // sshd insists on its separation folder when it runs as root; a service manager makes it usually.
  if (getuid() == 0) mkdir("/run/sshd", 0755);
  if (options_.port == 0) options_.port = FreePort(options_.address);
  MakeKey(client_key_, {"-t", "ed25519"});
  Authorize(ReadAll(client_key_ + ".pub"));
  NewHostKeys();
  if (options_.start) Start();
}

SshServer::~SshServer() {
  Stop();
}

void SshServer::NewHostKeys() {
  for (const std::string& type : options_.host_key_types) {
    const std::string path = folder_.path() + "/host_" + type;
    std::filesystem::remove(path);
    MakeKey(path, {"-t", type});
  }
}

void SshServer::Authorize(const std::string& public_line) {
  const std::string path = folder_.path() + "/authorized_keys";
  WriteAll(path, ReadAll(path) + public_line + "\n");
  chmod(path.c_str(), 0644);
}

void SshServer::Start() {
  std::ostringstream config;
  config << "Port " << options_.port << "\nListenAddress " << options_.address
         << "\nAuthorizedKeysFile " << folder_.path() << "/authorized_keys\n"
         << "PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nUseDNS no\n"
         << "PasswordAuthentication no\nMaxStartups 1000\nPrintMotd no\nPrintLastLog no\n"
         // Not the user's own: what stands in .bashrc there is not the tests' business.
         << "SetEnv HOME=" << Home();
  if (!options_.programs.empty()) {
    config << " PATH=" << options_.programs << ":/usr/local/bin:/usr/bin:/bin";
  }
  config << "\n" << options_.config << "\n";
  for (const std::string& type : options_.host_key_types) {
    config << "HostKey " << folder_.path() << "/host_" << type << "\n";
  }
  const std::string path = folder_.path() + "/sshd_config";
  // OpenSSH 9.8 and later lock out addresses whose logins fail, which some tests let happen;
  // earlier ones do not know the keyword.
  WriteAll(path, config.str() + "PerSourcePenalties no\n");
  if (RunProgram({"/usr/sbin/sshd", "-t", "-f", path}) != 0) WriteAll(path, config.str());
  pid_ = StartProgram({"/usr/sbin/sshd", "-D", "-e", "-f", path}, folder_.path() + "/log");
  for (int i = 0; i < 500 && !Answers(options_.address, options_.port); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(Answers(options_.address, options_.port)) << "sshd does not answer: " << Log();
}

void SshServer::Stop() {
  KillSessions();
  EndProgram(pid_);
  pid_ = -1;
}

std::set<pid_t> SshServer::Sessions() const {
  // Since OpenSSH 9.8 a session is a chain of processes ("sshd-session", then one for the user).
  std::set<pid_t> sessions = {pid_};
  std::map<pid_t, pid_t> parents;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string stat = ReadAll(entry.path().string() + "/stat");
    const std::size_t end = stat.rfind(')');
    if (end == std::string::npos || stat.find("(sshd") == std::string::npos) continue;
    std::istringstream fields(stat.substr(end + 1));
    char state = 0;
    pid_t parent = 0;
    fields >> state >> parent;
    parents[std::atoi(entry.path().filename().c_str())] = parent;
  }
  for (std::size_t before = 0; before != sessions.size();) {
    before = sessions.size();
    for (const auto& [process, parent] : parents) {
      if (sessions.contains(parent)) sessions.insert(process);
    }
  }
  sessions.erase(pid_);
  return sessions;
}

void SshServer::KillSessions() {
  if (pid_ <= 0) return;
  // One that is just beginning starts its last process only now. Stopped it cannot, and would else
  // leave one behind that holds the connection.
  std::set<pid_t> doomed;
  for (std::set<pid_t> found = Sessions(); found != doomed; found = Sessions()) {
    doomed = std::move(found);
    for (const pid_t process : doomed) kill(process, SIGSTOP);
  }
  for (const pid_t process : doomed) kill(process, SIGKILL);
}

WorkerAccess SshServer::Access(int index) const {
  WorkerAccess access;
  access.pod = "research";
  access.index = index;
  access.host = options_.address;
  access.port = options_.port;
  access.user = user_;
  access.identity_file = client_key_;
  return access;
}

std::string SshServer::HostKey(const std::string& type) const {
  const std::string line = ReadAll(folder_.path() + "/host_" + type + ".pub");
  return line.substr(0, line.find(' ', line.find(' ') + 1));
}

}  // namespace podctl::testing
