// What `podctl tunnel` forwards, and how --open finds the way in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "plans/fleet/tunnel/tunnels.h"
#include "plans/kinds/pod/spec.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Open = WantedTunnel::Open;
using testing::FakeTransport;

PodTarget Target(int workers) {
  PodTarget target;
  target.address = "pod.research";
  for (int i = 0; i < workers; ++i) {
    WorkerAccess worker;
    worker.pod = "research";
    worker.index = i;
    worker.user = "alice";
    target.workers.push_back(worker);
  }
  return target;
}

TunnelSpec Tunnel(const std::string& name, int worker, int remote, const std::string& open = "") {
  TunnelSpec tunnel;
  tunnel.name = name;
  tunnel.worker = worker;
  tunnel.remote = tunnel.local = remote;
  tunnel.open = open;
  return tunnel;
}

std::string Text(const Result<std::vector<WantedTunnel>>& wanted) {
  if (!wanted) return wanted.error().message + " | " + wanted.error().hint;
  std::string text;
  for (const WantedTunnel& each : *wanted) {
    text += each.worker.Name() + " " + std::to_string(each.forward.local_port) + ":" +
            std::to_string(each.forward.remote_port) + " " +
            std::to_string(static_cast<int>(each.open)) + "; ";
  }
  return text;
}

class WantedTest : public ::testing::Test {
 protected:
  std::string Choose(const std::vector<std::string>& words, const std::string& workers = "") {
    TunnelOptions options;
    options.pod = "research";
    options.ports = words;
    options.workers = workers;
    options.open = open_;
    return Text(ChooseTunnels(options, Target(4), tunnels_));
  }
  std::vector<TunnelSpec> tunnels_ = {Tunnel("jupyter", 0, 8888, "jupyter"),
                                      Tunnel("board", 2, 6006, "http"), Tunnel("", 3, 9000)};
  std::string open_;
};

TEST_F(WantedTest, PortsNamesOrAllThatTheSpecSays) {
  EXPECT_EQ(Choose({"8888", "0:6006"}), "research/0 8888:8888 0; research/0 0:6006 0; ");
  EXPECT_EQ(Choose({"8888"}, "1"), "research/1 8888:8888 0; ");
  EXPECT_EQ(Choose({"board", "80"}), "research/2 6006:6006 0; research/0 80:80 0; ");
  EXPECT_EQ(Choose({}), "research/0 8888:8888 0; research/2 6006:6006 0; research/3 9000:9000 0; ");
  EXPECT_EQ(Choose({"jupyter"}, "1"), "research/1 8888:8888 0; ") << "the command line prevails";
}

TEST_F(WantedTest, OnlyWhatIsToBeOpenedIsOpened) {
  open_ = "url";
  EXPECT_EQ(Choose({}), "research/0 8888:8888 2; research/2 6006:6006 3; research/3 9000:9000 0; ");
  EXPECT_EQ(Choose({"9000", "80"}), "research/0 9000:9000 1; research/0 80:80 0; ")
      << "of ports alone the first, whatever it is";
}

TEST_F(WantedTest, WhatCannotBeForwardedIsSaid) {
  EXPECT_THAT(Choose({"jupiter"}), HasSubstr("Did you mean `jupyter`?"));
  EXPECT_THAT(Choose({"99999"}), HasSubstr("`99999` is not a port to forward"));
  EXPECT_THAT(Choose({"80"}, "0-1"), HasSubstr("a tunnel leads to one worker"));
  EXPECT_THAT(Choose({"80"}, "4"), HasSubstr("`--worker 4`"));
  tunnels_ = {Tunnel("far", 7, 80)};
  EXPECT_THAT(Choose({}), HasSubstr("7"));
  tunnels_.clear();
  EXPECT_EQ(Choose({}),
            "no port is named, and pod `research` has no `tunnels` in the spec | Name one: podctl "
            "tunnel research 8888");
}

// A worker that answers each command with the same lines.
class FakeWorker final : public ssh::Transport {
 public:
  std::vector<ssh::WorkerResult> Run(const std::vector<ssh::Job>&, const ssh::Limits&,
                                     ssh::Observer& observer, std::stop_token) override {
    ++asked;
    for (const std::string& line : lines) observer.OnLine(0, ssh::Stream::kOut, line);
    ssh::WorkerResult result;
    result.outcome = ssh::Outcome::kExited;
    return {result};
  }
  std::vector<std::string> lines;
  int asked = 0;
};

constexpr const char* kColab = "https://colab.research.google.com";

class DoorTest : public ::testing::Test {
 protected:
  Result<OpenedDoor> OpenIt(Open open = Open::kJupyter) {
    Door door;
    door.local_port = 9999;
    door.remote_port = 8888;
    door.open = open;
    door.worker = Target(1).workers[0];
    const DoorWorld world{http_, worker_, clock_,
                          [this](const std::string& text) { waits_.push_back(text); }};
    return OpenDoor(door, world, stop_.get_token());
  }
  void Serve(const std::string& entry) { worker_.lines = {"podctl-notebooks 1", entry, "end"}; }

