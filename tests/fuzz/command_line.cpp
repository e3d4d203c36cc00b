// A line of another tool: whatever it is, it becomes a spec that can be read as YAML, or an error.
#include <string>

#include "plans/from_command/from_command.h"
#include "plans/spec/source_file.h"
#include "plans/spec/yaml_tree.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace podctl;  // NOLINT: a fuzz target is one function
  const std::string_view line = fuzz::TextOf(data, size);
  const Result<FromCommand> made = SpecFromCommand(line);
  if (!made) {
    fuzz::Expect(!made.error().message.empty(), "an error says something", line);
    return 0;
  }
  fuzz::Expect(!made->text.empty(), "a spec says something", line);
  for (const Remark& remark : made->remarks) {
    fuzz::Expect(!remark.subject.empty() && !remark.reason.empty(), "a remark says why", line);
  }
  const SourceFile file("podctl.yaml", made->text);
  Diagnostics diagnostics;
  static_cast<void>(ParseYaml(file, diagnostics));
  fuzz::Expect(!diagnostics.has_errors(), "the spec is YAML", made->text);
  return 0;
}
