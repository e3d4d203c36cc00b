// What must hold of a journal whatever happens to who writes it: what was acknowledged is read back
// by every later reader, what is read is what somebody meant to write, no run's entry follows
// another run's fence, and nothing stands there twice.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "providers/base/json.h"
#include "state/state_json.h"
#include "tests/state/stores/journal_bench.h"

namespace podctl::testing {

class JournalOracle {
 public:
  // A save of `state` is about to be tried.
  void Meant(const State& state) { meant_.insert(CanonicalResources(state)); }
  void Acknowledged(const State& state, const Generation& at) {
    const std::uint64_t number = NumberOf(at);
    const auto [known, fresh] = acknowledged_.emplace(number, CanonicalResources(state));
    EXPECT_TRUE(fresh) << "entry " << number << " was acknowledged twice";
    tokens_.insert(at.token);
    newest_ = std::max(newest_, number);
  }
  // To be asked before a reader begins.
  std::uint64_t newest() const { return newest_; }
  void Read(const Snapshot& read, std::uint64_t newest_before) const {
    const std::uint64_t number = NumberOf(read.generation);
    EXPECT_GE(number, newest_before) << "what was acknowledged is not read back";
    if (!read.state) return;
    const std::string text = CanonicalResources(*read.state);
    const auto acknowledged = acknowledged_.find(number);
    if (acknowledged != acknowledged_.end()) {
      EXPECT_EQ(text, acknowledged->second) << "another content was acknowledged as " << number;
    } else {
      EXPECT_TRUE(meant_.contains(text)) << "entry " << number << " leads to what nobody meant";
    }
  }

  // What stands there in the end. `marks`: each was written at most once.
  void CheckJournal(FakePlace& place) const {
    std::map<std::int64_t, std::string> writers;  // by epoch
    std::set<std::string> marks;
    std::int64_t epoch = 0;
    const Value snapshot = ParseJson(place.Text(kSnapshotName).value_or("{}")).value_or(Value());
    const std::int64_t from = snapshot["journal"]["journal_from"].AsInt(1);
    for (const auto& [name, object] : place.All()) {
      if (!EntryNumber(name)) continue;
      const Value entry = ParseJson(object.bytes).value_or(Value());
      // What is covered may hold fences that came too late to count, where another was deleted.
      const std::string token = fmt::format("{}:{}", entry["entry"]["number"].AsInt(),
                                            entry["entry"]["write_id"].AsString());
      if (static_cast<std::int64_t>(*EntryNumber(name)) < from && !tokens_.contains(token)) {
        continue;
      }
      const std::int64_t now = entry["entry"]["epoch"].AsInt();
      EXPECT_GE(now, epoch) << name << " follows a fence of another run";
      epoch = now;
      const std::string writer = writers.emplace(now, object.writer).first->second;
      EXPECT_EQ(writer, object.writer) << name << ": two runs write in one epoch";
      for (const auto& [address, record] : entry["changes"].AsMap()) {
        if (!address.starts_with("pod.")) continue;
        for (const Value& one : record["objects"].AsList()) {
          const std::string mark = one["uid"].AsString();
          if (!mark.starts_with("mark ")) continue;
          EXPECT_TRUE(marks.insert(address + mark).second) << mark << " stands there twice";
        }
      }
    }
  }

 private:
  static std::uint64_t NumberOf(const Generation& at) {
    return at.none() ? 0 : std::stoull(at.token.substr(0, at.token.find(':')));
  }

  std::set<std::string> meant_;
  std::map<std::uint64_t, std::string> acknowledged_;
  std::set<std::string> tokens_;  // of what was acknowledged
  std::uint64_t newest_ = 0;
};

}  // namespace podctl::testing
