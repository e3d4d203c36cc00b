#include "plans/engine/graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace podctl {
namespace {

using Edges = std::vector<std::vector<std::size_t>>;

// Which circle each one is in: two have the same number if and only if each leads to the other.
// Tarjan's algorithm with a stack of its own, since a chain may be as long as the plan.
class Circles {
 public:
  explicit Circles(const Edges& edges)
      : edges_(edges), order_(edges.size(), 0), low_(edges.size(), 0), number_(edges.size(), 0) {
    for (std::size_t start = 0; start < edges.size(); ++start) {
      if (order_[start] == 0) Visit(start);
    }
  }
  std::size_t operator[](std::size_t i) const { return number_[i]; }

 private:
  void Enter(std::size_t at) {
    order_[at] = low_[at] = ++last_order_;
    open_.push_back(at);
    path_.emplace_back(at, 0);
  }

  void Visit(std::size_t start) {
    Enter(start);
    while (!path_.empty()) {
      auto& [at, next] = path_.back();
      if (next < edges_[at].size()) {
        const std::size_t to = edges_[at][next++];
        if (order_[to] == 0) {
          Enter(to);
        } else if (number_[to] == 0) {
          low_[at] = std::min(low_[at], order_[to]);
        }
        continue;
      }
      const std::size_t done = at;
      path_.pop_back();
      if (!path_.empty()) low_[path_.back().first] = std::min(low_[path_.back().first], low_[done]);
      if (low_[done] == order_[done]) Close(done);
    }
  }

  void Close(std::size_t first) {
    ++last_number_;
    for (std::size_t at = open_.size(); at-- > 0;) {
      const std::size_t member = open_[at];
      open_.pop_back();
      number_[member] = last_number_;
      if (member == first) return;
    }
  }

  const Edges& edges_;
  std::vector<std::size_t> order_;   // of the visit; 0: not visited
  std::vector<std::size_t> low_;     // the earliest that it leads back to
  std::vector<std::size_t> number_;  // 0: still open
  std::vector<std::size_t> open_;
  std::vector<std::pair<std::size_t, std::size_t>> path_;
  std::size_t last_order_ = 0;
  std::size_t last_number_ = 0;
};

}  // namespace

std::vector<const Declared*> InDependencyOrder(std::vector<const Declared*> things) {
  const bool free_all = std::all_of(things.begin(), things.end(),
                                    [](const Declared* thing) { return thing->builds_on.empty(); });
  if (free_all) return things;
  const std::size_t count = things.size();
  std::map<Address, std::size_t> index;
  for (std::size_t i = 0; i < count; ++i) index[things[i]->address] = i;
  Edges followers(count);
  std::vector<std::size_t> waits(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (const Address& dependency : things[i]->builds_on) {
      const auto it = index.find(dependency);
      if (it == index.end()) continue;
      followers[it->second].push_back(i);
      ++waits[i];
    }
  }
  // Kahn's algorithm, always with the one that stands first among those that are free.
  std::set<std::size_t> free;
  for (std::size_t i = 0; i < count; ++i) {
    if (waits[i] == 0) free.insert(i);
  }
  std::vector<const Declared*> order;
  std::vector<bool> done(count, false);
  while (!free.empty()) {
    const std::size_t next = *free.begin();
    free.erase(free.begin());
    done[next] = true;
    order.push_back(things[next]);
    for (std::size_t follower : followers[next]) {
      if (--waits[follower] == 0) free.insert(follower);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!done[i]) order.push_back(things[i]);
  }
  return order;
}

void DropIdleWaits(Plan* plan) {
  std::vector<Change>& changes = plan->changes;
  std::map<Address, std::size_t> active;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!IsKeep(changes[i])) active[changes[i].address] = i;
  }
  Edges edges(changes.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    std::vector<Address>& waits = changes[i].waits_for;
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    std::erase_if(waits, [&](const Address& address) {
      return address == changes[i].address || !active.contains(address);
    });
    for (const Address& address : waits) edges[i].push_back(active.at(address));
  }
  const Circles circles(edges);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!IsDelete(changes[i])) continue;
    std::erase_if(changes[i].waits_for, [&](const Address& address) {
      return circles[active.at(address)] == circles[i];
    });
  }
}

void DropImpliedWaits(Kinds kinds, Plan* plan) {
  std::vector<Change>& changes = plan->changes;
  std::map<Address, std::size_t> index;
  for (std::size_t i = 0; i < changes.size(); ++i) index[changes[i].address] = i;
  // Whoever is waited for mostly comes first, and is to be asked while it has all of its waits.
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    std::set<std::size_t, std::greater<>> others;  // the last first, which imply most
    for (const Address& address : change->waits_for) {
      const auto other = index.find(address);
      if (other != index.end()) others.insert(other->second);
    }
    std::set<Address> implied;
    for (const std::size_t other : others) {
      if (implied.contains(changes[other].address)) continue;
      implied.insert(changes[other].waits_for.begin(), changes[other].waits_for.end());
    }
    implied.erase(WholeOf(kinds, change->address.WithoutDeposed()));
    std::erase_if(change->waits_for,
                  [&](const Address& address) { return implied.contains(address); });
  }
}

const Change* FindCircle(const Plan& plan) {
  std::map<Address, std::size_t> index;
  for (std::size_t i = 0; i < plan.changes.size(); ++i) index[plan.changes[i].address] = i;
  Edges edges(plan.changes.size());
  for (std::size_t i = 0; i < plan.changes.size(); ++i) {
    for (const Address& address : plan.changes[i].waits_for) {
      const auto other = index.find(address);
      if (other == index.end()) continue;
      if (other->second == i) return &plan.changes[i];
      edges[i].push_back(other->second);
    }
  }
  const Circles circles(edges);
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < plan.changes.size(); ++i) {
    if (!seen.insert(circles[i]).second) return &plan.changes[i];
  }
  return nullptr;
}

}  // namespace podctl
