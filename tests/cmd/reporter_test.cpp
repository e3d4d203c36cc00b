// The three forms in which a command speaks: who says what where.
#include "cmd/reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "providers/base/text.h"
#include "tests/support/fake_clock.h"

namespace podctl {
namespace {

using testing::FakeClock;
using ::testing::HasSubstr;
using ::testing::Not;

class ReporterTest : public ::testing::Test {
 protected:
  Reporter& Json() {
    streams_.json = true;
    return Make();
  }
  Reporter& Make() { return *(reporter_ = MakeReporter(streams_, clock_, {})); }

  // The events on standard output, each "type: message".
  std::vector<std::string> Events() const {
    std::vector<std::string> events;
    for (const std::string& line : SplitLines(out_.str())) {
      const auto event = ParseJson(line);
      if (!event) ADD_FAILURE() << line;
      if (event) {
        events.push_back((*event)["type"].AsString() + ": " + (*event)["@message"].AsString());
      }
    }
    return events;
  }

  FakeClock clock_;
  std::ostringstream out_;
  std::ostringstream err_;
  Streams streams_{out_, err_};
  std::unique_ptr<Reporter> reporter_;
};

TEST_F(ReporterTest, WhoWaitsIsToldWhoseRunItIsAndWhereAPipelinesIs) {
  LockInfo holder;
  holder.who = "root@runner";
  holder.pid = 7;
  holder.command = "podctl apply";
  Reporter& reporter = Make();
  reporter.TellLockWait(holder, std::chrono::milliseconds(0));
  EXPECT_THAT(err_.str(), HasSubstr("Waiting for root@runner (process 7, podctl apply)\n"));
  holder.run_url = "https://github.com/o/r/actions/runs/7";
  reporter.TellLockWait(holder, std::chrono::seconds(10));
  EXPECT_THAT(err_.str(), HasSubstr("Still waiting for root@runner (https://github.com/o/r/actions/"
                                    "runs/7, podctl apply)... [10s elapsed]\n"));
}

TEST_F(ReporterTest, PeopleReadWhatWentWrongBesideTheResult) {
  Reporter& reporter = Make();
  reporter.Begin();
  reporter.ShowWarning("a warning", "in detail");
  reporter.ShowError("", MakeError(ErrorCode::kLocked, "no lock"));
  reporter.Note("a remark");
  reporter.TellInterrupted();
  EXPECT_EQ(out_.str(), "");
  for (const char* text : {"Warning: a warning", "Error: no lock", "a remark\n",
                           "Interrupted. Nothing was changed.\n"}) {
    EXPECT_THAT(err_.str(), HasSubstr(text));
  }
  EXPECT_EQ(reporter.FailedExitCode(), 3);
}

TEST_F(ReporterTest, ARunIsToldInEvents) {
  Reporter& reporter = Json();
  reporter.Begin();
  reporter.ShowWarning("a warning", "");
  reporter.ShowError("", MakeError(ErrorCode::kLocked, "no lock"));
  reporter.Note("a remark");
  reporter.TellInterrupted();
  const auto events = Events();
  ASSERT_EQ(events.size(), 5U);
  EXPECT_THAT(events[0], HasSubstr("version: podctl "));
  EXPECT_EQ(events[1], "diagnostic: Warning: a warning");
  EXPECT_EQ(events[2], "diagnostic: Error: no lock");
  EXPECT_EQ(events[3], "log: a remark");
  EXPECT_EQ(events[4], "log: Interrupted. Nothing was changed.");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ReporterTest, BesideADocumentOnlyAnErrorIsAnEvent) {
  Reporter& reporter = Json();
  reporter.ShowWarning("a warning", "");
  reporter.Note("a remark");
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("Warning: a warning"));
  EXPECT_THAT(err_.str(), HasSubstr("a remark\n"));
  reporter.ShowError("", MakeError(ErrorCode::kNotFound, "not here"));
  EXPECT_EQ(Events(), std::vector<std::string>{"diagnostic: Error: not here"});
  EXPECT_THAT(err_.str(), Not(HasSubstr("not here")));
}

TEST_F(ReporterTest, ADocumentNamesItsFormat) {
  const auto document = [] {
    Value value = Value::EmptyMap();
    value.Set("a", 1);
    return value;
  };
  const auto text = [](Streams& streams) { streams.out << "a is 1\n"; };
  EXPECT_FALSE(Make().Document(document, text));
  EXPECT_EQ(out_.str(), "a is 1\n");
  EXPECT_FALSE(Make().Event(document));
  out_.str("");
  EXPECT_TRUE(Json().Document(document, text));
  EXPECT_EQ(out_.str(), "{\n  \"a\": 1,\n  \"format_version\": \"1.0\"\n}\n");
  out_.str("");
  EXPECT_TRUE(Json().Event(document));
  EXPECT_EQ(out_.str(), "{\"a\":1}\n");
}

TEST_F(ReporterTest, ACommentHoldsWhatWasSaidOfThePlan) {
  reporter_ = MakeMarkdownReporter(streams_, clock_, {});
  reporter_->Begin();
  reporter_->ShowError("", MakeError(ErrorCode::kIo, "the spec is gone"));
  reporter_->Note("a remark");
  EXPECT_EQ(out_.str(), "");
  reporter_->End();
  EXPECT_THAT(out_.str(), HasSubstr("the spec is gone"));
  EXPECT_THAT(err_.str(), HasSubstr("the spec is gone"));
  out_.str("");
  reporter_->TellSaved("x.plan", {"token"}, "sha256:0");
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("Saved the plan to: x.plan"));
  EXPECT_THAT(err_.str(), HasSubstr("    podctl apply x.plan --var token=…\n"));
  EXPECT_THAT(err_.str(), HasSubstr("apply has to be given token again"));
}

}  // namespace
}  // namespace podctl
