// Lives of a state in a real etcd, each told by a seed: processes that take its lock (TTL 2 s),
// save and go, which are killed by -9, and stopped for longer than their lock lasts; and in the
// middle the server itself is killed.
//
//   PODCTL_TEST_SEED=4711 etcd_lives_test     lives from that seed on
//   PODCTL_TEST_SEEDS=50 etcd_lives_test      so many
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/json.h"
#include "providers/http/curl_transport.h"
#include "state/stores/etcd/etcd_blobs.h"
#include "state/stores/journal_store.h"
#include "tests/support/addresses.h"
#include "tests/support/etcd_server.h"
#include "tests/support/sample_state.h"

namespace podctl::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

constexpr std::uint64_t kLives = 5;
constexpr std::uint64_t kAllLives = 50;
constexpr std::uint64_t kAtOnce = 5;
constexpr std::size_t kRuns = 3;  // of one life at the same time
constexpr seconds kLifetime{6};
constexpr milliseconds kTtl{2000};
constexpr seconds kEndsWithin{90};  // that which is left alone

struct Place {
  Place(const std::string& address, const std::string& prefix)
      : client(etcd::Place{{"http://" + address}, prefix, "etcd://" + address + "/" + prefix}, {},
               transport),
        blobs(client, random) {}

  http::CurlTransport transport{"podctl-test"};
  RealRandom random;
  etcd::Client client;
  EtcdBlobs blobs;
};

