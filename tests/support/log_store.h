// A state store that writes each change down by itself: a snapshot, which is a LocalStore's file,
// and a log of the changes since. What a run sees of it is what every store promises; what it sees
// of a run is whether the changes that are handed to Append are the true ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "state/state.h"
#include "state/state_json.h"
#include "state/stores/local_store.h"

namespace podctl::testing {

// Outlives the stores that are opened on it.
struct ChangeLog {
  std::string snapshot;            // the token of the generation that the lines follow
  std::vector<std::string> lines;  // {"serial": N, "changes": {ADDRESS: record or null}}
  std::size_t appended = 0;        // lines that were ever written
  std::function<Result<void>()> may_act = {};  // of a store whose lock runs out
};

class LogStore final : public StateStore {
 public:
  LogStore(std::unique_ptr<LocalStore> snapshots, ChangeLog& log, RecordKinds kinds)
      : snapshots_(std::move(snapshots)), log_(log), kinds_(kinds) {}

  Result<Snapshot> Load() override {
    Result<Snapshot> loaded = snapshots_->Load();
    if (!loaded || !loaded->state) return loaded;
    snapshot_at_ = loaded->generation;
    if (log_.snapshot != loaded->generation.token) return loaded;
    for (const std::string& line : log_.lines) {
      if (auto replayed = Replay(line, &*loaded->state); !replayed) return replayed.error();
    }
    if (!log_.lines.empty()) loaded->generation.token = Token();
    return loaded;
  }

  Result<void> Save(State& state, Generation* at) override {
    Result<Snapshot> stored = Stored(*at);
    if (!stored) return stored.error();
    if (!stored->state) return snapshots_->Save(state, at);
    if (Continues(*stored->state, state)) {
      return Write(*stored, ChangesBetween(*stored->state, state), state, at);
    }
    return Refused("it does not continue what is stored");
  }

  Result<void> Append(State& state, const std::vector<RecordChange>& changes,
                      Generation* at) override {
    Result<Snapshot> stored = Stored(*at);
    if (!stored) return stored.error();
    if (!stored->state) return Refused("there is nothing that changes could follow");
    if (!Continues(*stored->state, state)) return Refused("it does not continue what is stored");
    State reached = *stored->state;
    for (const RecordChange& change : changes) {
      const auto known = reached.records.find(change.address);
      const bool is_there = known != reached.records.end();
      if (is_there != change.before.has_value() || (is_there && known->second != *change.before)) {
        return Refused("the change of " + change.address.Text() + " begins with another record");
      }
    }
    Apply(changes, &reached);
    if (reached.records != state.records) return Refused("the changes do not lead to the state");
    return Write(*stored, changes, state, at);
  }

  Result<void> Push(State& state, Generation* at) override {
    Result<Snapshot> stored = Stored(*at);
    if (!stored) return stored.error();
    if (stored->state && state.serial <= stored->state->serial) {
      state.serial = stored->state->serial + 1;
    }
    *at = snapshot_at_;
    if (auto pushed = snapshots_->Push(state, at); !pushed) return pushed;
    log_.lines.clear();
    return {};
  }

  Result<void> MayAct() override { return log_.may_act ? log_.may_act() : Result<void>(); }
  Result<std::vector<HistoryEntry>> History() override { return snapshots_->History(); }
  Result<State> LoadHistory(std::uint64_t serial) override {
    return snapshots_->LoadHistory(serial);
  }
  Result<std::string> SaveAside(const State& state) override {
    return snapshots_->SaveAside(state);
  }
  void DropAside(const std::string& where) override { snapshots_->DropAside(where); }
  Result<std::unique_ptr<StateLock>> Lock(const LockInfo& info, const LockWait& wait,
                                          std::stop_token stop) override {
    return snapshots_->Lock(info, wait, std::move(stop));
  }
  Result<void> ForceUnlock(const std::string& id) override { return snapshots_->ForceUnlock(id); }
  std::string Where() const override { return snapshots_->Where(); }

 private:
  static Error Refused(const std::string& why) {
    return MakeError(ErrorCode::kFailedPrecondition, "the state was not saved: " + why);
  }

  static bool Continues(const State& stored, const State& state) {
    return stored.lineage == state.lineage && stored.serial == state.serial;
  }

  // What is stored, provided that it is `at`.
  Result<Snapshot> Stored(const Generation& at) {
    Result<Snapshot> stored = Load();
    if (stored && stored->generation != at) return Refused("somebody else saved it meanwhile");
    return stored;
  }

  Result<void> Write(const Snapshot& stored, const std::vector<RecordChange>& changes, State& state,
                     Generation* at) {
    if (changes.empty() && stored.state->digest_key == state.digest_key) return {};
    ++state.serial;
    Value line = Value::EmptyMap();
    line.Set("serial", state.serial);
    line.Set("digest_key", state.digest_key);
    Value::Map records;
    for (const RecordChange& change : changes) {
      records[change.address.Text()] = change.after ? Value(RecordToJson(*change.after)) : Value();
    }
    line.Set("changes", Value(std::move(records)));
    if (log_.snapshot != snapshot_at_.token) log_.lines.clear();
    log_.snapshot = snapshot_at_.token;
    log_.lines.push_back(ToJson(line));
    ++log_.appended;
    at->token = Token();
    return {};
  }

  Result<void> Replay(const std::string& line, State* state) const {
    const Result<Value> read = ParseJson(line);
    PODCTL_CHECK(read.has_value());
    state->serial = static_cast<std::uint64_t>((*read)["serial"].AsInt());
    state->digest_key = (*read)["digest_key"].AsString();
    for (const auto& [name, text] : (*read)["changes"].AsMap()) {
      const auto address = ParseAddress(name);
      PODCTL_CHECK(address.has_value());
      if (text.is_null()) {
        state->records.erase(*address);
        continue;
      }
      Result<AnyRecord> record = RecordFromJson(text.AsString(), *address, kinds_, Where());
      if (!record) return record.error();
      state->records.insert_or_assign(*address, *record);
    }
    return {};
  }

  std::string Token() const {
    return log_.snapshot + "+" + std::to_string(log_.lines.size()) + Sha256Hex(log_.lines.back());
  }

  std::unique_ptr<LocalStore> snapshots_;
  ChangeLog& log_;
  RecordKinds kinds_;
  Generation snapshot_at_;
};

}  // namespace podctl::testing
