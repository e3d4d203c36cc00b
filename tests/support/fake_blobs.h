// A place of objects in memory, with doors that fail: each door is one process's, and for each of
// its requests a test may say what becomes of it, or have others do something first. What the lists
// show is as poor as blob_store.h allows.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "state/blob_store.h"

namespace podctl::testing {

// Outlives its doors. Thread safe, but for what is said of its members.
class FakePlace {
 public:
  struct Object {
    std::string bytes;
    BlobVersion version;
    BlobTime written;
    std::string writer;  // the door that wrote this version
  };
  // A write that comes to be carried out later than its sender was told.
  struct Late {
    int requests = 0;  // of anybody that are answered before
    std::function<void()> write;
  };

  // The time of the place itself; to be set before it is used. None: it keeps none.
  std::function<std::chrono::system_clock::time_point()> now;
  std::size_t page = 1000;  // names in a page of a list
  bool hide_fresh = false;  // a list lacks what was written since it began

  std::map<std::string, Object> All() {
    std::lock_guard lock(mutex_);
    return objects_;
  }
  std::optional<std::string> Text(const std::string& name) {
    std::lock_guard lock(mutex_);
    const auto found = objects_.find(name);
    return found == objects_.end() ? std::nullopt : std::optional(found->second.bytes);
  }
  // Behind the doors' backs.
  void Set(const std::string& name, const std::string& bytes) {
    std::lock_guard lock(mutex_);
    Put(name, bytes, "");
  }
  void Remove(const std::string& name) {
    std::lock_guard lock(mutex_);
    objects_.erase(name);
  }
  // Writes that are under way are carried out.
  void Arrive() {
    std::vector<Late> due;
    {
      std::lock_guard lock(mutex_);
      due.swap(late_);
    }
    for (const Late& late : due) late.write();
  }

 private:
  friend class FakeBlobs;

  BlobVersion Put(const std::string& name, const std::string& bytes, const std::string& writer) {
    BlobVersion version{"v" + std::to_string(++versions_)};
    objects_[name] = {bytes, version, now ? BlobTime(now()) : std::nullopt, writer};
    return version;
  }
  bool Is(const std::string& name, const BlobVersion& version) const {
    const auto found = objects_.find(name);
    return found != objects_.end() && found->second.version == version;
  }
  void CountRequest() {
    std::vector<Late> due;
    {
      std::lock_guard lock(mutex_);
      for (Late& late : late_) --late.requests;
      const auto first_due = std::stable_partition(
          late_.begin(), late_.end(), [](const Late& late) { return late.requests > 0; });
      std::move(first_due, late_.end(), std::back_inserter(due));
      late_.erase(first_due, late_.end());
    }
    for (const Late& late : due) late.write();
  }

  std::mutex mutex_;  // of what follows
  std::map<std::string, Object> objects_;
  std::vector<Late> late_;
  std::uint64_t versions_ = 0;
};

enum class BlobDeed { kGet, kList, kCreate, kReplace, kDelete };

struct BlobRequest {
  int number = 0;  // of the door's requests, from 1 on
  BlobDeed deed = BlobDeed::kGet;
  std::string name;

  bool writes() const { return deed != BlobDeed::kGet && deed != BlobDeed::kList; }
};

struct BlobFault {
  enum class Kind {
    kNone,
    kRefused,     // with `error`, and not carried out
    kLostBefore,  // kReplyLost, and not carried out; of what reads: kUnavailable
    kLostAfter,   // kReplyLost, and carried out
    kLate,        // kReplyLost, and carried out after `later` further requests of anybody
    kCut,         // of what reads: half the bytes
  };
  Kind kind = Kind::kNone;
  Error error = {};
  int later = 0;
};

inline BlobFault Refuse(ErrorCode code, std::string message) {
  return {BlobFault::Kind::kRefused, MakeError(code, std::move(message)), 0};
}

// For one thread at a time.
class FakeBlobs final : public BlobStore {
 public:
  FakeBlobs(FakePlace& place, std::string writer) : place_(place), writer_(std::move(writer)) {}

  // What becomes of a request; called before it is looked at, so others may be let on here.
  std::function<BlobFault(const BlobRequest&)> before;
  // Called when it was carried out, and not answered yet.
  std::function<void(const BlobRequest&)> after;

  // From now on nothing that this door is asked reaches the place: its process is dead.
  void Kill() { dead_ = true; }
  int requests() const { return requests_; }
  std::vector<BlobRequest> log;

  Result<std::optional<Blob>> Get(const std::string& name, std::stop_token) override {
    const BlobFault fault = Begin(BlobDeed::kGet, name);
    if (auto error = ErrorOfRead(fault)) return *error;
    std::optional<Blob> blob;
    {
      std::lock_guard lock(place_.mutex_);
      const auto found = place_.objects_.find(name);
      if (found != place_.objects_.end()) {
        blob = Blob{found->second.bytes, found->second.version};
      }
    }
    if (blob && fault.kind == BlobFault::Kind::kCut) blob->bytes.resize(blob->bytes.size() / 2);
    if (auto error = End(fault)) return *error;
    return blob;
  }

