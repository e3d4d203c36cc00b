// What is relied on inside libssh2, and what is done where another libssh2 works otherwise.
#include "providers/ssh/libssh2/session_hooks.h"

#include <gtest/gtest.h>

#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/ssh/libssh2/fan_out.h"
#include "tests/support/recording_ssh_observer.h"
#include "tests/support/ssh_server.h"

namespace podctl::testing {
namespace {

class Pretended {
 public:
  explicit Pretended(bool seen) { ssh::PretendExitStatusIsSeen(seen); }
  ~Pretended() { ssh::PretendExitStatusIsSeen(std::nullopt); }
  Pretended(const Pretended&) = delete;
  Pretended& operator=(const Pretended&) = delete;
};

class Runs {
 public:
  ssh::WorkerResult operator()(const SshServer& server, const std::string& command) {
    RecordingObserver observer;
    return fan_out_.Run({{server.Access(), command, nullptr}}, {}, observer, {}).at(0);
  }
  std::vector<std::string> warnings;

 private:
  FixedEnvironment environment_{{}};
  RealFileSystem files_;
  RealClock clock_;
  RealRandom random_;
  ssh::Keyring keyring_{environment_, files_};
  ssh::FanOut fan_out_{keyring_, clock_, random_,
                       [this](const std::string& text) { warnings.push_back(text); }};
};

TEST(SessionHooksTest, ThisLibssh2ShowsWhetherAnExitStatusCame) {
  EXPECT_TRUE(ssh::ExitStatusIsSeen());
  EXPECT_EQ(ssh::ExitStatusWarning(), "");
  const SshServer server;
  Runs run;
  EXPECT_TRUE(run(server, "true").ok());
  EXPECT_TRUE(run.warnings.empty());
}

TEST(SessionHooksTest, OneThatDoesNotIsWarnedOfOnceAndBelieved) {
  const Pretended hidden(false);
  const SshServer server;
  Runs run;
  EXPECT_EQ(run(server, "exit 7").exit_code, 7);
  EXPECT_TRUE(run(server, "true").ok());
  EXPECT_EQ(run(server, "kill -KILL $$").outcome, ssh::Outcome::kSignaled);
  ASSERT_EQ(run.warnings.size(), 1U);
  EXPECT_EQ(run.warnings[0], ssh::ExitStatusWarning());
}

}  // namespace
}  // namespace podctl::testing
