#include "plans/kinds/step/record.h"

#include "plans/kinds/pod/record.h"
#include "providers/base/digest.h"
#include "state/record_codec.h"

namespace podctl {

// Found by ObjectWriter.
static void PutMembers(const StepWorkerRecord& worker, ObjectWriter& out) {
  out.Member("applied_at", worker.applied_at);
  out.Member("digest", worker.digest);
  out.Member("uid", worker.uid);
}

namespace {

class StepCodec final : public RecordCodecOf<StepRecord> {
 public:
  std::string_view noun() const override { return "step"; }
  std::string_view form() const override { return "bootstrap.NAME.STEP"; }

 private:
  void Read(ObjectReader& in, int /*version*/, StepRecord* step) const override {
    step->pod = ParseAddress(in.Text("pod")).value_or(Address{});
    if (step->pod.kind != kPodKind) in.Fail("belongs to no pod");
    step->script = in.SpareText("script");
    for (auto& [worker, entry] : in.Map("workers")) {
      ObjectReader reader = in.Inner(entry, "workers");
      StepWorkerRecord& record = step->workers[in.Worker(worker)];
      record.digest = reader.Text("digest");
      record.uid = reader.Text("uid");
      record.applied_at = reader.Text("applied_at");
      reader.RefuseUnknownMembers();
    }
  }

  void Write(const StepRecord& step, ObjectWriter& out) const override {
    out.Member("pod", step.pod);
    out.Spare("script", step.script);
    out.Member("workers", step.workers);
  }
};

}  // namespace

const RecordCodec& StepRecord::Codec() {
  static const StepCodec codec;
  return codec;
}

Address StepAddress(const std::string& pod, const std::string& step) {
  return {std::string(kStepKind), pod + "." + step};
}

std::string RuntimeDigest(const std::string& tensorflow_env_vars) {
  return Sha256Hex("restart-runtime\n" + tensorflow_env_vars);
}

}  // namespace podctl