  Result<std::vector<BlobEntry>> ListFrom(const std::string& prefix, const std::string& from,
                                          std::stop_token) override {
    const BlobFault fault = Begin(BlobDeed::kList, prefix + "|" + from);
    if (auto error = ErrorOfRead(fault)) return *error;
    std::vector<BlobEntry> list;
    std::string next = std::max(prefix, from);
    std::uint64_t began = 0;
    for (bool first = true, more = true; more; first = false) {
      // Between two pages others go on.
      if (!first && between_pages) between_pages();
      std::lock_guard lock(place_.mutex_);
      if (first) began = place_.versions_;
      more = false;
      std::size_t count = 0;
      for (auto at = place_.objects_.lower_bound(next); at != place_.objects_.end(); ++at) {
        if (!at->first.starts_with(prefix)) break;
        if (count++ == place_.page) {
          next = at->first;
          more = true;
          break;
        }
        const bool fresh = std::stoull(at->second.version.token.substr(1)) > began;
        if (fresh && place_.hide_fresh) continue;
        list.push_back({at->first, at->second.version, at->second.written});
      }
    }
    if (auto error = End(fault)) return *error;
    return list;
  }
  std::function<void()> between_pages;

  Result<BlobVersion> CreateIfAbsent(const std::string& name, const std::string& bytes,
                                     std::stop_token) override {
    return Write(BlobDeed::kCreate, name,
                 [name, bytes, writer = writer_](FakePlace& place) -> Result<BlobVersion> {
                   if (place.objects_.contains(name)) return NotSo(name);
                   return place.Put(name, bytes, writer);
                 });
  }
  Result<BlobVersion> ReplaceIf(const std::string& name, const std::string& bytes,
                                const BlobVersion& version, std::stop_token) override {
    return Write(BlobDeed::kReplace, name,
                 [name, bytes, version, writer = writer_](FakePlace& place) -> Result<BlobVersion> {
                   if (!place.Is(name, version)) return NotSo(name);
                   return place.Put(name, bytes, writer);
                 });
  }
  Result<void> DeleteIf(const std::string& name, const BlobVersion& version,
                        std::stop_token) override {
    auto deleted =
        Write(BlobDeed::kDelete, name, [name, version](FakePlace& place) -> Result<BlobVersion> {
          if (!place.Is(name, version)) return NotSo(name);
          place.objects_.erase(name);
          return BlobVersion{};
        });
    return deleted ? Result<void>() : Result<void>(deleted.error());
  }
  Result<bool> CanReplace(const std::stop_token&) override {
    return can_replace ? can_replace() : Result<bool>(true);
  }
  std::function<Result<bool>()> can_replace;
  std::string Where() const override { return "fake://bucket/prefix"; }

 private:
  // May be carried out when this door is gone; the place is locked.
  using Carry = std::function<Result<BlobVersion>(FakePlace&)>;

  static Error NotSo(const std::string& name) {
    return MakeError(ErrorCode::kFailedPrecondition, "the condition on " + name + " does not hold");
  }
  static Error Lost() { return MakeError(ErrorCode::kReplyLost, "the answer was lost"); }
  static Error Out() { return MakeError(ErrorCode::kUnavailable, "the place is out of reach"); }

  BlobFault Begin(BlobDeed deed, const std::string& name) {
    current_ = {++requests_, deed, name};
    log.push_back(current_);
    if (dead_) return {BlobFault::Kind::kRefused, Out(), 0};
    const BlobRequest request = current_;
    BlobFault fault = before ? before(request) : BlobFault{};
    current_ = request;  // what was let on may have asked at this door too
    if (dead_) return {BlobFault::Kind::kRefused, Out(), 0};
    place_.CountRequest();
    return fault;
  }
  std::optional<Error> ErrorOfRead(const BlobFault& fault) {
    switch (fault.kind) {
      case BlobFault::Kind::kRefused:
        return fault.error;
      case BlobFault::Kind::kLostBefore:
      case BlobFault::Kind::kLostAfter:
      case BlobFault::Kind::kLate:
        return Out();
      default:
        return std::nullopt;
    }
  }
  std::optional<Error> End(const BlobFault&) {
    if (after) after(current_);
    return dead_ ? std::optional<Error>(Out()) : std::nullopt;
  }
  Result<BlobVersion> Write(BlobDeed deed, const std::string& name, const Carry& carry) {
    const BlobFault fault = Begin(deed, name);
    if (fault.kind == BlobFault::Kind::kRefused) return fault.error;
    if (fault.kind == BlobFault::Kind::kLostBefore) return Lost();
    if (fault.kind == BlobFault::Kind::kLate) {
      std::lock_guard lock(place_.mutex_);
      place_.late_.push_back({fault.later, [&place = place_, carry] {
                                std::lock_guard held(place.mutex_);
                                (void)carry(place);
                              }});
      return Lost();
    }
    Result<BlobVersion> carried = [&] {
      std::lock_guard lock(place_.mutex_);
      return carry(place_);
    }();
    if (auto dead = End(fault)) return Lost();
    return fault.kind == BlobFault::Kind::kLostAfter ? Result<BlobVersion>(Lost()) : carried;
  }

  FakePlace& place_;
  std::string writer_;
  bool dead_ = false;
  int requests_ = 0;
  BlobRequest current_;
};

}  // namespace podctl::testing
