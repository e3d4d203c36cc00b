// Lives of a state on a real server, each told by a seed: processes on two hosts that take its lock
// (TTL 2 s, where locks run out), save and go, which are killed by -9, and stopped for longer than
// their lock lasts; and in the middle the server itself is killed, where it keeps its data.
//
//   PODCTL_TEST_SEED=4711 …_lives_test     lives from that seed on
//   PODCTL_TEST_SEEDS=50 …_lives_test      so many
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "providers/os/clock.h"
#include "state/stores/lock_holder.h"

namespace podctl::testing {

// What a run tells, in a file that outlives it.
class LifeLog {
 public:
  explicit LifeLog(const std::string& folder) : path_(folder + "/log") {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  ~LifeLog() { ::close(file_); }
  LifeLog(const LifeLog&) = delete;
  LifeLog& operator=(const LifeLog&) = delete;

  void Tell(const std::string& line) {
    (void)!::write(file_, (line + "\n").data(), line.size() + 1);
  }
  void Meant(const std::string& mark) { Tell("meant " + mark); }
  void Acknowledged(const std::string& mark, const std::string& number) {
    Tell("acknowledged " + mark + " " + number);
  }

 private:
  const std::string path_;
  int file_ = -1;
};

// What the log says in the end: marks that were about to be saved, and those that were answered
// for, each with its number there.
struct LifeTale {
  std::set<std::string> meant;
  std::map<std::string, std::uint64_t> acknowledged;
};

class LiveServer {
 public:
  virtual ~LiveServer() = default;
  virtual const std::string& Folder() const = 0;  // goes with the server
  // What one process does with the state of this name, of which it is told below `folder`. Returns
  // its exit code. Called in a process of its own.
  virtual int Run(const std::string& state, const std::string& folder, std::uint64_t seed) = 0;
  // Whether what is stored is what the tale says. Returns how many saves stand there.
  virtual std::uint64_t Check(const std::string& state, const LifeTale& tale) = 0;
  // Kills it by -9 and starts it again with its data; a server that keeps none does nothing.
  virtual bool Restart() = 0;
};

// Of two hosts, of which one does not see the other's processes.
inline LockHolder LiveHolder(bool here) {
  const std::string host = here ? "here" : "there";
  const auto is_alive = [](int pid) { return ::kill(pid, 0) == 0; };
  const std::string space = host + "/pid:[1]/";
  return {host,
          "alice@" + host,
          ::getpid(),
          [is_alive](int pid, const std::string&) { return is_alive(pid); },
          fmt::format("{}{}/77", space, ::getpid()),
          [is_alive, space](const std::string& mark) {
            return mark.starts_with(space) && !is_alive(std::stoi(mark.substr(space.size())));
          }};
}

class ServerLife {
 public:
  static constexpr std::size_t kRuns = 3;  // at the same time

  ServerLife(LiveServer& server, std::uint64_t seed)
      : server_(server),
        state_(fmt::format("life-{}", seed)),
        folder_(server.Folder() + "/" + state_),
        chance_(seed) {
    std::filesystem::create_directories(folder_);
  }
  ~ServerLife() {
    for (const pid_t pid : runs_) ::kill(pid, SIGKILL);
    for (const pid_t pid : runs_) ::waitpid(pid, nullptr, 0);
  }

  void Step() {
    Reap();
    if (runs_.size() < kRuns) return Begin();
    auto at = std::next(runs_.begin(), static_cast<std::ptrdiff_t>(Below(runs_.size())));
    switch (Below(40)) {
      case 0:
      case 1:
        ::kill(*at, SIGKILL);
        ++killed_;
        break;
      case 2:
      case 3:
        ::kill(*at, SIGSTOP);
        break;
      case 4:
        ::kill(*at, SIGCONT);
        break;
      default:
        break;
    }
  }
  void LetGo() {
    for (const pid_t pid : runs_) ::kill(pid, SIGCONT);
  }
  bool IsOver() {
    Reap();
    return runs_.empty();
  }
  // Returns how many saves were acknowledged.
  std::size_t Check() {
    const LifeTale tale = Tale();
    const std::uint64_t saves = server_.Check(state_, tale);
    std::cout << fmt::format("{}: {} runs, {} killed, {} saves, {} acknowledged\n", state_, begun_,
                             killed_, saves, tale.acknowledged.size());
    return tale.acknowledged.size();
  }

