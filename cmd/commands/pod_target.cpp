#include "cmd/commands/pod_target.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cmd/command_line.h"
#include "cmd/reporter.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/unknown_fate.h"
#include "plans/kinds/pod/way_in.h"

namespace podctl {
namespace {

// As whom a pod is entered that OS Login lets us into; where that is nobody, a remark says so.
void EnterAsMyself(Wiring& wiring, PodRecord* record) {
  const auto why = EnterAsMyself(*wiring.entry_doors().login(), record);
  if (!why) return;
  wiring.reporter().Note(why->asked
                             ? why->why.message + ", and the spec says `publishKey: false`."
                             : fmt::format("OS Login could not be asked ({}); entering as {}.",
                                           why->why.message,
                                           why->instead.empty() ? "the local user" : why->instead));
}

}  // namespace

Result<PodRecord> FindRecord(Wiring& wiring, const std::string& name) {
  auto store = wiring.OpenStore(wiring.StatePath());
  auto stored = store->Load();
  if (!stored) return stored.error();
  const std::string kept = stored->state ? "" : KeptWords(*store, PlaceFlags(wiring.options()));
  return FindRecord(std::move(stored->state).value_or(State{}), name, kept);
}

Result<PodTarget> TargetOf(Wiring& wiring, const std::string& name, PodRecord record) {
  std::optional<Error> unread;
  if (LacksAttributes(record)) {
    auto provider = wiring.provider();
    if (!provider) return provider.error();
    unread = LearnAttributes(**provider, wiring.interrupt().drain(), &record);
  }
  EnterAsMyself(wiring, &record);
  return TargetOf(name, record, unread, wiring.known_hosts());
}

Result<PodTarget> FindPod(Wiring& wiring, const std::string& name) {
  auto record = FindRecord(wiring, name);
  if (!record) return record.error();
  if (auto usable = CheckUsable(BarePodName(name), *record); !usable) return usable.error();
  return TargetOf(wiring, name, *std::move(record));
}

Result<ChosenWorkers> ChooseWorkers(Wiring& wiring, const std::string& name,
                                    const std::string& selection, const std::string& fallback) {
  auto target = FindPod(wiring, name);
  if (!target) return target.error();
  auto workers = SelectWorkers(*target, selection, fallback);
  if (!workers) return workers.error();
  return ChosenWorkers{*std::move(target), *std::move(workers)};
}

void RememberHostKeys(Wiring& wiring, const std::string& address,
                      const std::map<int, HostKeyText>& learned) {
  if (learned.empty()) return;
  auto store = wiring.OpenStore(wiring.StatePath());
  const auto kept = RememberHostKeys(*store, wiring.LockFor("exec"), address, learned);
  if (kept) return;
  wiring.streams().err << fmt::format(
      "The host keys seen for the first time could not be remembered: {}\n", kept.error().message);
}

}  // namespace podctl