  FakeTransport http_;
  FakeWorker worker_;
  testing::FakeClock clock_;
  std::stop_source stop_;
  std::vector<std::string> waits_;
};

TEST_F(DoorTest, AJupyterIsEnteredWithItsTokenAndColabIsLetIn) {
  Serve(R"({"port": 8888, "token": "a b&c", "base_url": "/x"})");
  http_.Then(200).Then(200).Then(200, "{}", {{"access-control-allow-origin", kColab}});
  const auto opened = OpenIt();
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->url, "http://127.0.0.1:9999/x/?token=a%20b%26c");
  EXPECT_EQ(opened->colab_url, "http://localhost:9999/x/?token=a%20b%26c");
  EXPECT_THAT(opened->remarks, IsEmpty());
  EXPECT_EQ(http_.requests().at(1).url, "http://127.0.0.1:9999/x/api/status");
  EXPECT_EQ(http_.Header(1, "Authorization"), "token a b&c");
  EXPECT_EQ(http_.Header(2, "Origin"), kColab);
}

TEST_F(DoorTest, WhereColabIsNotLetInThatIsSaid) {
  Serve(R"({"port": 8888, "token": "t"})");
  http_.Then(200).Then(200).Then(404);
  const auto opened = OpenIt();
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->colab_url, "");
  EXPECT_THAT(opened->remarks, ElementsAre(HasSubstr("Colab is not let in")));
}

TEST_F(DoorTest, ATokenThatIsRefusedIsSaid) {
  Serve(R"({"port": 8888, "token": "t"})");
  http_.Then(200).Then(403);
  const auto opened = OpenIt();
  ASSERT_TRUE(opened);
  EXPECT_THAT(opened->remarks, ElementsAre(HasSubstr("does not accept the token")));
}

TEST_F(DoorTest, ItIsWaitedForAndSaidOnce) {
  for (int i = 0; i < 30; ++i) http_.Then(ErrorCode::kUnavailable);
  http_.Then(302);
  const auto opened = OpenIt(Open::kHttp);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->url, "http://127.0.0.1:9999/");
  EXPECT_THAT(waits_, ElementsAre("port 8888 of research/0 does not answer HTTP yet; waiting"));
  EXPECT_EQ(worker_.asked, 0);
}

TEST_F(DoorTest, NobodyIsWaitedForForEver) {
  http_.Then(ErrorCode::kReplyLost);
  const auto opened = OpenIt();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDeadlineExceeded);
}

TEST_F(DoorTest, AJupyterOfSomebodyElseIsToldWithoutAToken) {
  Serve(R"({"port": 8889, "token": "of another port"})");
  http_.Then(200);
  const auto opened = OpenIt();
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->url, "http://127.0.0.1:9999/");
  EXPECT_THAT(opened->remarks,
              ElementsAre(HasSubstr("No Jupyter of alice's listens on port 8888")));
  EXPECT_EQ(worker_.asked, 5);
  // What need not be one is no reason for words.
  const auto anything = OpenIt(Open::kAnything);
  ASSERT_TRUE(anything);
  EXPECT_THAT(anything->remarks, IsEmpty());
  EXPECT_EQ(worker_.asked, 6);
}

TEST_F(DoorTest, StopEndsIt) {
  http_.Then([this](const http::Request&) -> Result<http::Response> {
    stop_.request_stop();
    return MakeError(ErrorCode::kUnavailable, "");
  });
  const auto opened = OpenIt();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kCancelled);
}

TEST(Browser, IsTheUsersOrTheDesktops) {
  const std::string url = "http://127.0.0.1:1/?token=a'b";
  const auto command = [&](std::map<std::string, std::string> env) {
    return BrowserCommand(FixedEnvironment(std::move(env)), url).value_or("none");
  };
  EXPECT_EQ(command({}), "none");
  EXPECT_EQ(command({{"DISPLAY", ":0"}}), R"(xdg-open 'http://127.0.0.1:1/?token=a'\''b')");
  EXPECT_THAT(command({{"WAYLAND_DISPLAY", "wayland-0"}}), HasSubstr("xdg-open"));
  EXPECT_EQ(command({{"BROWSER", "w3m"}}), R"(w3m 'http://127.0.0.1:1/?token=a'\''b')");
  EXPECT_THAT(command({{"BROWSER", "x -u %s -n:y"}}), HasSubstr("x -u 'http"));
}

TEST(Browser, IsStartedInTheBackgroundAndMissedAloud) {
  RealProcessRunner processes;
  const std::string file = ::testing::TempDir() + "podctl-browser-" + std::to_string(getpid());
  // It takes its time, and is there when the shell that started it is long gone.
  ASSERT_TRUE(StartBrowser(processes, "sh -c 'sleep 0.2; touch " + file + "'"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!std::filesystem::exists(file) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(std::filesystem::remove(file));
  const auto missing = StartBrowser(processes, "no-such-browser http://x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "no browser was opened: there is no program `no-such-browser`");
}

}  // namespace
}  // namespace podctl
