#include "plans/ci/policy.h"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/value.h"

namespace podctl {
namespace {

constexpr const char* kFolder = "policy";
constexpr std::chrono::minutes kLimit(2);
// Of one sentence of a policy, which may quote what it likes.
constexpr std::size_t kMostBytes = 2000;

// No longer than that, and no broken UTF-8 at its end.
std::string Short(std::string_view text) {
  if (text.size() <= kMostBytes) return std::string(text);
  std::size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "…";
}

bool IsFolder(FileSystem& files, const std::string& path) {
  const auto info = files.Stat(path);
  return info && info->kind == FileInfo::Kind::kFolder;
}

// {"msg": …, "metadata": …}, of a list that conftest leaves out, or writes as null, where it is
// empty.
Result<void> TakeSentences(const Value& list, Severity severity, const std::string& summary,
                           Diagnostics* to) {
  if (list.is_null()) return {};
  if (!list.is_list()) return MakeError(ErrorCode::kDataLoss, "what conftest says is no list");
  for (const Value& item : list.AsList()) {
    if (!item.is_map() || !item["msg"].is_string()) {
      return MakeError(ErrorCode::kDataLoss, "conftest says something without words");
    }
    to->Add({.severity = severity, .summary = summary, .detail = Short(item["msg"].AsString())});
  }
  return {};
}

std::string Assignment(const PolicyDoors& doors, const std::string& name,
                       const std::string& otherwise) {
  return name + "=" + doors.environment.Get(name).value_or(otherwise);
}

}  // namespace

Result<std::string> FindPolicies(FileSystem& files, const std::string& given,
                                 const std::string& checkout) {
  if (!given.empty()) {
    if (IsFolder(files, given)) return given;
    return MakeError(ErrorCode::kNotFound, fmt::format("`{}` is no folder", VisibleControls(given)),
                     "--policy names the one that has the policies");
  }
  if (IsFolder(files, kFolder)) return std::string(kFolder);
  const std::string of_repository = checkout + "/" + kFolder;
  if (!checkout.empty() && IsFolder(files, of_repository)) return of_repository;
  return std::string();
}

Result<Diagnostics> AskPolicies(const PolicyDoors& doors, const std::string& folder,
                                const std::string& file) {
  const auto asked = doors.processes.Run(
      {"env", "-i", Assignment(doors, "PATH", "/usr/local/bin:/usr/bin:/bin"),
       Assignment(doors, "HOME", "/"), Assignment(doors, "TMPDIR", "/tmp"), "conftest", "test",
       "--output", "json", "--all-namespaces", "--policy", folder, "--parser", "json", "--", file},
      kLimit, doors.stop);
  if (!asked) return asked.error();
  // As env(1) tells that it has found no such program.
  constexpr int kNoProgram = 127;
  if (asked->exit_code == kNoProgram) {
    return MakeError(ErrorCode::kNotFound,
                     fmt::format("`{}` has policies, and there is no conftest in the PATH to hold "
                                 "the plan against them",
                                 VisibleControls(folder)),
                     "install it (conftest.dev), or take the folder away");
  }
  // It ends with 1 where something is denied, and also where it could not tell.
  auto verdicts = ReadVerdicts(asked->out);
  if (verdicts && (asked->exit_code == 0 || verdicts->has_errors())) return verdicts;
  const std::string_view why = TrimBlanks(asked->err.empty() ? asked->out : asked->err);
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("conftest ended with {}: {}", asked->exit_code, Short(why)));
}

Result<Diagnostics> ReadVerdicts(std::string_view json) {
  const auto read = ParseJson(json);
  if (!read) return read.error();
  if (!read->is_list()) {
    return MakeError(ErrorCode::kDataLoss, "what conftest has answered is no list");
  }
  Diagnostics verdicts;
  for (const Value& one : read->AsList()) {
    if (!one.is_map()) {
      return MakeError(ErrorCode::kDataLoss, "what conftest has answered is no list of verdicts");
    }
    const std::string name = one["namespace"].is_string()
                                 ? fmt::format("Policy `{}`", one["namespace"].AsString())
                                 : "A policy";
    if (auto taken =
            TakeSentences(one["failures"], Severity::kError, name + " denies it", &verdicts);
        !taken) {
      return taken.error();
    }
    if (auto taken = TakeSentences(one["warnings"], Severity::kWarning, name + " warns", &verdicts);
        !taken) {
      return taken.error();
    }
  }
  return verdicts;
}

}  // namespace podctl
