#include "plans/spec/moves_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "plans/spec/names.h"
#include "state/thing_name.h"

namespace podctl {
namespace {

constexpr std::size_t kMostMoves = 20'000;

class MovesReader {
 public:
  struct Entry {
    MovedSpec move;
    const YamlNode* from = nullptr;
    const YamlNode* to = nullptr;
    Slot slot;
  };

  MovesReader(ValueReader& reader, Kinds kinds)
      : reader_(reader), kinds_(kinds), shape_(MovesShape(kinds).of.front()) {}

  void Read(const YamlNode& moved) {
    const Slot slot{"", "moved"};
    if (!reader_.ExpectList(moved, slot)) return;
    if (entries_.size() + moved.items.size() > kMostMoves) {
      reader_.Error(moved, slot, fmt::format("more than {} moves", kMostMoves));
      return;
    }
    for (std::size_t i = 0; i < moved.items.size(); ++i) {
      ReadEntry(*moved.items[i], {"", fmt::format("moved[{}]", i)});
    }
  }

  void ReadEntry(const YamlNode& node, const Slot& slot) {
    Entry entry;
    entry.slot = slot;
    entry.move.place = node.Place();
    const auto read_from = [&](const YamlNode& value, const Slot& at) {
      entry.from = &value;
      entry.move.from = ReadAddress(value, at);
    };
    const auto read_to = [&](const YamlNode& value, const Slot& at) {
      entry.to = &value;
      entry.move.to = ReadAddress(value, at);
    };
    if (!reader_.ReadMap(node, slot, shape_, {{"from", read_from}, {"to", read_to}})) return;
    const std::size_t known = (entry.from == nullptr ? 0U : 1U) + (entry.to == nullptr ? 0U : 1U);
    for (const auto& [found, name] : {std::pair{entry.from, "from"}, std::pair{entry.to, "to"}}) {
      if (found != nullptr || known < node.entries.size()) continue;  // it may be a misspelled one
      reader_.Error(node, slot, fmt::format("the move has no `{}`", name),
                    "write {from: pod.old, to: pod.new}");
    }
    if (entry.move.from.empty() || entry.move.to.empty()) return;
    entry.move.place = entry.from->Place();
    entries_.push_back(std::move(entry));
  }

  // The kind of a whole thing that may have another name; nullptr: it is none.
  const Kind* Movable(const Address& address) const {
    const Kind* kind = FindKind(kinds_, address.kind);
    const bool plain = address.key.empty() && address.deposed.empty() && IsThingName(address.name);
    return kind != nullptr && kind->moves() && plain ? kind : nullptr;
  }

  // An empty one after a report.
  Address ReadAddress(const YamlNode& node, const Slot& slot) {
    const auto text = reader_.ReadPlain(node, slot);
    if (!text) return {};
    auto address = ParseAddress(*text);
    if (address && Movable(*address) != nullptr) return *std::move(address);
    std::string noun = "thing";
    std::string suggestion;
    for (const Kind* kind : kinds_) {
      if (!kind->moves()) continue;
      noun = kind->codec().noun();
      suggestion = fmt::format("such as `{}.other`", kind->name());
      if (IsThingName(*text))
        suggestion = fmt::format("did you mean `{}.{}`?", kind->name(), *text);
      break;
    }
    const Kind* other = address ? FindKind(kinds_, address->kind) : nullptr;
    if (other != nullptr && Movable(other->WholeOf(*address)) != nullptr) {
      suggestion = fmt::format("{}s go with their {}", other->codec().noun(), noun);
    }
    reader_.Error(node, slot, fmt::format("{} is no address of a {}", FoundWords(node), noun),
                  suggestion);
    return {};
  }

  const Entry* From(const Address& address) const {
    const auto it = from_.find(address);
    return it == from_.end() ? nullptr : &entries_[it->second];
  }

  std::vector<MovedSpec> Take(const std::set<Address>& declared) {
    std::vector<MovedSpec> moves;
    bool once = true;
    for (std::size_t i = 0; i < entries_.size(); ++i) once = CheckOnce(i) && once;
    for (const Entry& entry : entries_) {
      if (once && CheckEnds(entry, declared)) moves.push_back(entry.move);
    }
    return moves;
  }

