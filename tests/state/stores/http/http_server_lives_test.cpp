// Lives of a state on a real Gitea (server_lives.h), or, where there is none, on the tests' double
// of it, which keeps nothing over a kill and so is not killed. Each save says which one it follows:
// the versions that the server keeps are one line, in which nothing acknowledged is missing.
// Locks do not run out there: who finds one whose process has ended unlocks it.
#include <iostream>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "providers/http/curl_transport.h"
#include "state/state_json.h"
#include "state/stores/http/http_store.h"
#include "tests/state/stores/server_lives.h"
#include "tests/support/addresses.h"
#include "tests/support/forked_server.h"
#include "tests/support/gitea_server.h"
#include "tests/support/sample_state.h"
#include "tests/support/state_server.h"

namespace podctl::testing {
namespace {

using LetGo = std::function<void()>;

// What one process has: a store, and all that it rests on.
struct HttpWay {
  HttpWay(const HttpPlace& place, bool here, const std::string& folder)
      : store(place, HttpStoreDoors{transport, files, clock, random}, LiveHolder(here),
              RememberedKinds(), HttpStoreOptions{5, {folder}}),
        client(place, transport, clock, random, {}) {}

  http::CurlTransport transport{"podctl-test"};
  RealFileSystem files;
  RealClock clock;
  RealRandom random;
  HttpStore store;
  HttpStateClient client;
};

class LiveHttp : public LiveServer {
 public:
  virtual HttpPlace Place(const std::string& state) const = 0;

  int Run(const std::string& state, const std::string& folder, std::uint64_t seed) override {
    std::mt19937_64 chance(seed);
    const auto below = [&](std::uint64_t bound) { return chance() % bound; };
    LifeLog log(folder);
    HttpWay way(Place(state), below(2) == 0, folder);
    LockInfo info;
    info.operation = "apply";
    auto lock = way.store.Lock(info, std::chrono::seconds(1), {});
    if (!lock && lock.error().code == ErrorCode::kLocked && UnlockTheDead(way)) {
      lock = way.store.Lock(info, std::chrono::seconds(1), {});
    }
    if (!lock) return 0;
    auto loaded = way.store.Load();
    if (!loaded) {
      log.Tell("error " + loaded.error().message);
      return loaded.error().code == ErrorCode::kDataLoss ? 1 : 0;
    }
    State now = loaded->state ? *loaded->state : SampleState();
    Generation at = loaded->generation;
    const std::uint64_t marks = 1 + below(8);
    for (std::uint64_t i = 0; i < marks; ++i) {
      State next = now;
      const std::string mark = fmt::format("mark-{}-{}", ::getpid(), i);
      const std::string before = Pods(now)[Addr("pod.research")].current.uid;
      Pods(next)[Addr("pod.research")].current.uid = mark;
      Pods(next)[Addr("pod.other")].current.uid = before;
      log.Meant(mark);
      if (!way.store.Save(next, &at)) break;
      log.Acknowledged(mark, std::to_string(next.serial));
      now = next;
      std::this_thread::sleep_for(std::chrono::milliseconds(below(300)));
    }
    return 0;
  }

  std::uint64_t Check(const std::string& state, const LifeTale& tale) override {
    HttpWay way(Place(state), true, Folder());
    const auto loaded = way.store.Load();
    EXPECT_TRUE(loaded) << loaded.error().message;
    if (!loaded || !loaded->state) return 0;
    std::map<std::string, std::uint64_t> found;
    std::string last = "4711";  // of the sample
    for (std::uint64_t serial = 1; serial <= loaded->state->serial; ++serial) {
      const auto text = way.client.ReadSerial(serial, {});
      EXPECT_TRUE(text && *text) << "version " << serial << " is missing";
      if (!text || !*text) continue;
      auto version = StateFromJson(**text, "the server", RememberedKinds());
      EXPECT_TRUE(version) << version.error().message;
      if (!version) continue;
      const std::string mark = Pods(*version)[Addr("pod.research")].current.uid;
      EXPECT_TRUE(tale.meant.contains(mark)) << mark;
      EXPECT_TRUE(found.emplace(mark, serial).second) << mark << " stands there twice";
      EXPECT_EQ(Pods(*version)[Addr("pod.other")].current.uid, last)
          << mark << " was written over what it never saw";
      last = mark;
    }
    for (const auto& [mark, number] : tale.acknowledged) {
      EXPECT_EQ(found[mark], number) << mark << " was acknowledged";
    }
    return found.size();
  }

 private:
  // Somebody who sees all processes of both hosts.
  static bool UnlockTheDead(HttpWay& way) {
    const auto holder = way.store.Holder();
    return holder && holder->pid > 0 && ::kill(holder->pid, 0) != 0 &&
           way.store.ForceUnlock(holder->id);
  }
};

HttpPlace PlaceAt(const std::string& url, const std::string& user, const std::string& password) {
  auto place = FindHttpPlace(
      url, FixedEnvironment({{"TF_HTTP_USERNAME", user}, {"TF_HTTP_PASSWORD", password}}));
  EXPECT_TRUE(place) << place.error().message;
  return place ? *place : HttpPlace{};
}

class LiveGitea final : public LiveHttp {
 public:
  explicit LiveGitea(std::unique_ptr<GiteaServer> server) : server_(std::move(server)) {}
  const std::string& Folder() const override { return server_->Folder(); }
  bool Restart() override { return server_->Restart(); }
  HttpPlace Place(const std::string& state) const override {
    return PlaceAt(
        fmt::format("http://127.0.0.1:{}{}", server_->port(), GiteaServer::PathOf(state)),
        GiteaServer::kUser, GiteaServer::kPassword);
  }

