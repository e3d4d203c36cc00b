// The records of one kind in a state, as a map from address to record. They stand in the one map of
// all kinds, side by side, since addresses are sorted by kind.
//
// Reading copies nothing; what is changed, and shared with a copy of the state, is copied then.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "state/state.h"

namespace podctl {

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

}  // namespace podctl
