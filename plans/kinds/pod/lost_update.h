// Finds what a write to a node's maps (metadata, labels) has overwritten of somebody else's.
//
// The service replaces such a map as a whole and knows no etag, so an update of somebody else that
// falls between our read and our write is lost. But it leaves an operation behind, whose response
// is the node as it was then. The guard is told of the operations known before the read and after
// the write, and merges three ways what is not ours: what we had read, what they made of it, and
// what we wrote, where that still stands.
//
// It calls nobody and knows no clock: whether an update came before our write is seen by whether
// its response shows our write. Not thread safe.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "providers/base/value.h"
#include "providers/provider.h"

namespace podctl {

class LostUpdateGuard {
 public:
  // `target`: the node's resource name; `maps`: the fields that are written as whole maps.
  LostUpdateGuard(std::string target, std::vector<std::string> maps)
      : target_(std::move(target)), maps_(std::move(maps)) {}

  bool guards_anything() const { return !maps_.empty(); }
  // Paths ("metadata.x") that are podctl's own: of these our value is right, whoever wrote theirs.
  void Own(std::set<std::string> paths) { own_ = std::move(paths); }

  // In this order, once a round.
  void SawBefore(const std::vector<Operation>& operations);
  void Writes(const Value& read, const Value& sent);
  void SawAfter(const std::vector<Operation>& operations);
  // Operations could not be listed: nothing can be known of this round.
  void Blind() { blind_ = true; }
  // The paths ("metadata.x") that our write has overwritten and nobody has changed since; they are
  // kept as repairs for the next round.
  std::vector<std::string> FindLost(const Value& now);

  // Whether `node`, as just read, still lacks something that is to be put back.
  bool HasRepairs(const Value& node) const;
  // `node` with what is to be put back.
  Value Repaired(Value node) const;

 private:
  struct Repair {
    std::string map;
    std::string key;
    std::optional<Value> written;  // by us, over theirs
    std::optional<Value> theirs;   // nullopt: they had removed it
  };
  bool ShowsOurWrite(const Value& node) const;
  static bool Stands(const Repair& repair, const Value& node);

  const std::string target_;
  const std::vector<std::string> maps_;
  std::set<std::string> own_;
  std::set<std::string> known_;  // names of operations whose effect our read shows
  std::vector<Operation> overwritten_;
  std::vector<Repair> repairs_;
  Value read_;
  Value sent_;
  bool blind_ = false;
};

}  // namespace podctl
