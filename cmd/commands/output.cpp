// podctl output: what `outputs:` of the spec came to with the last apply, for other tools.
#include "plans/session/output.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/command.h"
#include "cmd/command_line.h"
#include "cmd/reporter.h"
#include "cmd/views/output_view.h"
#include "cmd/wiring.h"
#include "plans/spec/names.h"

namespace podctl {
namespace {

struct ShowOutputOptions {
  std::string name;  // empty: all
  bool raw = false;  // as it is, without quotes and without a line's end
};

Error NoOutput(const State& state, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [address, record] : Outputs(state)) names.push_back(address.name);
  const std::string near = SuggestWord(name, names);
  return MakeError(ErrorCode::kNotFound, fmt::format("there is no output `{}` in the state", name),
                   !near.empty() ? fmt::format("Did you mean `{}`?", near)
                   : names.empty()
                       ? "The state has none. `podctl apply` puts there what `outputs:` "
                         "of the spec says."
                       : "`podctl output` shows those that there are.");
}

// Sensitive values, made of a spec that is read when the first of them is asked for.
class Secretly {
 public:
  using ReadSpec = std::function<Spec(Diagnostics& problems)>;

  Secretly(ReadSpec read, Kinds kinds, const State& state)
      : read_(std::move(read)), kinds_(kinds), state_(state) {}

  Result<std::string> ValueOf(const std::string& name) {
    if (!spec_) {
      Diagnostics problems;  // of a spec that is wrong it is enough that it has not the output
      spec_ = read_(problems);
      if (problems.has_errors()) spec_->declared.clear();
    }
    return SensitiveOutput(name, *spec_, state_, kinds_);
  }

 private:
  const ReadSpec read_;
  const Kinds kinds_;
  const State& state_;
  std::optional<Spec> spec_;
};

int ShowAll(Reporter& reporter, Streams& streams, const State& state, Secretly secretly) {
  const bool json = reporter.Event(
      [&] {
        SensitiveValues known;
        for (const auto& [address, record] : Outputs(state)) {
          if (!record.sensitive()) continue;
          // One that cannot be told has no value there.
          if (auto value = secretly.ValueOf(address.name)) known[address.name] = *std::move(value);
        }
        return OutputsDocument(state, known);
      },
      JsonStyle::kIndented);
  if (json) return 0;
  const std::string text = OutputsText(state);
  streams.out << text << std::flush;
  if (text.empty()) {
    reporter.ShowWarning("No outputs found",
                         "The state has none. `podctl apply` puts there what `outputs:` of the "
                         "spec says.");
  }
  return 0;
}

int RunOutput(Wiring& wiring, const ShowOutputOptions& options) {
  Reporter& reporter = wiring.reporter();
  Streams& streams = wiring.streams();
  auto stored = wiring.OpenStore()->Load();
  if (!stored) return reporter.ShowFailure(stored.error());
  const State state = std::move(stored->state).value_or(State{});
  Secretly secretly([&](Diagnostics& problems) { return wiring.ReadWholeSpec(problems); },
                    wiring.kinds().all, state);
  if (options.name.empty()) return ShowAll(reporter, streams, state, std::move(secretly));
  const OutputRecord* record = Outputs(state).Get(OutputAddress(options.name));
  if (record == nullptr) return reporter.ShowFailure(NoOutput(state, options.name));
  const Result<std::string> value =
      record->sensitive() ? secretly.ValueOf(options.name) : Result<std::string>(record->value);
  if (!value) return reporter.ShowFailure(value.error());
  if (reporter.Event([&] { return Value(*value); })) return 0;
  if (options.raw) {
    streams.out << *value << std::flush;
  } else {
    streams.out << QuotedOutput(*value) << "\n" << std::flush;
  }
  return 0;
}

std::string OutputConflict(const ShowOutputOptions& options, const GlobalOptions& global) {
  if (options.raw && global.json) return "`--raw` and `--json` cannot be used together";
  if (options.raw && options.name.empty()) {
    return "`--raw` is of one output: podctl output --raw NAME";
  }
  return {};
}

constexpr Flag kOutputFlags[] = {
    Naming(Flag::Names::kOutput,
           OneValue<&ShowOutputOptions::name>("NAME", "", "which one (default: all)")),
    Switch<&ShowOutputOptions::raw>("--raw", "the value as it is, without quotes and a line's end"),
};

}  // namespace

const Command commands::kOutput("output", "show the outputs of the last apply", kOutputFlags,
                                WithWorld<RunOutput>, OutputConflict);

}  // namespace podctl