 private:
  std::uint64_t Below(std::uint64_t bound) { return chance_() % bound; }

  void Begin() {
    const std::uint64_t seed = chance_();
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(2);
      ::_exit(server_.Run(state_, folder_, seed));
    }
    ASSERT_GT(pid, 0);
    runs_.insert(pid);
    ++begun_;
  }
  void Reap() {
    for (auto at = runs_.begin(); at != runs_.end();) {
      int status = 0;
      if (::waitpid(*at, &status, WNOHANG) != *at) {
        ++at;
        continue;
      }
      EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << Log();
      at = runs_.erase(at);
    }
  }
  std::string Log() const {
    std::ifstream file(folder_ + "/log");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  LifeTale Tale() const {
    LifeTale tale;
    std::istringstream lines(Log());
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string what;
      std::string mark;
      std::uint64_t number = 0;
      words >> what >> mark;
      if (what == "meant") tale.meant.insert(mark);
      if (what == "acknowledged" && words >> number) tale.acknowledged[mark] = number;
    }
    return tale;
  }

  LiveServer& server_;
  const std::string state_;
  const std::string folder_;
  std::mt19937_64 chance_;
  std::set<pid_t> runs_;
  int begun_ = 0;
  int killed_ = 0;
};

inline std::uint64_t LifeWish(const char* variable, std::uint64_t otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? std::stoull(value) : otherwise;
}

// Some lives at once on each server.
inline void PlayServerLives(const std::function<std::unique_ptr<LiveServer>()>& start) {
  using Steady = std::chrono::steady_clock;
  constexpr std::uint64_t kLives = 5;
  constexpr std::uint64_t kAllLives = 50;
  constexpr std::uint64_t kAtOnce = 5;
  constexpr std::chrono::seconds kLifetime{6};
  constexpr std::chrono::seconds kEndsWithin{90};  // that which is left alone
  constexpr std::chrono::milliseconds kStep{25};
  const std::uint64_t count =
      LifeWish("PODCTL_TEST_SEEDS", std::getenv("PODCTL_TEST_ALL") != nullptr ? kAllLives : kLives);
  const std::uint64_t first = LifeWish("PODCTL_TEST_SEED", 1);
  for (std::uint64_t seed = first; seed < first + count; seed += kAtOnce) {
    const auto server = start();
    ASSERT_TRUE(server);
    std::vector<std::unique_ptr<ServerLife>> lives;
    for (std::uint64_t i = 0; i < std::min(kAtOnce, first + count - seed); ++i) {
      lives.push_back(std::make_unique<ServerLife>(*server, seed + i));
    }
    const auto begin = Steady::now();
    for (bool restarted = false; Steady::now() - begin < kLifetime;) {
      for (const auto& life : lives) life->Step();
      std::this_thread::sleep_for(kStep);
      if (!restarted && Steady::now() - begin > kLifetime / 2) {
        ASSERT_TRUE(server->Restart());
        restarted = true;
      }
    }
    for (const auto& life : lives) life->LetGo();
    const auto end = Steady::now() + kEndsWithin;
    std::size_t acknowledged = 0;
    for (const auto& life : lives) {
      while (!life->IsOver() && Steady::now() < end) std::this_thread::sleep_for(kStep);
      EXPECT_TRUE(life->IsOver()) << "a run does not end";
      acknowledged += life->Check();
    }
    EXPECT_GT(acknowledged, 0U);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "PODCTL_TEST_SEED=" << seed;
  }
}

}  // namespace podctl::testing
