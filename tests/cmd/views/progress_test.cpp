// What is seen during an apply: plain lines in a log, live lines on a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cmd/interrupt.h"
#include "cmd/views/apply_view.h"
#include "cmd/views/gathered_steps.h"
#include "plans/kinds/pod/change.h"
#include "plans/kinds/step/change.h"
#include "providers/bootstrap/step_runner.h"
#include "tests/support/addresses.h"
#include "tests/support/fake_clock.h"
#include "tests/support/golden.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ExpectGolden;
using ::testing::HasSubstr;
using testing::KindNamed;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

// A terminal of 80 columns that knows what the view uses of ECMA-48: cursor up, carriage return,
// erase line. What scrolled out is kept, so `Screen` is all a user sees when scrolling back.
class Terminal {
 public:
  void Write(const std::string& text) {
    for (std::size_t i = 0; i < text.size();) {
      if (text[i] == '\x1b') {
        i = Escape(text, i);
      } else if (text[i] == '\n') {
        ++row_;
        column_ = 0;
        ++i;
      } else if (text[i] == '\r') {
        column_ = 0;
        ++i;
      } else {
        if (row_ >= rows_.size()) rows_.resize(row_ + 1);
        rows_[row_].resize(std::max(rows_[row_].size(), column_));
        rows_[row_].replace(column_, 1, 1, text[i]);
        ++column_;
        ++i;
      }
    }
  }
  std::string Screen() const {
    std::string screen;
    for (const std::string& row : rows_) screen += row + "\n";
    return screen;
  }

 private:
  std::size_t Escape(const std::string& text, std::size_t at) {
    const auto end = text.find_first_of("AJmK", at);
    EXPECT_NE(end, std::string::npos);
    if (text[end] == 'A') {
      const auto up = static_cast<std::size_t>(std::stoi(text.substr(at + 2)));
      EXPECT_LE(up, row_) << "the cursor leaves the screen";
      row_ -= std::min(up, row_);
    } else if (text[end] == 'J') {
      ADD_FAILURE() << "what is erased so may stay in the terminal's history";
    } else if (text[end] == 'K' && row_ < rows_.size()) {
      rows_[row_].clear();
      if (row_ + 1 == rows_.size()) rows_.pop_back();
    }
    return end + 1;
  }

  std::vector<std::string> rows_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
};

class ProgressTest : public ::testing::Test {
 protected:
  static Change ChangeFor(const std::string& address, Verb verb, Payload payload) {
    Change change;
    change.address = Addr(address);
    change.verb = verb;
    change.payload = std::move(payload);
    return change;
  }
  void Open(bool terminal) {
    streams_.err_is_terminal = terminal;
    view_ = MakeProgressView(streams_, clock_);
  }
  // An apply of ten seconds and a bit.
  void Story() {
    view_->OnStart(create_);
    clock_.Advance(seconds(10));
    view_->OnProgress(create_, seconds(10), {});
    clock_.Advance(seconds(10));
    view_->OnProgress(create_, seconds(20), {});
    view_->OnNote(Addr("pod.research"), "a remark");
    view_->OnComplete(create_, seconds(21), "projects/p/locations/z/nodes/research");
    view_->OnStart(step_);
    view_->OnStepLine(step_, 3, "research/3", "colour \x1b[31mred\x1b[0m");
    view_->OnProgress(step_, seconds(1), {4, 2, 1, 1, {}});
    view_->OnProgress(step_, seconds(12), {4, 2, 1, 1, {}, "connection refused"});
    view_->OnProgress(step_, seconds(23), {4, 3, 1, 0, {}});
    view_->OnError(step_, seconds(25),
                   MakeError(ErrorCode::kAborted, "failed on 1 of 4 workers: worker 3: exit 7"));
    view_->OnSkip(other_, Addr("bootstrap.research.x"));
    view_->OnSkip(other_, {});
  }

