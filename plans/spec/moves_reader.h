// Reads `moved`: pods that have another name from now on, and keep their nodes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "plans/spec/spec.h"
#include "plans/spec/value_reader.h"

namespace podctl {

class MovesReader {
 public:
  explicit MovesReader(ValueReader& reader) : reader_(reader) {}

  // One file's list. Entries that are not of the right form are reported and left out.
  void Read(const YamlNode& moved);
  // Checks all that was read against the pods of the spec, and hands over the moves, in the order
  // of the files: no pod moves twice or away while it is still in the spec, and each chain of moves
  // ends at a pod of the spec.
  std::vector<MovedSpec> Take(const std::set<std::string>& pods);

 private:
  struct Entry {
    MovedSpec move;
    const YamlNode* from = nullptr;
    const YamlNode* to = nullptr;
    Slot slot;
  };
  void ReadEntry(const YamlNode& node, const Slot& slot);
  Address ReadAddress(const YamlNode& node, const Slot& slot);
  bool CheckOnce(std::size_t i);
  bool CheckEnds(const Entry& entry, const std::set<std::string>& pods);
  const Entry* From(const Address& address) const;

  ValueReader& reader_;
  std::vector<Entry> entries_;
  std::map<Address, std::size_t> from_;  // index of the entry
  std::map<Address, std::size_t> to_;
};

}  // namespace podctl
