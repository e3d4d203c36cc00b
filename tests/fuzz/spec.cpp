// A spec file: what people write, paste and merge. Either it has diagnostics that point into it, or
// a plan can be made of it.
#include "plans/kinds/pod/spec.h"

#include <string>

#include "cmd/views/plan_view.h"
#include "cmd/views/snippet.h"
#include "plans/engine/planner.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/spec/loader.h"
#include "plans/spec/source_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/kinds.h"

namespace podctl::fuzz {
namespace {

constexpr const char* kSpec = "/project/podctl.yaml";

void CheckPlace(const SourcePlace& place, const SourceFile& source) {
  if (place.file != kSpec) return;
  const auto text_size = static_cast<int>(source.text().size());
  Expect(place.line >= 0 && place.column >= 0 && place.length >= 1, "a place counts from 1");
  if (place.line == 0) return;
  Expect(place.byte >= 0 && place.byte <= text_size, "a place lies inside of the file");
  const auto start = static_cast<int>(source.LineStart(place.line));
  Expect(place.byte == start + place.column - 1, "line, column and byte are one place");
}

void Check(const Diagnostics& diagnostics, const SourceFile& source) {
  for (const Diagnostic& diagnostic : diagnostics.items()) {
    Expect(!diagnostic.summary.empty(), "a diagnostic says what is wrong");
    CheckPlace(diagnostic.place, source);
    for (const RelatedPlace& related : diagnostic.related) CheckPlace(related.place, source);
    ExpectShowable(FormatDiagnostic(diagnostic, {false, 100}), Shape::kLines);
  }
}

State EmptyState() {
  testing::FakeRandom random;
  return NewState(random);
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace podctl;
  const std::string text(fuzz::TextOf(data, size));
  testing::FakeFileSystem files;
  files.SetFolder("/project");
  files.SetFile(fuzz::kSpec, text);
  files.SetFile("/project/startup.sh", "echo started\n");
  const FixedEnvironment environment({{"HOME", "/home/alice"}, {"TOKEN", "secret"}});
  LoadOptions options = testing::WithKinds();
  options.paths = {fuzz::kSpec};
  Diagnostics problems;
  const Spec spec = LoadSpec(options, files, environment, problems);
  fuzz::Check(problems, SourceFile(fuzz::kSpec, text));
  if (problems.has_errors()) return 0;

  static const State state = fuzz::EmptyState();
  Diagnostics objections;
  const Plan plan = MakePlan(spec, state, Observation{}, {}, testing::AllKinds().all, objections);
  fuzz::Check(objections, SourceFile(fuzz::kSpec, text));
  fuzz::Expect(!objections.has_errors(), "a spec without errors can be planned on an empty state");
  fuzz::Expect(plan.Counts().add == testing::PodsOf(spec).size(), "every pod would be made");
  fuzz::ExpectShowable(ShowPlan(plan, {}), fuzz::Shape::kLines);
  return 0;
}
