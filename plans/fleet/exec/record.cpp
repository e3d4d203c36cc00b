#include "plans/fleet/exec/record.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "plans/fleet/exec/output_store.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"

namespace podctl {
namespace {

constexpr std::string_view kFormat = "1.0";

std::vector<std::string> WordsOf(const Value& list) {
  std::vector<std::string> words;
  for (const Value& word : list.AsList()) words.push_back(word.AsString());
  return words;
}

WorkerEntry EntryFrom(const Value& value) {
  WorkerEntry entry;
  entry.outcome = value["outcome"].AsString();
  if (value["exit_code"].is_int()) entry.exit_code = static_cast<int>(value["exit_code"].AsInt());
  entry.signal = value["signal"].AsString();
  entry.message = value["message"].AsString();
  entry.attempts = static_cast<int>(value["attempts"].AsInt());
  entry.waited = std::chrono::milliseconds(value["waited_ms"].AsInt());
  entry.ran = std::chrono::milliseconds(value["ran_ms"].AsInt());
  entry.out_bytes = static_cast<std::uint64_t>(value["stdout_bytes"].AsInt());
  entry.err_bytes = static_cast<std::uint64_t>(value["stderr_bytes"].AsInt());
  entry.out_file = value["stdout"].AsString();
  entry.err_file = value["stderr"].AsString();
  return entry;
}

}  // namespace

Value EntryValue(const WorkerEntry& entry) {
  Value value = Value::Map{{"outcome", entry.outcome},
                           {"attempts", entry.attempts},
                           {"waited_ms", static_cast<std::int64_t>(entry.waited.count())},
                           {"ran_ms", static_cast<std::int64_t>(entry.ran.count())},
                           {"stdout_bytes", entry.out_bytes},
                           {"stderr_bytes", entry.err_bytes}};
  if (entry.exit_code) value.Set("exit_code", *entry.exit_code);
  const std::pair<std::string_view, const std::string&> texts[] = {{"signal", entry.signal},
                                                                   {"message", entry.message},
                                                                   {"stdout", entry.out_file},
                                                                   {"stderr", entry.err_file}};
  for (const auto& [key, text] : texts) {
    if (!text.empty()) value.Set(key, text);
  }
  return value;
}

WorkerEntry EntryOf(const ssh::WorkerResult& result) {
  const bool ended = result.outcome == ssh::Outcome::kExited;
  return {std::string(ssh::OutcomeName(result.outcome)),
          ended ? std::make_optional(result.exit_code) : std::nullopt,
          result.signal,
          result.message,
          result.attempts,
          result.waited,
          result.ran,
          result.bytes_out,
          result.bytes_err,
          {},
          {}};
}

std::vector<int> ExecRecord::NotOk() const {
  std::vector<int> numbers;
  for (const int worker : workers) {
    const auto result = results.find(worker);
    if (result == results.end() || !result->second.ok()) numbers.push_back(worker);
  }
  return numbers;
}

std::string ExecRecordText(const ExecRecord& record) {
  const std::vector<int> not_ok = record.NotOk();
  Value::List results;
  for (const auto& [worker, entry] : record.results) {
    Value value = EntryValue(entry);
    value.Set("worker", worker);
    results.push_back(std::move(value));
  }
  Value document =
      Value::Map{{"format_version", kFormat},
                 {"pod", record.pod},
                 {"command", Value::List(record.command.begin(), record.command.end())},
                 {"env", Value::List(record.env.begin(), record.env.end())},
                 {"stdin", record.input},
                 {"started", record.started},
                 {"workers", FormatRanges(record.workers)},
                 {"ok", record.workers.size() - not_ok.size()},
                 {"not_ok", FormatRanges(not_ok)},
                 {"results", std::move(results)}};
  if (!record.job.empty()) document.Set("job", record.job);
  if (!record.ended.empty()) document.Set("ended", record.ended);
  return ToJson(document, JsonStyle::kIndented) + "\n";
}

Result<ExecRecord> ParseExecRecord(std::string_view text) {
  const auto document = ParseJson(text);
  if (!document) return document.error();
  const std::string& format = (*document)["format_version"].AsString();
  if (!format.starts_with("1.")) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("its format_version is `{}`, which is not read here",
                                 VisibleControls(format.substr(0, 20))));
  }
  ExecRecord record;
  record.pod = (*document)["pod"].AsString();
  record.job = (*document)["job"].AsString();
  record.command = WordsOf((*document)["command"]);
  record.env = WordsOf((*document)["env"]);
  record.input = (*document)["stdin"].AsBool();
  record.started = (*document)["started"].AsString();
  record.ended = (*document)["ended"].AsString();
  const auto selection = WorkerSelection::Parse((*document)["workers"].AsString());
  const auto workers = selection ? selection->Named() : std::nullopt;
  if (record.pod.empty() || record.command.empty() || !workers) {
    return MakeError(ErrorCode::kInvalidArgument, "it does not say pod, command and workers");
  }
  record.workers = *workers;
  for (const Value& value : (*document)["results"].AsList()) {
    record.results[static_cast<int>(value["worker"].AsInt(-1))] = EntryFrom(value);
  }
  return record;
}

namespace {

constexpr std::uint64_t kMostRecordBytes = std::uint64_t{64} << 20;

Result<ExecRecord> Parse(std::string_view text, const std::string& path) {
  auto record = ParseExecRecord(text);
  if (!record) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{} holds no results of `podctl exec`: {}", path, record.error().message));
  }
  return record;
}

}  // namespace

LastRun::LastRun(FileSystem& files, const Environment& environment, const std::string& state_path,
                 const std::string& address)
    : pod_(address), file_(files, environment, "exec", state_path, address) {}

void LastRun::Save(const ExecRecord& record) {
  file_.Save(ExecRecordText(record));
}

Result<ExecRecord> LastRun::Load() const {
  const auto text = file_.Load();
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return MakeError(ErrorCode::kNotFound, fmt::format("nothing was run on {} from here yet", pod_),
                     "`--retry-failed DIR` takes the results that `--output-dir DIR` wrote.");
  }
  if (!text) return text.error();
  return Parse(*text, file_.path());
}

Result<ExecRecord> LoadExecRecord(FileSystem& files, const std::string& folder) {
  const std::string path = OutputFolder::RecordPath(folder);
  const auto text = files.Read(path, kMostRecordBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return MakeError(ErrorCode::kNotFound, fmt::format("there is no results.json in {}", folder),
                     "`--output-dir` writes one; `--retry-failed last` takes the last run.");
  }
  if (!text) return text.error();
  return Parse(*text, path);
}

}  // namespace podctl
