// What podctl remembers between runs: a record of each thing that it looks after, whatever its
// kind.
//
// A plain value: no files, no locks (store.h), no JSON (state_json.h). Which kinds there are is not
// known here; to read the records of one: RecordsOf, below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "state/address.h"
#include "state/any_record.h"

namespace podctl {

class Random;  // providers/os/clock.h

struct State {
  std::string lineage;       // a UUID, made with the first save
  std::uint64_t serial = 0;  // +1 with each save that changes something
  std::string digest_key;    // hex; keys the digests of sensitive values of this lineage
  std::map<Address, AnyRecord> records;

  friend bool operator==(const State&, const State&) = default;
};

// What a run starts from when StateStore::Load found none: lineage and digest_key are set, so that
// digests of sensitive values can be made before the first save.
State NewState(Random& random);
// A fresh key for State::digest_key: 64 hex digits that hold 244 random bits.
std::string NewDigestKey(Random& random);

// How many records there are of each kind that has some.
std::map<std::string, std::size_t> RecordCounts(const State& state);
// "found PREEMPTED at 2026-11-22T04:12:03Z, made anew by 2026-11-22T04:20:41Z".
std::string RecoveryStory(const Recovery& recovery);
// The things that are not as usual, and how: "research: PREEMPTED, being deleted"; "" for none.
std::string Remarks(const State& state);

// ---- The records of one kind in a state, as a map from address to record. They stand in the one
// map of all kinds, side by side, since addresses are sorted by kind.
//
// Reading copies nothing; what is changed, and shared with a copy of the state, is copied then.

// Lent by the state; refers to it.
template <typename T>
class RecordsOf {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::pair<const Address&, const T&>;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    class Arrow {
     public:
      explicit Arrow(value_type pair) : pair_(pair) {}
      const value_type* operator->() const { return &pair_; }

     private:
      value_type pair_;
    };
    using pointer = Arrow;

    Iterator() = default;
    explicit Iterator(std::map<Address, AnyRecord>::const_iterator at) : at_(at) {}
    value_type operator*() const { return {at_->first, at_->second.template As<T>()}; }
    Arrow operator->() const { return Arrow(**this); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    std::map<Address, AnyRecord>::const_iterator at_;
  };
  using const_iterator = Iterator;
  using value_type = typename Iterator::value_type;

  explicit RecordsOf(const State& state) : state_(state) {}

  Iterator begin() const { return Iterator(state_.records.lower_bound(Address(Kind(), ""))); }
  Iterator end() const {
    // The least that is greater than every address of the kind.
    return Iterator(state_.records.lower_bound(Address(Kind() + '\0', "")));
  }
  bool contains(const Address& address) const { return Get(address) != nullptr; }
  // nullptr where it is not there.
  const T* Get(const Address& address) const {
    if (address.kind != T::kKind) return nullptr;
    const auto found = state_.records.find(address);
    return found == state_.records.end() ? nullptr : &found->second.template As<T>();
  }
  // It must be there.
  const T& at(const Address& address) const { return state_.records.at(address).template As<T>(); }
  std::size_t size() const { return static_cast<std::size_t>(std::distance(begin(), end())); }
  bool empty() const { return begin() == end(); }

 private:
  static std::string Kind() { return std::string(T::kKind); }

  const State& state_;
};

template <typename T>
class EditableRecordsOf : public RecordsOf<T> {
 public:
  explicit EditableRecordsOf(State& state) : RecordsOf<T>(state), state_(state) {}

  // To be changed; a new one where there is none, or (`at`) it must be there. Lent until the state
  // is copied.
  T& at(const Address& address) const { return state_.records.at(address).template Edit<T>(); }
  T& operator[](const Address& address) const {
    PODCTL_CHECK(address.kind == T::kKind);
    auto found = state_.records.find(address);
    if (found == state_.records.end()) found = state_.records.emplace(address, T()).first;
    return found->second.template Edit<T>();
  }
  // False: it was not there.
  bool erase(const Address& address) const {
    return address.kind == T::kKind && state_.records.erase(address) > 0;
  }
  // `should_go` is asked with address and record.
  template <typename ShouldGo>
  void EraseIf(const ShouldGo& should_go) const {
    auto at = state_.records.lower_bound(Address(std::string(T::kKind), ""));
    while (at != state_.records.end() && at->first.kind == T::kKind) {
      at = should_go(at->first, at->second.template As<T>()) ? state_.records.erase(at)
                                                             : std::next(at);
    }
  }
  void clear() const {
    EraseIf([](const Address&, const T&) { return true; });
  }

 private:
  State& state_;
};

// ---- What became of one record between two states: the unit in which a run tells a store what it
// did.

struct RecordChange {
  Address address;
  std::optional<AnyRecord> before;  // nullopt: there was none
  std::optional<AnyRecord> after;   // nullopt: there is none any more
};

// Calls `take` with each key of two maps, in order, and what each has there (nullptr: nothing).
template <typename Map, typename Take>
void EachOf(const Map& before, const Map& after, const Take& take) {
  auto old = before.begin();
  auto now = after.begin();
  while (old != before.end() || now != after.end()) {
    const bool only_now = old == before.end() || (now != after.end() && now->first < old->first);
    const bool only_old = !only_now && (now == after.end() || old->first < now->first);
    take(only_now ? now->first : old->first, only_now ? nullptr : &old->second,
         only_old ? nullptr : &now->second);
    if (!only_now) ++old;
    if (!only_old) ++now;
  }
}

// In the order of addresses. Records that the states share cost a comparison of pointers.
std::vector<RecordChange> ChangesBetween(const State& before, const State& after);

// Makes of the state that `changes` lead from the one that they lead to.
void Apply(const std::vector<RecordChange>& changes, State* state);

}  // namespace podctl