  testing::FakeClock clock_;
  std::ostringstream out_;
  std::ostringstream err_;
  Streams streams_{out_, err_};
  std::vector<std::unique_ptr<Change>> changes_;
  std::unique_ptr<EventSink> view_;
  Change create_ = ChangeFor("pod.research", Verb::kCreate, Payload(PodChange{}, KindNamed("pod")));
  Change step_ =
      ChangeFor("bootstrap.research.x", Verb::kRun,
                Payload(StepChange{{}, "", {{0, 1, 2, 3}}, {}, 4}, KindNamed("bootstrap")));
  Change other_ = ChangeFor("pod.other", Verb::kCreate, Payload(PodChange{}, KindNamed("pod")));
};

// A state may hold a path that no spec can have any more.
TEST_F(ProgressTest, AnIdIsDataAndOneLine) {
  Open(false);
  view_->OnStart(create_);
  view_->OnComplete(create_, seconds(1), "/srv/a\nb\x1b[2J");
  EXPECT_THAT(err_.str(), HasSubstr("[id=/srv/a\\x0ab\\x1b[2J]\n"));
}

TEST_F(ProgressTest, PlainLines) {
  Open(false);
  Story();
  view_.reset();
  ExpectGolden("cmd/progress/plain.txt", err_.str());
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("\\x1b[31m"));  // seen, in a log too
}

// CI=true: a log that looks like a terminal.
TEST_F(ProgressTest, NothingIsDrawnInPlaceInCi) {
  streams_.plain = true;
  Open(true);
  Story();
  view_.reset();
  ExpectGolden("cmd/progress/plain.txt", err_.str());
}

TEST_F(ProgressTest, ALiveLineIsAsciiWhereTheLocaleIsC) {
  streams_.ascii = true;
  Open(true);
  view_->OnStart(create_);
  for (int i = 0; i < 20; ++i) {
    clock_.Advance(milliseconds(100));
    view_->OnTick();
  }
  const std::string drawn = err_.str();
  EXPECT_THAT(drawn, HasSubstr("/ pod.research: Creating"));
  EXPECT_THAT(drawn, HasSubstr("\\ pod.research: Creating"));
  EXPECT_TRUE(std::all_of(drawn.begin(), drawn.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  })) << drawn;
  // What would not fit is told in ASCII, too.
  for (int i = 0; i < 20; ++i) {
    Change more = create_;
    more.address.name = "pod" + std::to_string(i);
    changes_.push_back(std::make_unique<Change>(std::move(more)));
    view_->OnStart(*changes_.back());
  }
  clock_.Advance(milliseconds(100));
  view_->OnTick();
  EXPECT_THAT(err_.str(), HasSubstr("  ... and "));
  EXPECT_THAT(err_.str(), ::testing::Not(HasSubstr("\xE2")));
}

TEST_F(ProgressTest, APlainLogIsToldAtASensiblePace) {
  Open(false);
  view_->OnStart(step_);
  for (int i = 0; i < 100; ++i) view_->OnProgress(step_, milliseconds(i * 300), {100, 1, 0, 0, {}});
  const std::string text = err_.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);  // start, 10 s, 20 s
}

TEST_F(ProgressTest, EveryActionHasItsWords) {
  Open(false);
  Step restart;
  restart.kind = Step::Kind::kRestartRuntime;
  for (const auto& [verb, payload] : std::vector<std::pair<Verb, Payload>>{
           {Verb::kCreate, Payload(PodChange{}, KindNamed("pod"))},
           {Verb::kUpdate, Payload(PodChange{}, KindNamed("pod"))},
           {Verb::kDeleteThenCreate, Payload(PodChange{}, KindNamed("pod"))},
           {Verb::kDelete, Payload(PodChange{}, KindNamed("pod"))},
           {Verb::kForget, Payload(PodChange{}, KindNamed("pod"))},
           {Verb::kRun, Payload(StepChange{{}, "", {{2}}, {}, 1}, KindNamed("bootstrap"))},
           {Verb::kRun,
            Payload(StepChange{restart, "", {{0, 1, 2, 3}}, {}, 4}, KindNamed("bootstrap"))},
           {Verb::kRun, Payload(StepChange{{}, "", {}, {}, 0}, KindNamed("bootstrap"))}}) {
    const Change change = ChangeFor("pod.x", verb, payload);
    view_->OnStart(change);
    view_->OnProgress(change, seconds(70), {});
    view_->OnComplete(change, seconds(3725), "");
  }
  ExpectGolden("cmd/progress/words.txt", err_.str());
}

