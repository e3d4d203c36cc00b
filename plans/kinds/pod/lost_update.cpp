#include "plans/kinds/pod/lost_update.h"

#include <algorithm>

namespace podctl {
namespace {

std::optional<Value> At(const Value& node, const std::string& map, const std::string& key) {
  const Value* value = node[map].Find(key);
  return value == nullptr ? std::nullopt : std::make_optional(*value);
}

std::set<std::string> KeysOf(const std::string& map, std::initializer_list<const Value*> nodes) {
  std::set<std::string> keys;
  for (const Value* node : nodes) {
    for (const auto& [key, value] : (*node)[map].AsMap()) keys.insert(key);
  }
  return keys;
}

// RFC 3339 in UTC with fractions of any length, so that the order of texts is the order of times.
std::string SortableTime(std::string time) {
  if (time.ends_with('Z')) time.pop_back();
  return time;
}

bool IsUpdate(const Operation& operation) {
  return operation.verb == "update" || operation.verb == "patch";
}

}  // namespace

void LostUpdateGuard::SawBefore(const std::vector<Operation>& operations) {
  blind_ = false;
  known_.clear();
  overwritten_.clear();
  for (const Operation& operation : operations) {
    // One that still runs may take effect after our read.
    if (operation.target == target_ && operation.done) known_.insert(operation.name);
  }
}

void LostUpdateGuard::Writes(const Value& read, const Value& sent) {
  read_ = read;
  sent_ = sent;  // repairs stay until they are seen to have taken: the write may be refused
}

// Of what we wrote, only what differs from what we read tells our write from others'.
bool LostUpdateGuard::ShowsOurWrite(const Value& node) const {
  return std::all_of(maps_.begin(), maps_.end(), [&](const std::string& map) {
    const std::set<std::string> keys = KeysOf(map, {&read_, &sent_});
    return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
      const auto written = At(sent_, map, key);
      return At(read_, map, key) == written || At(node, map, key) == written;
    });
  });
}

void LostUpdateGuard::SawAfter(const std::vector<Operation>& operations) {
  if (blind_) return;
  for (const Operation& operation : operations) {
    const bool candidate = operation.target == target_ && operation.done && IsUpdate(operation) &&
                           operation.error.empty() && operation.response.is_map() &&
                           !known_.contains(operation.name);
    if (candidate && !ShowsOurWrite(operation.response)) overwritten_.push_back(operation);
  }
  std::sort(overwritten_.begin(), overwritten_.end(), [](const Operation& a, const Operation& b) {
    return SortableTime(a.create_time) < SortableTime(b.create_time);
  });
}

std::vector<std::string> LostUpdateGuard::FindLost(const Value& now) {
  std::vector<std::string> paths;
  if (blind_ || overwritten_.empty()) return paths;
  const Value& theirs = overwritten_.back().response;  // shows every update before it as well
  for (const std::string& map : maps_) {
    for (const std::string& key : KeysOf(map, {&sent_, &theirs})) {
      Repair repair{map, key, At(sent_, map, key), At(theirs, map, key)};
      const std::string path = map + "." + key;
      if (repair.theirs == At(read_, map, key)) continue;  // not their change
      if (own_.contains(path) || repair.theirs == repair.written || !Stands(repair, now)) continue;
      paths.push_back(path);
      repairs_.push_back(std::move(repair));
    }
  }
  return paths;
}

// Whether our value still stands there; otherwise somebody has decided anew.
bool LostUpdateGuard::Stands(const Repair& repair, const Value& node) {
  return At(node, repair.map, repair.key) == repair.written;
}

bool LostUpdateGuard::HasRepairs(const Value& node) const {
  return std::any_of(repairs_.begin(), repairs_.end(),
                     [&](const Repair& repair) { return Stands(repair, node); });
}

Value LostUpdateGuard::Repaired(Value node) const {
  for (const Repair& repair : repairs_) {
    if (!Stands(repair, node)) continue;
    Value map = node[repair.map];
    if (repair.theirs) {
      map.Set(repair.key, *repair.theirs);
    } else {
      map.Erase(repair.key);
    }
    node.Set(repair.map, std::move(map));
  }
  return node;
}

}  // namespace podctl