 private:
  std::unique_ptr<GiteaServer> server_;
};

// One double for each life: it has one state.
class LiveDouble final : public LiveHttp {
 public:
  LiveDouble() {
    std::string pattern = (std::filesystem::temp_directory_path() / "podctl-http-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    for (int i = 0; i < kServers; ++i) {
      const std::string told = fmt::format("{}/url-{}", folder_, i);
      servers_.push_back(std::make_unique<ForkedServer>([told](int ready) {
        StateServer server(StateServer::Kind::kGitea);
        const StateServerOnPort port(server);
        std::ofstream(told) << port.url() << std::endl;
        if (::write(ready, "x", 1) != 1) return;
        ::close(ready);
        for (;;) ::pause();
      }));
      EXPECT_TRUE(servers_.back()->Start());
      std::string url;
      std::ifstream(told) >> url;
      urls_.push_back(url);
    }
  }
  ~LiveDouble() override {
    servers_.clear();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  const std::string& Folder() const override { return folder_; }
  bool Restart() override { return true; }
  HttpPlace Place(const std::string& state) const override {
    const auto seed = std::stoull(state.substr(state.find('-') + 1));
    return PlaceAt(urls_[seed % kServers], StateServer::kUser, StateServer::kPassword);
  }

 private:
  static constexpr int kServers = 5;  // as many as lives at once

  std::string folder_;
  std::vector<std::unique_ptr<ForkedServer>> servers_;
  std::vector<std::string> urls_;
};

std::unique_ptr<LiveHttp> StartHttp() {
  if (GiteaServer::Program().empty()) {
    std::cout << "There is no Gitea (gitea in PATH, or its path in PODCTL_GITEA): its double "
                 "serves.\n";
    return std::make_unique<LiveDouble>();
  }
  auto server = GiteaServer::Start();
  EXPECT_TRUE(server) << server.error().message;
  return server ? std::make_unique<LiveGitea>(*std::move(server)) : nullptr;
}

TEST(HttpServerLives, NothingAcknowledgedIsLostAndTheVersionsAreOneLine) {
  PlayServerLives(StartHttp);
}

// Starts so many processes, lets all of them go on at once from where they wait, and returns how
// many ended with each exit code.
std::map<int, int> RunAtOnce(int count, const std::function<int(int, const LetGo&)>& run) {
  int gate[2];
  EXPECT_EQ(::pipe(gate), 0);
  std::vector<pid_t> pids;
  for (int i = 0; i < count; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(gate[1]);
      ::_exit(run(i, [&gate] {
        char byte = 0;
        (void)!::read(gate[0], &byte, 1);  // until nobody holds the other end
      }));
    }
    pids.push_back(pid);
  }
  ::close(gate[0]);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // most of them wait by now
  ::close(gate[1]);
  std::map<int, int> codes;
  for (const pid_t pid : pids) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    ++codes[WIFEXITED(status) ? WEXITSTATUS(status) : -1];
  }
  return codes;
}

TEST(HttpServerLives, OfTwentyProcessesAtOnceOneIsFirstAndWithTheLockAllComeThrough) {
  constexpr int kProcesses = 20;
  constexpr int kOvertaken = 3;
  const auto server = StartHttp();
  ASSERT_TRUE(server);
  const HttpPlace place = server->Place("life-0");
  const auto add = [](HttpWay& way, int number, const LetGo& wait) {
    const auto loaded = way.store.Load();
    if (!loaded) return 1;
    State state = loaded->state.value_or(State{});
    Generation at = loaded->generation;
    wait();
    Pods(state)[Addr(fmt::format("pod.p{}", number))].current.uid = std::to_string(number);
    const auto saved = way.store.Save(state, &at);
    if (saved) return 0;
    return saved.error().code == ErrorCode::kFailedPrecondition ? kOvertaken : 1;
  };
  const auto first = RunAtOnce(kProcesses, [&](int number, const LetGo& wait) {
    HttpWay way(place, true, server->Folder());
    return add(way, number, wait);
  });
  EXPECT_GE(first.contains(0) ? first.at(0) : 0, 1);
  EXPECT_FALSE(first.contains(1));
  EXPECT_FALSE(first.contains(-1));
  std::uint64_t saves = static_cast<std::uint64_t>(first.at(0));

  const auto all = RunAtOnce(kProcesses, [&](int number, const LetGo& wait) {
    HttpWay way(place, number % 2 == 0, server->Folder());
    wait();
    LockInfo info;
    info.operation = "apply";
    const auto lock = way.store.Lock(info, std::chrono::minutes(5), {});
    return lock ? add(way, 100 + number, [] {}) : 2;
  });
  EXPECT_EQ(all, (std::map<int, int>{{0, kProcesses}}));
  saves += kProcesses;
  HttpWay way(place, true, server->Folder());
  const auto loaded = way.store.Load();
  ASSERT_TRUE(loaded && loaded->state);
  State state = *loaded->state;
  EXPECT_EQ(state.serial, saves);
  EXPECT_EQ(Pods(state).size(), saves);
}

}  // namespace
}  // namespace podctl::testing