JournalStoreOptions Options(const std::string& folder) {
  JournalStoreOptions options;
  options.run.who = fmt::format("run {}", ::getpid());
  options.patience = milliseconds(10'000);
  options.ttl = kTtl;
  options.compact_entries = 3;
  options.most_entries = 6;
  options.keep = 3;
  options.aside_folders = {folder};
  return options;
}

// Of two hosts, of which one does not see the other's processes.
LockHolder Holder(bool here) {
  const std::string host = here ? "here" : "there";
  const auto is_alive = [](int pid) { return ::kill(pid, 0) == 0; };
  return {host,
          "alice@" + host,
          ::getpid(),
          [is_alive](int pid, const std::string&) { return is_alive(pid); },
          fmt::format("{}/{}", host, ::getpid()),
          [is_alive, host](const std::string& mark) {
            return mark.starts_with(host + "/") &&
                   !is_alive(std::stoi(mark.substr(host.size() + 1)));
          }};
}

// What one process does. It tells what it is about to save, and what was acknowledged, in a file
// that outlives it. Returns its exit code.
int Run(const std::string& address, const std::string& folder, std::uint64_t seed) {
  std::mt19937_64 chance(seed);
  const auto below = [&](std::uint64_t bound) { return chance() % bound; };
  const int log = ::open((folder + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const auto tell = [&](const std::string& line) {
    return ::write(log, (line + "\n").data(), line.size() + 1) > 0;
  };
  Place place(address, std::filesystem::path(folder).filename());
  RealFileSystem files;
  RealClock clock;
  JournalStore store(place.blobs, files, clock, place.random, Holder(below(2) == 0),
                     RememberedKinds(), Options(folder));
  LockInfo info;
  info.operation = "apply";
  auto lock = store.Lock(info, seconds(10), {});
  if (!lock) return 0;
  auto loaded = store.Load();
  if (!loaded) {
    tell("error " + loaded.error().message);
    return loaded.error().code == ErrorCode::kUnavailable ? 0 : 1;
  }
  State state = loaded->state ? *loaded->state : SampleState();
  Generation at = loaded->generation;
  const std::uint64_t marks = 1 + below(8);
  for (std::uint64_t i = 0; i < marks && store.MayAct(); ++i) {
    State next = state;
    const std::string mark = fmt::format("mark-{}-{}", ::getpid(), i);
    Pods(next)[Addr("pod.research")].current.uid = mark;
    tell("meant " + mark);
    const auto saved =
        at.none() ? store.Save(next, &at) : store.Append(next, ChangesBetween(state, next), &at);
    if (!saved) break;
    tell(fmt::format("acknowledged {} {}", mark, at.token.substr(0, at.token.find(':'))));
    state = next;
    std::this_thread::sleep_for(milliseconds(below(300)));
  }
  if (below(2) == 0) store.EndRun();
  return 0;
}

class EtcdLife {
 public:
  EtcdLife(EtcdServer& server, std::string folder, std::uint64_t seed)
      : server_(server), folder_(std::move(folder)), chance_(seed) {
    std::filesystem::create_directories(folder_);
  }
  ~EtcdLife() {
    for (const auto& [pid, stopped] : runs_) ::kill(pid, SIGKILL);
    for (const auto& [pid, stopped] : runs_) ::waitpid(pid, nullptr, 0);
  }

  void Step() {
    Reap();
    if (runs_.size() < kRuns) return Begin();
    auto at = std::next(runs_.begin(), static_cast<std::ptrdiff_t>(Below(runs_.size())));
    switch (Below(40)) {
      case 0:
      case 1:
        ::kill(at->first, SIGKILL);
        ++killed_;
        break;
      case 2:
      case 3:
        ::kill(at->first, SIGSTOP);
        at->second = true;
        break;
      case 4:
        ::kill(at->first, SIGCONT);
        at->second = false;
        break;
      default:
        break;
    }
  }
  void LetGo() {
    for (auto& [pid, stopped] : runs_) ::kill(pid, SIGCONT);
  }
  bool IsOver() {
    Reap();
    return runs_.empty();
  }

  void Check() {
    ReadLog();
    Place place(server_.Address(), std::filesystem::path(folder_).filename());
    RealFileSystem files;
    RealClock clock;
    JournalStore store(place.blobs, files, clock, place.random, Holder(true), RememberedKinds(),
                       Options(folder_));
    const auto loaded = store.Load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto list = place.blobs.ListFrom("journal/", "", {});
    ASSERT_TRUE(list) << list.error().message;
    std::map<std::string, std::uint64_t> found;
    std::map<std::int64_t, std::string> writers;  // by epoch
    std::uint64_t last = 0;
    std::int64_t epoch = 0;
    std::string newest;
    for (const BlobEntry& listed : *list) {
      EXPECT_EQ(EntryNumber(listed.name), ++last);
      const auto blob = place.blobs.Get(listed.name, {});
      ASSERT_TRUE(blob && *blob);
      const Value entry = ParseJson((*blob)->bytes).value_or(Value());
      const std::int64_t now = entry["entry"]["epoch"].AsInt();
      EXPECT_GE(now, epoch) << listed.name << " follows a fence of another run";
      epoch = now;
      const std::string mark =
          entry["changes"]["pod.research"]["objects"].AsList().empty()
              ? ""
              : entry["changes"]["pod.research"]["objects"].AsList()[0]["uid"].AsString();
      if (!mark.starts_with("mark-")) continue;
      EXPECT_TRUE(meant_.contains(mark)) << mark;
      EXPECT_TRUE(found.emplace(mark, last).second) << mark << " stands there twice";
      const std::string run = mark.substr(0, mark.rfind('-'));
      EXPECT_EQ(writers.emplace(now, run).first->second, run) << "two runs write in epoch " << now;
      newest = mark;
    }
    for (const auto& [mark, number] : acknowledged_) {
      EXPECT_EQ(found[mark], number) << mark << " was acknowledged";
    }
    EXPECT_GT(acknowledged_.size(), 0U);
    if (!newest.empty()) {
      ASSERT_TRUE(loaded->state);
      State state = *loaded->state;
      EXPECT_EQ(Pods(state)[Addr("pod.research")].current.uid, newest);
    }
    std::cout << fmt::format("{}: {} runs, {} killed, {} entries, {} acknowledged\n",
                             std::filesystem::path(folder_).filename().string(), begun_, killed_,
                             last, acknowledged_.size());
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
      ::_exit(Run(server_.Address(), folder_, seed));
    }
    ASSERT_GT(pid, 0);
    runs_[pid] = false;
    ++begun_;
  }
  void Reap() {
    for (auto at = runs_.begin(); at != runs_.end();) {
      int status = 0;
      if (::waitpid(at->first, &status, WNOHANG) != at->first) {
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
  void ReadLog() {
    std::istringstream lines(Log());
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string what;
      std::string mark;
      std::uint64_t number = 0;
      words >> what >> mark;
      if (what == "meant") meant_.insert(mark);
      if (what == "acknowledged" && words >> number) acknowledged_[mark] = number;
    }
  }

  EtcdServer& server_;
  const std::string folder_;
  std::mt19937_64 chance_;
  std::map<pid_t, bool> runs_;  // and whether each is stopped
  std::set<std::string> meant_;
  std::map<std::string, std::uint64_t> acknowledged_;
  int begun_ = 0;
  int killed_ = 0;
};

std::uint64_t Wish(const char* variable, std::uint64_t otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? std::stoull(value) : otherwise;
}

TEST(EtcdLives, NothingAcknowledgedIsLostAndNoRunWritesAfterAnothersFence) {
  const std::uint64_t count =
      Wish("PODCTL_TEST_SEEDS", std::getenv("PODCTL_TEST_ALL") != nullptr ? kAllLives : kLives);
  const std::uint64_t first = Wish("PODCTL_TEST_SEED", 1);
  for (std::uint64_t seed = first; seed < first + count; seed += kAtOnce) {
    auto server = EtcdServer::Start();
    ASSERT_TRUE(server);
    std::vector<std::unique_ptr<EtcdLife>> lives;
    for (std::uint64_t i = 0; i < std::min(kAtOnce, first + count - seed); ++i) {
      lives.push_back(std::make_unique<EtcdLife>(
          *server, fmt::format("{}/life-{}", server->Folder(), seed + i), seed + i));
    }
    const auto begin = Steady::now();
    for (bool restarted = false; Steady::now() - begin < kLifetime;) {
      for (const auto& life : lives) life->Step();
      std::this_thread::sleep_for(milliseconds(25));
      if (!restarted && Steady::now() - begin > kLifetime / 2) {
        ASSERT_TRUE(server->Restart());
        restarted = true;
      }
    }
    for (const auto& life : lives) life->LetGo();
    const auto end = Steady::now() + kEndsWithin;
    for (const auto& life : lives) {
      while (!life->IsOver() && Steady::now() < end) {
        std::this_thread::sleep_for(milliseconds(25));
      }
      EXPECT_TRUE(life->IsOver()) << "a run does not end";
      life->Check();
    }
    ASSERT_FALSE(HasFailure()) << "PODCTL_TEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace podctl::testing