TEST_F(ProgressTest, LiveLinesAreDrawnOverThemselves) {
  Open(true);
  Terminal terminal;
  const auto look = [&](const std::string& title) {
    terminal.Write(err_.str());
    err_.str("");
    return "--- " + title + "\n" + terminal.Screen();
  };
  std::string film;
  view_->OnStart(create_);
  view_->OnStart(other_);
  film += look("two begin");
  clock_.Advance(seconds(7));
  view_->OnTick();
  film += look("after 7 s");
  view_->OnComplete(create_, seconds(7), "projects/p/locations/z/nodes/research");
  film += look("one is done");
  view_->OnStart(step_);
  view_->OnStepLine(step_, 3, "research/3", "colour \x1b[31mred\x1b[0m");
  clock_.Advance(seconds(1));
  view_->OnProgress(step_, seconds(1), {4, 2, 0, 1, {}, "connection refused"});
  film += look("a step runs");
  view_->OnError(step_, seconds(2),
                 MakeError(ErrorCode::kAborted, "failed on 1 of 4 workers [EID: 0x1]: worker 3"));
  view_->OnComplete(other_, seconds(9), "");
  film += look("all is over");
  view_.reset();
  film += look("the view is gone");
  ExpectGolden("cmd/progress/live.txt", film);
}

TEST_F(ProgressTest, TheLiveFormInBytes) {
  streams_.color = true;
  Open(true);
  view_->OnStart(create_);
  clock_.Advance(seconds(1));
  view_->OnTick();
  view_->OnTick();  // too soon to draw again
  view_->OnComplete(create_, seconds(1), "");
  ExpectGolden("cmd/progress/live_bytes.txt", err_.str());
}

TEST_F(ProgressTest, ManyOperationsDoNotFillTheScreen) {
  Open(true);
  std::vector<Change> changes;
  for (int i = 0; i < 40; ++i) {
    changes.push_back(ChangeFor("pod.n" + std::to_string(i), Verb::kCreate,
                                Payload(PodChange{}, KindNamed("pod"))));
  }
  for (const Change& change : changes) view_->OnStart(change);
  clock_.Advance(seconds(1));
  view_->OnTick();
  Terminal terminal;
  terminal.Write(err_.str());
  const std::string screen = terminal.Screen();
  EXPECT_EQ(std::count(screen.begin(), screen.end(), '\n'), 13);
  EXPECT_THAT(screen, HasSubstr("… and 28 more"));
  for (const Change& change : changes) view_->OnComplete(change, seconds(2), "");
}

// Ctrl-Z, a while in the shell, fg: what the shell wrote is not drawn over.
TEST_F(ProgressTest, AfterAStopTheDisplayBeginsAnew) {
  Interrupt interrupt;
  Open(true);
  view_->OnStart(create_);
  err_ << "^Z\n[1]+  Stopped   podctl apply\n";
  raise(SIGCONT);
  clock_.Advance(seconds(60));
  view_->OnTick();
  clock_.Advance(seconds(1));
  view_->OnTick();
  Terminal terminal;
  terminal.Write(err_.str());
  EXPECT_THAT(terminal.Screen(), MatchesRegex("[^\n]*pod.research: Creating 0s\n"
                                              "\\^Z\n\\[1\\]\\+  Stopped   podctl apply\n"
                                              "[^\n]*pod.research: Creating 1m1s\n"));
}