  // The same thing must not be moved to two names, nor two things to one.
  bool CheckOnce(std::size_t i) {
    const Entry& entry = entries_[i];
    const auto [from, is_new_from] = from_.emplace(entry.move.from, i);
    if (!is_new_from) {
      reader_.Conflict(*entry.from, entry.slot, fmt::format("`{}` is moved twice", entry.move.from),
                       *entries_[from->second].from, "first moved here");
      return false;
    }
    const auto [to, is_new_to] = to_.emplace(entry.move.to, i);
    if (!is_new_to) {
      reader_.Conflict(*entry.to, entry.slot,
                       fmt::format("two {}s are moved to `{}`",
                                   Movable(entry.move.to)->codec().noun(), entry.move.to),
                       *entries_[to->second].to, "the other one is here");
    }
    return is_new_to;
  }

  bool CheckEnds(const Entry& entry, const std::set<Address>& declared) {
    constexpr std::size_t kLongestChain = 1000;
    const std::string noun(Movable(entry.move.to)->codec().noun());
    if (entry.move.from.kind != entry.move.to.kind) {
      reader_.Error(*entry.to, entry.slot,
                    fmt::format("`{}` cannot become `{}`", entry.move.from, entry.move.to));
      return false;
    }
    if (declared.contains(entry.move.from)) {
      reader_.Error(*entry.from, entry.slot,
                    fmt::format("`{}` is moved away, but is still in the spec", entry.move.from),
                    fmt::format("remove the {}, or this move", noun));
      return false;
    }
    std::size_t hops = 0;
    for (const Entry* next = From(entry.move.to); next != nullptr; next = From(next->move.to)) {
      if (++hops <= std::min(entries_.size(), kLongestChain)) continue;
      reader_.Error(*entry.to, entry.slot, "these moves go in a circle",
                    fmt::format("the last `to` must be a {} of the spec", noun));
      return false;
    }
    if (From(entry.move.to) != nullptr || declared.contains(entry.move.to)) return true;
    const auto& [kind, name, key, deposed] = entry.move.to;
    std::vector<std::string> names;
    for (const Address& address : declared) {
      if (address.kind == kind && !reader_.has_enough()) names.push_back(address.name);
    }
    const std::string near = SuggestWord(name, names);
    reader_.Error(*entry.to, entry.slot, fmt::format("there is no {} `{}`", noun, name),
                  near.empty() ? fmt::format("write the name that the {} has in the spec", noun)
                               : fmt::format("did you mean `{}.{}`?", kind, near));
    return false;
  }

 private:
  ValueReader& reader_;
  const Kinds kinds_;
  const Shape shape_;  // of a move
  std::vector<Entry> entries_;
  std::map<Address, std::size_t> from_;  // index of the entry
  std::map<Address, std::size_t> to_;
};

}  // namespace

Shape MovesShape(Kinds kinds) {
  std::string names;
  for (const Kind* kind : kinds) {
    if (kind->moves()) names += fmt::format("{}{}", names.empty() ? "" : "|", kind->name());
  }
  const std::string regex = fmt::format("(?:{})\\.{}", names, kThingNamePattern.regex);
  const Shape address = shape::Text().Like({regex, "an address, such as pod.NAME"});
  return shape::ListOf(shape::Map({shape::Required("from", "Its name until now.", address),
                                   shape::Required("to", "Its name in this spec.", address)}))
      .Within(0, kMostMoves);
}

std::vector<MovedSpec> ReadMoves(const std::vector<YamlNodePtr>& lists,
                                 const std::vector<Declared>& declared, Kinds kinds,
                                 ValueReader& reader) {
  MovesReader moves(reader, kinds);
  for (const YamlNodePtr& list : lists) moves.Read(*list);
  std::set<Address> addresses;
  if (!lists.empty()) {
    for (const Declared& each : declared) addresses.insert(each.address);
  }
  return moves.Take(addresses);
}

}  // namespace podctl
