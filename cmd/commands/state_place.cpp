// podctl lock status, unlock and state init: looking after the place where the state is.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cmd/command.h"
#include "cmd/command_line.h"
#include "cmd/reporter.h"
#include "cmd/wiring.h"
#include "providers/base/text.h"
#include "providers/etcd/place.h"
#include "state/store.h"

namespace podctl {
namespace {

struct UnlockOptions {
  std::string id;
  bool if_stale = false;
};

struct StateInitOptions {
  std::string location;  // empty: the region of the spec's zone, else US
};

// Beside the life of a lock, until it has been seen to stand still for so long.
constexpr std::chrono::seconds kLooks{15};

Value LockDocument(const LockInfo& lock) {
  Value::Map document{{"id", lock.id},           {"operation", lock.operation},
                      {"who", lock.who},         {"host", lock.host},
                      {"pid", Value(lock.pid)},  {"command", lock.command},
                      {"created", lock.created}, {"version", lock.version}};
  if (!lock.commit.empty()) document["commit"] = lock.commit;
  if (!lock.run_url.empty()) document["run_url"] = lock.run_url;
  return document;
}

int RunLockStatus(Wiring& wiring) {
  Reporter& reporter = wiring.reporter();
  const auto store = wiring.OpenStore();
  // Who cannot read the state cannot tell that nobody holds it.
  if (auto stored = store->Load(); !stored && stored.error().code != ErrorCode::kDataLoss) {
    return reporter.ShowFailure(stored.error());
  }
  if (auto place = store->CheckLockPlace(); !place) return reporter.ShowFailure(place.error());
  const auto lock = store->Holder();
  const auto left = lock ? std::nullopt : store->LeftBehind();
  const auto document = [&] {
    Value::Map shown{{"locked", lock.has_value()}, {"path", store->Where()}};
    if (!lock && !store->TellsHolder()) shown["locked"] = nullptr;
    if (lock) shown["lock"] = LockDocument(*lock);
    if (left) shown["left_behind"] = LockDocument(*left);
    return shown;
  };
  reporter.Document(document, [&](Streams& streams) {
    if (!lock && !store->TellsHolder()) {
      streams.out << fmt::format(
          "Whether somebody holds the state {} its server tells only to who tries to lock it: "
          "podctl unlock --if-stale\n",
          store->Where());
      return;
    }
    if (!lock) {
      streams.out << fmt::format("Nobody holds the state {}.\n", store->Where());
      if (left) {
        streams.out << fmt::format(
            "The lock of {} ({}, process {}) stands there, and its run has ended: the next one "
            "takes it over.\n",
            VisibleControls(left->who), VisibleControls(left->operation), left->pid);
      }
      return;
    }
    LockInfo shown = *lock;
    if (shown.path.empty()) shown.path = store->Where();
    streams.out << LockInfoBlock(shown) << "\n";
    if (store->LockLife().count() > 0) {
      streams.out << fmt::format(
          "A run that died is overtaken {} after its last sign of life. To find out whether this "
          "one has: podctl unlock --if-stale\n",
          FormatDuration(store->LockLife()));
    }
  });
  return 0;
}

// To take the lock is what tells whether its holder has died, and to release it is what was asked.
int UnlockIfStale(Reporter& reporter, StateStore& store, LockRequest request,
                  const std::stop_token& stop) {
  const bool was_locked = store.Holder().has_value();
  const auto life = store.LockLife();
  request.wait.timeout = life.count() > 0 ? life + kLooks : life;
  auto lock = store.Lock(request.info(), request.wait, stop);
  if (!lock) {
    Error error = lock.error();
    if (error.code == ErrorCode::kLocked && life.count() > 0) {
      error.hint = "It gave signs of life while podctl looked: it is not stale.";
    } else if (error.code == ErrorCode::kLocked && IsStateUrl(store.Where())) {
      error.hint =
          "Whether that run has ended cannot be told from here: locks of this server do not run "
          "out. Look at the run; if it is sure that it has ended, unlock the state by the ID.";
    }
    return reporter.ShowFailure(error);
  }
  const std::string note = (*lock)->TakeoverNote();
  const bool unlocked = !note.empty();
  reporter.Document(
      [&] {
        return Value::Map{{"unlocked", unlocked}, {"note", note}};
      },
      [&](Streams& streams) {
        if (unlocked) {
          streams.out << fmt::format("The state has been unlocked: {}.\n", note);
        } else {
          streams.out << fmt::format("Nobody holds the state {}{}.\n", store.Where(),
                                     was_locked ? " any more" : "");
        }
      });
  return 0;
}

int RunUnlock(Wiring& wiring, const UnlockOptions& options) {
  const std::string& id = options.id;
  Reporter& reporter = wiring.reporter();
  const auto store = wiring.OpenStore();
  if (options.if_stale) {
    return UnlockIfStale(reporter, *store, wiring.lock_request("unlock"),
                         wiring.interrupt().drain());
  }
  if (auto unlocked = store->ForceUnlock(id); !unlocked) {
    return reporter.ShowFailure(unlocked.error());
  }
  const auto document = [&] { return Value::Map{{"unlocked", id}}; };
  reporter.Document(document, [](Streams& streams) {
    streams.out << "The state has been unlocked: podctl commands can take the lock again.\n";
  });
  return 0;
}

std::string UnlockConflict(const UnlockOptions& options, const GlobalOptions& global) {
  if (!global.lock && options.if_stale) {
    return "`--if-stale` tries the lock: it does not go with `--lock=false`";
  }
  if (options.id.empty() != options.if_stale) {
    return options.if_stale ? "`--if-stale` finds the lock itself: give no ID"
                            : "which lock? Give its ID, or --if-stale";
  }
  return "";
}

// Nothing is made there, but whoever asks wants to know that the first apply will find it.
int CheckEtcd(Reporter& reporter, StateStore& store, const std::string& place) {
  if (auto stored = store.Load(); !stored) return reporter.ShowFailure(stored.error());
  reporter.Document(
      [&] {
        return Value::Map{{"made", false}, {"path", place}};
      },
      [&](Streams& streams) {
        streams.out << fmt::format(
            "The state {} is in etcd, where nothing has to be made: the first apply writes it.\n",
            place);
      });
  return 0;
}

int RunStateInit(Wiring& wiring, const StateInitOptions& options) {
  Reporter& reporter = wiring.reporter();
  const std::string place = wiring.StatePath();
  if (!MeantStateUrl(place).empty()) {
    return reporter.ShowFailure(wiring.OpenStore(place)->Load().error());
  }
  if (!IsStateUrl(place) || place.starts_with("http")) {
    reporter.Document(
        [&] {
          return Value::Map{{"made", false}, {"path", place}};
        },
        [&](Streams& streams) {
          streams.out << fmt::format("The state {} is {}made by the first apply.\n", place,
                                     IsStateUrl(place) ? "" : "a file, and ");
        });
    return 0;
  }
  if (etcd::IsPlace(place)) return CheckEtcd(reporter, *wiring.OpenStore(place), place);
  Diagnostics ignored;
  const Spec spec = wiring.ReadSpec(ignored);
  const std::string& project = spec.project;
  if (project.empty()) {
    return reporter.ShowFailure(MakeError(ErrorCode::kInvalidArgument,
                                          "in which project is the bucket to be made?",
                                          "write `project:` into the spec, or give --project"));
  }
  // Regions have the same names there.
  const std::string region = spec.zone.substr(0, std::min(spec.zone.rfind('-'), spec.zone.size()));
  const std::string location = !options.location.empty() ? options.location
                               : region.empty()          ? "US"
                                                         : region;
  const auto made = wiring.MakeStateBucket(place, project, location);
  if (!made) return reporter.ShowFailure(made.error());
  const auto document = [&] { return Value::Map{{"made", *made}, {"path", place}}; };
  reporter.Document(document, [&](Streams& streams) {
    if (*made) {
      streams.out << fmt::format("Made the bucket of {} in {}, with uniform access and versions.\n",
                                 place, location);
    } else {
      streams.out << fmt::format("The bucket of {} is there already, and is left as it is.\n",
                                 place);
    }
  });
  return 0;
}

constexpr Flag kUnlockFlags[] = {
    OneValue<&UnlockOptions::id>("ID", "", "the lock's ID, as the error shows it"),
    Switch<&UnlockOptions::if_stale>(
        "--if-stale", "the lock of a run that has died; looks for as long as it would live"),
};

constexpr Flag kInitFlags[] = {
    OneValue<&StateInitOptions::location>(
        "--location", "LOCATION",
        "of the bucket: a region such as europe-west4, or US, EU, ASIA (default: that of the "
        "spec's zone)"),
};

}  // namespace

const Command commands::kLock("lock", "look after the lock of the state");

const Command commands::kLockStatus("lock status", "show who holds the state", {},
                                    WithWorld<RunLockStatus>);

const Command commands::kUnlock("unlock", "release a lock that was left behind", kUnlockFlags,
                                WithWorld<RunUnlock>, UnlockConflict);

const Command commands::kStateInit("state init", "make the bucket that the state is to be in",
                                   kInitFlags, WithWorld<RunStateInit>);

}  // namespace podctl