// A window made narrower folds the lines that were drawn: they are erased in all their rows.
TEST_F(ProgressTest, LinesThatTheTerminalFoldedAreErasedWhole) {
  Open(true);
  view_->OnStart(create_);  // "⠋ pod.research: Creating 0s" is 27 columns
  err_.str("");
  streams_.width = 10;
  clock_.Advance(seconds(1));
  view_->OnTick();
  EXPECT_THAT(err_.str(), StartsWith("\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\r"));
}

// Who did not wait is not told that all is done.
TEST_F(ProgressTest, WhatWaitsInTheQueueIsNotComplete) {
  ExecuteResult result;
  EXPECT_EQ(EndWords(result, false), "Apply complete!");
  EXPECT_EQ(EndWords(result, true), "Destroy complete!");
  result.queued = {Addr("pod.a")};
  ShowApplied(streams_, result, false);
  EXPECT_EQ(out_.str(),
            "Apply not complete yet: pod.a waits in the queue. Resources: 0 added, 0 changed, 0 "
            "destroyed.\n");
  result.queued.push_back(Addr("pod.b"));
  EXPECT_EQ(EndWords(result, false), "Apply not complete yet: 2 things wait in the queue.");
  result.interrupted = true;
  EXPECT_EQ(EndWords(result, false), "Apply incomplete.");
}

TEST_F(ProgressTest, AnInterruptIsAnswered) {
  Open(false);
  view_->OnInterrupt();
  EXPECT_THAT(err_.str(), StartsWith("Interrupted: "));
}

TEST_F(ProgressTest, EqualOutputsOfAStepAreShownOnceAtItsEnd) {
  const auto label = [](int worker) { return "research/" + std::to_string(worker); };
  Open(false);
  GatheredSteps gathered(std::move(view_), ::testing::TempDir());
  gathered.OnStart(step_);
  for (const int worker : {3, 0, 1, 2}) {
    gathered.OnStepLine(step_, worker, label(worker), "installing");
    gathered.OnStepLine(step_, worker, label(worker), worker == 2 ? "slow" : "quick");
  }
  gathered.OnStepLine(create_, 0, label(0), "it boots");
  EXPECT_THAT(err_.str(), ::testing::EndsWith("\nresearch/0 | it boots\n"));
  EXPECT_THAT(err_.str(), ::testing::Not(HasSubstr("installing"))) << "the step goes on";
  err_.str("");
  gathered.OnComplete(step_, seconds(3), "");
  EXPECT_THAT(err_.str(), StartsWith("research/[0-1,3] (3 workers) | installing\n"
                                     "research/[0-1,3] (3 workers) | quick\n"
                                     "research/2                   | installing\n"
                                     "research/2                   | slow\n"));
}

TEST_F(ProgressTest, WhatAStepHasWrittenThatWasLeftIsShownInTheEnd) {
  Open(false);
  {
    GatheredSteps gathered(std::move(view_), ::testing::TempDir());
    gathered.OnStepLine(step_, 1, "research/1", "installing");
  }
  EXPECT_THAT(err_.str(), HasSubstr("research/1 | installing\n"));
}

TEST(LabelColumn, LinesOfAStepStandBelowEachOther) {
  LabelColumn labels;
  const Address step = Addr("bootstrap.big.x");
  EXPECT_EQ(labels.Padded(step, 7, "big/7", 64), "big/7 ");
  EXPECT_EQ(labels.Padded(step, 63, "big/63", 64), "big/63");
  EXPECT_EQ(labels.Padded(Addr("bootstrap.small.x"), 3, "small/3", 4), "small/3");
  // How many there are may not be known yet, or say nothing of the numbers.
  const Address some = Addr("bootstrap.some.x");
  EXPECT_EQ(labels.Padded(some, 0, "some/0", 2), "some/0");
  EXPECT_EQ(labels.Padded(some, 63, "some/63", 2), "some/63");
  EXPECT_EQ(labels.Padded(some, 0, "some/0", 2), "some/0 ");
  EXPECT_EQ(labels.Padded(Addr("bootstrap.slices.x"), 3, "slices[0]/3", 64), "slices[0]/3");
}

}  // namespace
}  // namespace podctl
