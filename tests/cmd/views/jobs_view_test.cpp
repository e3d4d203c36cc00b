#include "cmd/views/jobs_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cmd/views/kept_log_view.h"
#include "cmd/views/log_view.h"
#include "providers/base/json.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using testing::ExpectGolden;
using ::testing::HasSubstr;
using JobState = workers::JobStatus::State;

workers::JobStatus Job(const std::string& name, JobState state, int code, std::int64_t started) {
  return {name,    "0123-ab",
          state,   code,
          started, state == JobState::kEnded ? started + 60 : 0,
          2048,    "python3 " + name + ".py"};
}

TEST(JobsView, OneRowForEachJobTellsHowItStandsOnEveryWorker) {
  std::vector<WorkerJobs> workers;
  for (int i = 0; i < 256; ++i) {
    WorkerJobs worker{i, {Job("train", JobState::kRunning, 0, 1795284000)}};
    worker.jobs.push_back(
        Job("eval", JobState::kEnded, i == 3 || i == 7 ? 137 : 0, 1795280000 + i));
    if (i == 9) worker.jobs.back() = Job("eval", JobState::kDied, 0, 1795280000);
    if (i < 2) worker.jobs.push_back(Job("data-loader", JobState::kEnded, 0, 1795270000));
    workers.push_back(worker);
  }
  ExpectGolden("cmd/jobs/table.txt", JobsTable(workers, false));
  workers.resize(2);
  ExpectGolden("cmd/jobs/table_color.txt", JobsTable(workers, true));
  ExpectGolden("cmd/jobs/jobs.json",
               ToJson(JobsDocument("research", workers), JsonStyle::kIndented) + "\n");
  EXPECT_EQ(JobsTable({}, false), "There are no jobs.\n");
}

TEST(JobsView, AJobThatSomebodyEndedHasNotFailed) {
  workers::JobStatus job = Job("train", JobState::kEnded, 143, 1795284000);
  job.ended_by = "alice@laptop: podctl kill research train";
  EXPECT_EQ(JobStateWords(job), "was ended by alice@laptop: killed by TERM (exit code 143)");
  const std::vector<WorkerJobs> all = {{0, {job}}, {1, {job}}};
  const std::string table = JobsTable(all, false);
  EXPECT_NE(table.find("train  killed   0-1 ended by alice@laptop (exit 143)"), std::string::npos)
      << table;
  const Value document = JobsDocument("research", all)["jobs"].AsList()[0];
  EXPECT_EQ(document["state"], Value("killed"));
  EXPECT_EQ(document["workers"].AsList()[0]["ended_by"], Value(job.ended_by));
  job.ended_by.clear();
  EXPECT_NE(JobsTable({{0, {job}}}, false).find("failed"), std::string::npos);
}

TEST(JobsView, AStartHasOneTimeWhereverItIsTold) {
  const std::vector<WorkerJobs> all = {{0, {Job("train", JobState::kRunning, 0, 1795284000)}}};
  std::map<std::string, WantedJob> wanted;
  wanted["train"].start = "ab";
  wanted["train"].since = "2026-11-21T17:58:00Z";
  EXPECT_THAT(JobsTable(all, false, 0, wanted), HasSubstr("2026-11-21T17:58:00Z"));
  wanted["train"].start = "cd";
  EXPECT_THAT(JobsTable(all, false, 0, wanted), HasSubstr("2026-11-21T18:00:00Z"))
      << "the state knows of another start";
}

TEST(JobsView, WhatHasItsGraceDoesNotRunOn) {
  workers::JobStatus ending = Job("train", JobState::kRunning, 0, 1795284000);
  ending.ended_by = "alice@laptop: podctl kill research train";
  std::vector<WorkerJobs> all = {{0, {ending}}, {1, {ending}}};
  EXPECT_THAT(JobsTable(all, false), HasSubstr("train  ending   0-1 ending"));
  const Value document = JobsDocument("research", all)["jobs"].AsList()[0];
  EXPECT_EQ(document["state"], Value("ending"));
  EXPECT_EQ(document["workers"].AsList()[0]["state"], Value("ending"));
  EXPECT_EQ(document["workers"].AsList()[0]["ended_by"], Value(ending.ended_by));
  // Of commands that do not belong together one may be ended alone.
  all[0].jobs = {Job("train", JobState::kRunning, 0, 1795284000)};
  EXPECT_THAT(JobsTable(all, false), HasSubstr("train  running  0 running; 1 ending"));
}

