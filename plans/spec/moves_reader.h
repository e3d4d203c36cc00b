// Reads `moved`: things that have another name from now on, and stay what they are.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "plans/engine/kind.h"
#include "plans/spec/spec.h"
#include "plans/spec/value_reader.h"

namespace podctl {

class MovesReader {
 public:
  MovesReader(ValueReader& reader, Kinds kinds) : reader_(reader), kinds_(kinds) {}

  // One file's list. Entries that are not of the right form are reported and left out.
  void Read(const YamlNode& moved);
  // Checks all that was read against what the spec declares, and hands over the moves, in the order
  // of the files: nothing moves twice or away while it is still in the spec, and each chain of
  // moves ends at something in the spec.
  std::vector<MovedSpec> Take(const std::set<Address>& declared);

 private:
  struct Entry {
    MovedSpec move;
    const YamlNode* from = nullptr;
    const YamlNode* to = nullptr;
    Slot slot;
  };
  void ReadEntry(const YamlNode& node, const Slot& slot);
  const Kind* Movable(const Address& address) const;
  Address ReadAddress(const YamlNode& node, const Slot& slot);
  bool CheckOnce(std::size_t i);
  bool CheckEnds(const Entry& entry, const std::set<Address>& declared);
  const Entry* From(const Address& address) const;

  ValueReader& reader_;
  const Kinds kinds_;
  std::vector<Entry> entries_;
  std::map<Address, std::size_t> from_;  // index of the entry
  std::map<Address, std::size_t> to_;
};

}  // namespace podctl
