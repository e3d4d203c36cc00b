// Declared in state_json.h.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "state/record_codec.h"
#include "state/state_json.h"

namespace podctl {
namespace {

struct Owned {
  const Address& address;
  const Object& object;
  int parts;
};

// Under one name there may be two after each other: the later one is begun while the deletion of
// the earlier one is not yet settled, or one that somebody else deleted is still remembered. Their
// uids tell them apart.
bool MayFollow(const Object& a, const Object& b) {
  if (!a.uid.empty() && !b.uid.empty()) return a.uid != b.uid;
  const auto goes_before = [](const Object& old, const Object& fresh) {
    return std::holds_alternative<Deleting>(old.life) &&
           std::holds_alternative<Creating>(fresh.life);
  };
  return goes_before(a, b) || goes_before(b, a);
}

// The uid of one part; that of the whole is made of them all, "1+2".
std::string PartOfUid(std::string_view whole, int part) {
  for (; part > 0; --part) {
    const auto end = whole.find('+');
    if (end == std::string_view::npos) return {};
    whole.remove_prefix(end + 1);
  }
  return std::string(whole.substr(0, whole.find('+')));
}

class Search {
 public:
  explicit Search(const State& state) {
    for (const auto& [address, record] : state.records) {
      for (NamedObject& named : record.codec().Named(record)) {
        // Where nobody has seen it, its name may be taken, which its creation finds out.
        if (!named.object.exists()) continue;
        Add({address, named.object, named.parts}, std::move(named.name));
      }
    }
    for (const auto& [name, owned] : by_name_) FindParts(name, owned);
  }
  const std::string& found() const { return found_; }

 private:
  void Add(const Owned& owned, std::string name) {
    // A project has an id and a number, so that one object may have two names.
    if (const auto& [locator, uid, life] = owned.object; !uid.empty()) {
      const auto [first, is_new] =
          by_uid_.emplace(std::tuple<std::string_view, std::string_view, std::string_view>(
                              uid, locator, owned.address.kind),
                          owned);
      if (!is_new) Tell(first->second, owned, "uid " + uid);
    }
    const auto [begin, end] = by_name_.equal_range(name);
    for (auto other = begin; other != end && found_.empty(); ++other) {
      const bool alike = (other->second.parts == 1) == (owned.parts == 1);
      if (alike) Compare(other->second, owned, name);
    }
    if (found_.empty()) by_name_.emplace_hint(end, std::move(name), owned);
  }

  // Those that have the name of a part of `whole`.
  void FindParts(const std::string& name, const Owned& whole) {
    if (whole.parts == 1) return;
    const std::string head = name + "-";
    for (auto other = by_name_.lower_bound(head);
         other != by_name_.end() && other->first.starts_with(head); ++other) {
      const std::string_view number = std::string_view(other->first).substr(head.size());
      int part = 0;
      std::from_chars(number.data(), number.data() + number.size(), part);
      const bool is_part = part < whole.parts && number == std::to_string(part);
      if (!is_part || other->second.parts != 1) continue;
      Object one = whole.object;
      one.uid = PartOfUid(one.uid, part);
      Compare({whole.address, one, 1}, other->second, other->first);
    }
  }

  void Compare(const Owned& a, const Owned& b, const std::string& name) {
    if (!MayFollow(a.object, b.object)) Tell(a, b, name);
  }
  // Of one record every object is shown, and dealt with by itself.
  void Tell(const Owned& a, const Owned& b, const std::string& name) {
    if (!found_.empty() || a.address == b.address) return;
    found_ = fmt::format("{} and {} stand for the same object, {}", a.address, b.address, name);
  }

  std::multimap<std::string, Owned> by_name_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, Owned>
      by_uid_;  // uid, locator, kind
  std::string found_;
};

}  // namespace

std::string WhatIsShared(const State& state) {
  return Search(state).found();
}

}  // namespace podctl
