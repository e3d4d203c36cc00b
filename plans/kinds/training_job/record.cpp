#include "plans/kinds/training_job/record.h"

#include "state/record_codec.h"

namespace podctl {
namespace {

class TrainingCodec final : public RecordCodecOf<TrainingRecord> {
 public:
  std::string_view old_locator() const override { return "job"; }
  int since_version() const override { return 3; }

 private:
  void Read(ObjectReader& in, int /*version*/, TrainingRecord* job) const override {
    job->project = in.Text("project");
    job->region = in.Text("region");
    job->applied = in.Any("applied");
    job->state = in.Text("state");
    job->error = in.Text("error");
  }

  void Write(const TrainingRecord& job, ObjectWriter& out) const override {
    out.Member("applied", job.applied);
    out.Member("error", job.error);
    out.Member("project", job.project);
    out.Member("region", job.region);
    out.Member("state", job.state);
  }
};

}  // namespace

const RecordCodec& TrainingRecord::Codec() {
  static const TrainingCodec codec;
  return codec;
}

Address TrainingAddress(const std::string& job) {
  return {std::string(kTrainingKind), job};
}

}  // namespace podctl