TEST(JobsView, OfAHangNobodyIsBlamed) {
  workers::GangNews gang;
  gang.attempts = 3;
  gang.first = {1, 2, std::chrono::milliseconds(2300), "failure", "ended with exit code 3"};
  EXPECT_EQ(GangText("train", gang, 0),
            "train: worker 2 ended with exit code 3, 2.3s after the start of attempt 1; the others "
            "were ended for it.\n");
  gang.first = {1, std::nullopt, std::chrono::seconds(35), "hang",
                "no worker has written a line for 30s (the last was worker 2)"};
  EXPECT_EQ(GangText("train", gang, 0),
            "train: no worker has written a line for 30s (the last was worker 2), 35s after the "
            "start of attempt 1; all were ended for it.\n");
  Value document = Value::EmptyMap();
  AddGang(gang, &document);
  EXPECT_TRUE(document["first"]["worker"].is_null());
  EXPECT_EQ(document["first"]["reason"], Value("hang"));
}

TEST(JobsView, WhoWaitsForALostWorkerDoesNotRun) {
  workers::JobStatus job = Job("train", JobState::kRunning, 0, 1795284000);
  job.gang.emplace().first = {1, 2, std::chrono::seconds(31), "connection", "was silent for 30s"};
  job.gang->waiting = {2};
  std::vector<WorkerJobs> all = {
      {0, {job}}, {1, {job}}, {2, {Job("train", JobState::kDied, 0, 1795284000)}}};
  std::string table = JobsTable(all, false);
  EXPECT_THAT(table, HasSubstr("train  waiting  0-1 waiting; 2 died"));
  EXPECT_THAT(table, HasSubstr("train: waiting for worker 2, without which it does not go on; "
                               "`podctl run train --detach` starts all of them anew.\n"));
  const Value document = JobsDocument("research", all)["jobs"].AsList()[0];
  EXPECT_EQ(document["state"], Value("waiting"));
  EXPECT_EQ(document["workers"].AsList()[0]["state"], Value("waiting"));
  // It is not to begin again for that.
  job.state = JobState::kEnded;
  job.exit_code = 143;
  job.gang->waiting.clear();
  all[0].jobs = all[1].jobs = {job};
  table = JobsTable(all, false);
  EXPECT_THAT(table, HasSubstr("train  failed   0-1 exit 143; 2 died"));
  EXPECT_THAT(table, HasSubstr("train: it does not begin again by itself; `podctl run train "
                               "--detach` starts all of them anew.\n"));
}

TEST(LogView, SaysWhoEndedTheJobApartFromFailures) {
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{out, err};
  std::vector<WorkerAccess> workers(3);
  std::vector<LogEnd> ends(3);
  for (int i = 0; i < 3; ++i) {
    workers[static_cast<std::size_t>(i)].pod = "research";
    workers[static_cast<std::size_t>(i)].index = i;
    ends[static_cast<std::size_t>(i)].kind = LogEnd::Kind::kEnded;
    ends[static_cast<std::size_t>(i)].exit_code = i == 2 ? 3 : 143;
    if (i < 2)
      ends[static_cast<std::size_t>(i)].ended_by = "alice@laptop: podctl kill research train";
  }
  LogView(streams, workers, {}).ShowEnds(workers, ends, "train");
  EXPECT_EQ(err.str(),
            "research/[0-1]: train was ended by alice@laptop: killed by TERM (exit code 143)\n"
            "1 of 3 workers failed:\n  1 worker (2): exit code 3\n");
}

