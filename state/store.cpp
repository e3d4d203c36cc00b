#include "state/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

Error Refused(std::string message) {
  return MakeError(ErrorCode::kFailedPrecondition, std::move(message),
                   "Make sure that it is the state you mean; `--force` pushes it all the same.");
}

// The texts of a lock, by Terraform's names.
constexpr std::pair<const char*, std::string LockInfo::*> kTexts[] = {
    {"ID", &LockInfo::id},           {"Operation", &LockInfo::operation},
    {"Info", &LockInfo::command},    {"Who", &LockInfo::who},
    {"Version", &LockInfo::version}, {"Created", &LockInfo::created},
    {"Path", &LockInfo::path},       {"Host", &LockInfo::host}};
// Ours, left out where they say nothing.
constexpr std::pair<const char*, std::string LockInfo::*> kSpareTexts[] = {
    {"Commit", &LockInfo::commit}, {"RunUrl", &LockInfo::run_url}};

// Whoever may write to the place decides how long it is, and it is shown to whoever waits.
std::string ForeignText(const std::string& text) {
  constexpr std::size_t kMostBytes = 1000;  // room for a command line
  return text.size() <= kMostBytes ? text : text.substr(0, kMostBytes) + "…";
}

class HoldsNothing final : public StateLock {
 public:
  std::string TakeoverNote() const override { return ""; }
};

}  // namespace

std::string MeantStateUrl(std::string_view place) {
  if (IsStateUrl(place)) return "";
  for (const std::string_view scheme : {"gs:", "etcd:", "etcds:", "https:", "http:"}) {
    if (!place.starts_with(scheme)) continue;
    const std::size_t rest = std::min(place.find_first_not_of('/', scheme.size()), place.size());
    return fmt::format("{}//{}", scheme, place.substr(rest));
  }
  return "";
}

std::unique_ptr<StateLock> NoStateLock() {
  return std::make_unique<HoldsNothing>();
}

Result<void> CheckPush(const Snapshot& stored, const State& pushed, bool force) {
  if (force || !stored.state) return {};
  const State& present = *stored.state;
  if (present.records.empty()) return {};
  if (pushed.lineage != present.lineage) {
    return Refused(
        fmt::format("cannot import state with lineage \"{}\" over unrelated state with lineage "
                    "\"{}\"",
                    pushed.lineage, present.lineage));
  }
  if (pushed.serial < present.serial) {
    return Refused(fmt::format("cannot import state with serial {} over newer state with serial {}",
                               pushed.serial, present.serial));
  }
  if (pushed.serial == present.serial && !(pushed == present)) {
    return Refused(
        fmt::format("cannot overwrite existing state with serial {} with a different "
                    "state that has the same serial",
                    pushed.serial));
  }
  return {};
}

std::string LockInfoToJson(const LockInfo& info) {
  Value out = Value::EmptyMap();
  for (const auto& [name, member] : kTexts) out.Set(name, info.*member);
  out.Set("Pid", info.pid);
  for (const auto& [name, member] : kSpareTexts) {
    if (!(info.*member).empty()) out.Set(name, info.*member);
  }
  return ToJson(out) + "\n";
}

std::optional<LockInfo> LockInfoFromJson(std::string_view text) {
  Result<Value> value = ParseJson(text);
  if (!value || (*value)["ID"].AsString().empty()) return std::nullopt;
  LockInfo info;
  for (const auto& [name, member] : kTexts) info.*member = ForeignText((*value)[name].AsString());
  for (const auto& [name, member] : kSpareTexts) {
    info.*member = ForeignText((*value)[name].AsString());
  }
  const std::int64_t pid = (*value)["Pid"].AsInt();
  if (pid > 0 && pid <= INT32_MAX) info.pid = static_cast<int>(pid);
  return info;
}

bool MayBeCutLockInfo(std::string_view text) {
  if (text.find_first_not_of('\0') == std::string_view::npos) return true;
  const std::string whole = LockInfoToJson({});
  const std::string_view begin = std::string_view(whole).substr(0, whole.find(':'));
  return text.starts_with(begin) || begin.starts_with(text);
}

std::string LockInfoBlock(const LockInfo& info) {
  std::string block = "Lock Info:";
  auto line = [&](std::string_view label, const std::string& text) {
    block +=
        fmt::format("\n  {:<10} {}", label, text.empty() ? "(unknown)" : VisibleControls(text));
  };
  line("ID:", info.id);
  line("Path:", info.path);
  line("Operation:", info.operation);
  line("Who:", info.who);
  line("Version:", info.version);
  line("Created:", info.created);
  // What follows is read by people only: the tools' patterns end with the line above.
  if (!info.command.empty()) line("Info:", info.command);
  if (!info.host.empty()) line("Host:", info.host);
  if (!info.commit.empty()) line("Commit:", info.commit);
  if (!info.run_url.empty()) line("CI run:", info.run_url);
  if (info.pid > 0) line("Process:", fmt::format("{}", info.pid));
  return block;
}

}  // namespace podctl
