#include "providers/emulator/service/service.h"

#include <algorithm>
#include <utility>

namespace podctl::emulator {

Service::Service(Settings settings, Limits limits, Journal* journal, WorkerFarm* farm)
    : core(settings, std::move(limits), journal, farm),
      logins(&core,
             [this] {
               for (const auto& [name, node] : machines.rows()) machines.Tell(node);
             }),
      machines(&core, &logins, &queue),
      queue(&core, &machines),
      nodes(&core, &machines),
      queued_resources(&core, &machines, &queue),
      custom_jobs(&core),
      secrets(&core),
      storage(&core) {
  core.collections = {&nodes, &queued_resources, &custom_jobs};
}

Service::~Service() {
  Stop();
}

Result<void> Service::Start() {
  const auto lock = Lock();
  for (const auto& [key, record] : core.journal->TakeEntries()) Restore(key, record);
  if (auto resumed = machines.Resume(); !resumed) return resumed;
  thread_ = std::thread([this] { Run(); });
  return {};
}

void Service::Stop() {
  {
    const auto lock = Lock();
    stopping_ = true;
  }
  core.changed.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Service::Restore(std::string_view key, const Value& record) {
  const std::size_t colon = std::min(key.find(':'), key.size());
  const std::string_view kind = key.substr(0, colon);
  const std::string name(key.substr(std::min(colon + 1, key.size())));
  if (kind == "operation") core.operations.Restore(name, record);
  if (kind == "clock") {
    core.clock.Advance(std::chrono::milliseconds(record["skippedMs"].AsInt()));
  }
  if (kind == "login" || kind == "projectMetadata") logins.Restore(kind, name, record);
  if (kind == "secret") secrets.Restore(name, record);
  if (kind == "storageBucket" || kind == "storageObject") storage.Restore(kind, name, record);
  for (Collection* collection : core.collections) {
    if (collection->kind == kind) collection->Restore(name, record);
  }
}

void Service::Run() {
  auto lock = Lock();
  while (!stopping_) {
    const std::int64_t now = core.clock.NowMs();
    core.operations.Run(now);
    std::int64_t next = now + 3'600'000;
    for (Collection* collection : core.collections) next = std::min(next, collection->Tend(now));
    next = std::min(next, core.operations.NextDue());
    core.changed.wait_until(lock, std::chrono::system_clock::time_point(
                                      std::chrono::milliseconds(next - core.clock.skipped_ms())));
  }
}

Value Service::Overview() const {
  Value overview =
      Value::Map{{"limits", core.capacity.limits.ToValue()}, {"time", core.clock.Timestamp()}};
  for (const Collection* collection : core.collections) {
    overview.Set(collection->word, collection->Overview());
  }
  return overview;
}

void Service::Advance(std::chrono::milliseconds by) {
  const std::int64_t before = core.clock.NowMs();
  core.clock.Advance(by);
  // A full disk shows at the next request.
  static_cast<void>(
      core.journal->Put("clock:", Value::Map{{"skippedMs", core.clock.skipped_ms()}}));
  core.operations.Shift(before, by.count());
  core.changed.notify_all();
}

}  // namespace podctl::emulator
