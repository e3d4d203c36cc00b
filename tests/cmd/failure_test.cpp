// How commands end that cannot do what they were told: in one way, whichever it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <sstream>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "cmd/arguments.h"
#include "cmd/interrupt.h"
#include "cmd/reporter.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "tests/support/fake_clock.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

struct Ended {
  int code = -1;
  std::string out;
  std::string err;
};

Ended End(Words words) {
  // There is no state, and so no pod.
  words.insert(words.begin(), {"--state", ::testing::TempDir() + "no-such-state.json"});
  const auto parsed = ParseArguments(words);
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{out, err};
  const auto* wrong = std::get_if<UsageError>(&parsed);
  const int code = wrong != nullptr ? ShowUsageError(*wrong, words, streams)
                                    : Dispatch(std::get<Invocation>(parsed), streams);
  return {code, out.str(), err.str()};
}

TEST(Failure, EveryCommandEndsInTheSameWay) {
  const std::vector<Words> lines = {
      {"doctor", "none"},
      {"drain", "none"},
      {"jobs", "none"},
      {"logs", "none", "job"},
      {"kill", "none", "job"},
      {"exec", "none", "x"},
      {"ssh", "none"},
      {"cp", "none:x", "."},
      {"tunnel", "none", "8888"},
      {"exec", "none", "x", "--detach", "job"},
      {"run", "none"},
      {"state", "show", "pod.none"},
      {"state", "list", "pod.none"},
      {"state", "rm", "pod.none"},
      {"unlock", "none"},
      {"show", "none.plan"},
      {"apply", "none.plan", "--auto-approve"},
      {"init", "--template", "none"},
      {"init", "--from-command", "none"},
      {"help", "none"},
      {"emulator", "--listen", "none"},
      {"versions"},
      {"plan", "--none"},
      {"none"},
  };
  for (const Words& line : lines) {
    const Ended text = End(line);
    EXPECT_EQ(text.code, 1) << Join(line, " ");
    EXPECT_EQ(text.out, "") << Join(line, " ");
    EXPECT_THAT(text.err, HasSubstr("Error: ")) << Join(line, " ");
    Words with_json = {"--json"};
    with_json.insert(with_json.end(), line.begin(), line.end());
    const Ended json = End(with_json);
    EXPECT_EQ(json.code, 1) << Join(line, " ");
    ASSERT_NE(json.out, "") << Join(line, " ");
    EXPECT_EQ(json.err, "") << Join(line, " ");
    const auto event = ParseJson(SplitLines(json.out).back());
    ASSERT_TRUE(event) << Join(line, " ") << ": " << json.out;
    EXPECT_EQ((*event)["type"].AsString(), "diagnostic") << Join(line, " ");
    EXPECT_EQ((*event)["@level"].AsString(), "error") << Join(line, " ");
    EXPECT_THAT(text.err, HasSubstr((*event)["diagnostic"]["summary"].AsString()))
        << Join(line, " ");
  }
}

TEST(Failure, AnInterruptIsToldInTheFormOfEverythingElse) {
  Interrupt interrupt;
  std::promise<void> noticed;
  const std::stop_callback on_drain(interrupt.drain(), [&noticed] { noticed.set_value(); });
  raise(SIGINT);
  noticed.get_future().wait();
  for (const bool json : {false, true}) {
    std::ostringstream out;
    std::ostringstream err;
    Streams streams{out, err};
    streams.json = json;
    testing::FakeClock clock;
    const auto reporter = MakeReporter(streams, clock, interrupt.drain());
    EXPECT_EQ(reporter->ShowFailure(MakeError(ErrorCode::kCancelled, "interrupted")), 130);
    if (!json) {
      EXPECT_EQ(err.str(), "Interrupted. Nothing was changed.\n");
      EXPECT_EQ(out.str(), "");
      continue;
    }
    EXPECT_EQ(err.str(), "");
    const auto event = ParseJson(out.str());
    ASSERT_TRUE(event) << out.str();
    EXPECT_EQ((*event)["type"].AsString(), "log");
    EXPECT_EQ((*event)["@level"].AsString(), "info");
    EXPECT_EQ((*event)["@message"].AsString(), "Interrupted. Nothing was changed.");
  }
}

TEST(Failure, TheCodesAreThoseOfTheTable) {
  std::ostringstream ignored;
  Streams streams{ignored, ignored};
  testing::FakeClock clock;
  const auto reporter = MakeReporter(streams, clock, {});
  EXPECT_EQ(reporter->FailedExitCode(), 1) << "nothing was shown";
  const auto code_of = [&](ErrorCode code) { return reporter->ShowFailure(MakeError(code, "x")); };
  EXPECT_EQ(code_of(ErrorCode::kLocked), 3);
  EXPECT_EQ(code_of(ErrorCode::kStalePlan), 4);
  EXPECT_EQ(code_of(ErrorCode::kInterrupted), 130);
  for (const ErrorCode code : {ErrorCode::kNotFound, ErrorCode::kIo, ErrorCode::kUnavailable,
                               ErrorCode::kFailedPrecondition, ErrorCode::kCancelled}) {
    EXPECT_EQ(code_of(code), 1) << ErrorCodeName(code);
  }
}

}  // namespace
}  // namespace podctl