TEST(LogView, TellsARemarkOnceOfAllThatItIsTrueOf) {
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{out, err};
  std::vector<WorkerAccess> workers(3);
  for (int i = 0; i < 3; ++i) {
    workers[static_cast<std::size_t>(i)].pod = "research";
    workers[static_cast<std::size_t>(i)].index = i;
  }
  const std::vector<WorkerAccess> two(workers.begin(), workers.begin() + 2);
  const std::vector<WorkerAccess> one(workers.begin() + 2, workers.end());
  using Kind = LogRemark::Kind;
  LogView view(streams, workers, {});
  view.OnRemark(workers, {.kind = Kind::kBroke, .pod = "is REPAIRING"});
  view.OnRemark(one, {.kind = Kind::kBroke});
  view.OnRemark(two, {.kind = Kind::kTrouble, .message = "connection refused"});
  view.OnRemark(two, {.kind = Kind::kPod, .message = "is REPAIRING"});
  view.OnRemark(two, {.kind = Kind::kBack});
  view.OnRemark(one, {.kind = Kind::kBack});
  view.OnRemark(one, {.kind = Kind::kDied, .followed = 2});
  view.OnRemark(two, {.kind = Kind::kFailed, .exit_code = 3, .followed = 1});
  view.OnRemark(two, {.kind = Kind::kGone, .message = "pod `research` is gone", .followed = 1});
  view.OnRemark(one, {.kind = Kind::kAnew, .message = "r2", .followed = 2});
  ExpectGolden("cmd/jobs/log_remarks.txt", err.str());
}

TEST(KeptLogView, NamesAnObjectThatIsPassedOverOnce) {
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{out, err};
  KeptLogView view(streams, "research", "train", {}, {});
  view.OnBroken("l/a.log", MakeError(ErrorCode::kDataLoss, "gs://b/l/a.log is damaged: cut"));
  view.OnBroken("l/b.log", MakeError(ErrorCode::kNotFound, "it is gone"));
  view.OnStrangers(2, 99'999);
  view.OnStrangers(1, 4);
  EXPECT_EQ(err.str(),
            "gs://b/l/a.log is damaged: cut; it is passed over\n"
            "l/b.log is passed over: it is gone\n"
            "research: 2 objects of workers that it does not have (up to 99999) are passed over; "
            "`--from` shows them\n"
            "research: 1 object of workers that it does not have (up to 4) is passed over; "
            "`--from` shows them\n");
}

TEST(JobsView, WhoDidNotAnswerIsNamedBelowTheTable) {
  std::vector<WorkerAnswer> answers(3);
  for (int i = 0; i < 3; ++i) {
    WorkerAnswer& answer = answers[static_cast<std::size_t>(i)];
    answer.worker.pod = "big";
    answer.worker.index = i + 22;
    answer.result.outcome = ssh::Outcome::kExited;
  }
  EXPECT_EQ(UnheardText(answers), "");
  answers[1].result.outcome = ssh::Outcome::kUnreachable;
  EXPECT_EQ(UnheardText(answers), "Without big/23, which did not answer.\n");
}

TEST(JobsView, WordsTellHowAJobStands) {
  EXPECT_EQ(JobStateWords(Job("x", JobState::kRunning, 0, 1)), "runs");
  EXPECT_EQ(JobStateWords(Job("x", JobState::kEnded, 3, 1)), "ended with exit code 3");
  EXPECT_EQ(JobStateWords(Job("x", JobState::kEnded, 137, 1)),
            "was killed by KILL (exit code 137)");
  EXPECT_EQ(JobStateWords(Job("x", JobState::kDied, 0, 1)), "died without an exit code");
}

TEST(JobsView, AWorkerThatHadDiedBeforeAKillDidNotFailTheJob) {
  workers::JobStatus killed = Job("x", JobState::kEnded, 143, 1);
  killed.ended_by = "alice@laptop: podctl kill research x";
  const workers::JobStatus died = Job("x", JobState::kDied, 0, 1);
  EXPECT_THAT(JobsTable({{0, {killed}}, {1, {died}}}, false), HasSubstr("killed"));
  EXPECT_THAT(JobsTable({{0, {died}}, {1, {died}}}, false), HasSubstr("failed"));
  const workers::JobStatus failed = Job("x", JobState::kEnded, 3, 1);
  EXPECT_THAT(JobsTable({{0, {killed}}, {1, {failed}}}, false), HasSubstr("failed"));
}

}  // namespace
}  // namespace podctl
