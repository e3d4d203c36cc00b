#include "plans/fleet/exec/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::string_view kLast = "last";

// What the earlier run had and this one was not given.
Result<void> CheckGivenAgain(const ExecOptions& exec, const ExecRecord& earlier) {
  for (const std::string& name : earlier.env) {
    const bool given = std::any_of(exec.env.begin(), exec.env.end(), [&](const std::string& text) {
      return text.substr(0, text.find('=')) == name;
    });
    if (!given) {
      return MakeError(ErrorCode::kFailedPrecondition,
                       fmt::format("the earlier run had `--env {}`, whose value is not kept", name),
                       fmt::format("Give it again: `--env {}=VALUE`.", name));
    }
  }
  return {};
}

}  // namespace

Result<ExecChoice> ChooseAgain(const PodTarget& target, const PodOptions& options,
                               const ExecOptions& exec, const ExecRecord& earlier) {
  if (earlier.pod != target.address) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("those are results of {}, not of {}",
                                                              earlier.pod, target.address));
  }
  if (!earlier.job.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("those are results of the job {}, whose workers start together",
                                 VisibleControls(earlier.job)),
                     fmt::format("`podctl run {}` starts it again.", VisibleControls(earlier.job)));
  }
  ExecChoice choice;
  choice.output_dir = exec.output_dir;
  choice.command = options.command.empty() ? earlier.command : options.command;
  if (choice.command == earlier.command) {
    if (auto given = CheckGivenAgain(exec, earlier); !given) return given.error();
    choice.earlier = earlier;
    if (exec.output_dir.empty() && exec.retry_failed != kLast) {
      choice.output_dir = exec.retry_failed;
      choice.into_earlier = true;
    }
  }
  const std::vector<int> not_ok = earlier.NotOk();
  if (not_ok.empty()) return choice;
  PodTarget whole = target;  // whatever was named with the pod
  whole.named.clear();
  whole.within_named = false;
  auto workers = SelectWorkers(whole, FormatRanges(not_ok), "");
  if (!workers) {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the pod has changed since: {}", workers.error().message));
  }
  const auto asked_for = SelectWorkers(target, options.workers, "all");
  if (!asked_for) return asked_for.error();
  for (const WorkerAccess& worker : *asked_for) {
    if (std::binary_search(not_ok.begin(), not_ok.end(), worker.index)) {
      choice.workers.push_back(worker);
    }
  }
  return choice;
}

Result<ExecChoice> ChooseWork(FileSystem& files, const LastRun& last, const PodTarget& target,
                              const PodOptions& options, const ExecOptions& exec) {
  if (!exec.retry_failed.empty()) {
    const auto earlier =
        exec.retry_failed == kLast ? last.Load() : LoadExecRecord(files, exec.retry_failed);
    if (!earlier) return earlier.error();
    return ChooseAgain(target, options, exec, *earlier);
  }
  auto workers = SelectWorkers(target, options.workers, "all");
  if (!workers) return workers.error();
  ExecChoice choice;
  choice.workers = *std::move(workers);
  choice.command = options.command;
  choice.output_dir = exec.output_dir;
  return choice;
}

Result<ExecVariables> ReadVariables(const std::vector<std::string>& texts,
                                    const Environment& environment) {
  ExecVariables variables;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals != std::string::npos) {
      variables[name] = text.substr(equals + 1);
      continue;
    }
    const auto value = environment.Get(name);
    if (!value) {
      return MakeError(ErrorCode::kNotFound,
                       fmt::format("`--env {}`: there is no such variable here", name),
                       fmt::format("Set it, or give a value: `--env {}=VALUE`.", name));
    }
    variables[name] = *value;
  }
  return variables;
}

std::string CommandWithVariables(const std::string& command, const ExecVariables& variables) {
  if (variables.empty()) return command;
  // `read` takes one byte after the other, so that the rest is left for the command. The newline is
  // what a value with several lines is put together with.
  return "podctl_nl='\n'; IFS= read -r podctl_env && eval \"$podctl_env\"; unset podctl_env "
         "podctl_nl; " +
         command;
}

std::string VariablesLine(const ExecVariables& variables) {
  if (variables.empty()) return {};
  std::string line = "export";
  for (const auto& [name, value] : variables) {
    std::string quoted = ShellQuote(value);
    for (auto at = quoted.find('\n'); at != std::string::npos; at = quoted.find('\n', at)) {
      constexpr std::string_view kNewline = "'\"$podctl_nl\"'";
      quoted.replace(at, 1, kNewline);
      at += kNewline.size();
    }
    line += fmt::format(" {}={}", name, quoted);
  }
  return line + "\n";
}

}  // namespace podctl
