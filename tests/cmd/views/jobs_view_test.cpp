#include "cmd/views/jobs_view.h"

#include <gtest/gtest.h>

#include "providers/base/json.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using testing::ExpectGolden;
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
    worker.jobs.push_back(Job("eval", JobState::kEnded, i == 3 || i == 7 ? 137 : 0, 1795280000 + i));
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

TEST(JobsView, ShowsTheCommandAsTheSpecHasIt) {
  workers::JobStatus job = Job("train", JobState::kRunning, 0, 1795284000);
  job.command = "exec python3 train.py";
  const std::string table = JobsTable({WorkerJobs{0, {job}}}, false);
  EXPECT_NE(table.find("  python3 train.py\n"), std::string::npos) << table;
}

TEST(JobsView, WordsTellHowAJobStands) {
  EXPECT_EQ(JobStateWords(Job("x", JobState::kRunning, 0, 1)), "runs");
  EXPECT_EQ(JobStateWords(Job("x", JobState::kEnded, 3, 1)), "ended with exit code 3");
  EXPECT_EQ(JobStateWords(Job("x", JobState::kEnded, 137, 1)), "was killed by KILL (exit code 137)");
  EXPECT_EQ(JobStateWords(Job("x", JobState::kDied, 0, 1)), "died without an exit code");
}

}  // namespace
}  // namespace podctl
