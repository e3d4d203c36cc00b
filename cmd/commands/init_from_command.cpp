#include <fmt/format.h>

#include <cstdint>

#include "cmd/commands/init.h"
#include "cmd/views/snippet.h"
#include "plans/from_command/from_command.h"
#include "plans/kinds/training_job/requests.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr const char* kFromCommandVersion = "1.0";

void Warn(std::string summary, std::string detail, Streams& streams) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::kWarning;
  diagnostic.summary = std::move(summary);
  diagnostic.detail = std::move(detail);
  streams.err << FormatDiagnostic(diagnostic,
                                  {streams.color && streams.err_is_terminal, streams.width});
}

// "2026-11-22T08:00:00Z" -> "20261122_080000", as Caliban stamped its jobs.
std::string Stamp(const std::string& time) {
  std::string stamp;
  for (const char c : time.substr(0, 19)) {
    if (c == 'T') stamp += '_';
    if (c >= '0' && c <= '9') stamp += c;
  }
  return stamp;
}

Result<void> PrintLegacy(const FromCommand& made, const InitOptions& options, Streams& streams) {
  if (!made.training) {
    const bool many = made.tool.starts_with("caliban");
    return MakeError(
        ErrorCode::kInvalidArgument,
        many ? "`--legacy-request` is about one job, and this line is several"
             : "`--legacy-request` is about lines of `caliban cloud`",
        many ? "Give the flags of one experiment after `--`, in place of --experiment_config."
             : "Only its jobs were requests of the service that is gone.");
  }
  streams.out << ToJson(LegacyJobBody(*made.training, Stamp(options.now)), JsonStyle::kIndented)
              << "\n";
  Warn("this request is for the record",
       fmt::format("It was sent to https://ml.googleapis.com/v1/projects/{}/jobs. {}",
                   made.training->project, kLegacyEnd),
       streams);
  return {};
}

void PrintJson(const FromCommand& made, const std::string& path, Streams& streams) {
  Value document;
  document.Set("format_version", kFromCommandVersion);
  document.Set("tool", made.tool);
  if (path.empty()) {
    document.Set("text", made.text);
  } else {
    document.Set("path", path);
  }
  Value::List remarks;
  for (const Remark& remark : made.remarks) {
    Value entry;
    entry.Set("subject", remark.subject);
    entry.Set("reason", remark.reason);
    remarks.push_back(std::move(entry));
  }
  document.Set("remarks", std::move(remarks));
  streams.out << ToJson(document) << "\n";
}

}  // namespace

Result<void> RunInitFromCommand(const InitOptions& options, FileSystem& files, Streams& streams) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  const auto read = [&](const std::string& path) { return files.Read(path, kMostBytes); };
  const Result<FromCommand> made = SpecFromCommand(options.from_command, {read, options.now});
  if (!made) return made.error();
  if (options.legacy_request) return PrintLegacy(*made, options, streams);
  std::string path;
  if (options.folder != "-") {
    const auto written = WriteNewSpec(options.folder, made->text, files);
    if (!written) return written.error();
    path = *written;
  }
  if (streams.json) {
    PrintJson(*made, path, streams);
    return {};
  }
  for (const Remark& remark : made->remarks) {
    Warn(fmt::format("{}: {}", remark.subject, remark.reason), "", streams);
  }
  if (path.empty()) {
    streams.out << made->text;
    return {};
  }
  const std::string with_file = path == "podctl.yaml" ? "" : " -f " + ShellQuote(path);
  streams.out << fmt::format(
      "Wrote {} from a line of `{}`.\n\nNext: look it over, then\n  podctl validate{}\n  podctl "
      "plan{}\n",
      path, made->tool, with_file, with_file);
  return {};
}

}  // namespace podctl
