// The lock of a state that several machines share, as a lease: an object that its holder renews,
// and that another takes over when it was not renewed for long enough.
//
// Clocks of two machines are never compared. The holder measures how old its last confirmed beat is
// by its own clock, which goes on while the machine is suspended; who wants to take the lock over
// looks at whether it changes, for the holder's whole TTL by his own clock. From this follows that,
// at equal speed of clocks, nobody has taken over a lease whose last confirmed beat is younger than
// its TTL, however long the holder was stopped. A lease keeps runs apart and out of each other's
// world; that they do not write over each other's state is seen to by the journal's fences.
//
// The object is a LockInfo as every store writes it, with members of its own: TtlMs, Beat, Mark.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "providers/base/error.h"
#include "providers/os/clock.h"
#include "state/blob_store.h"
#include "state/store.h"

namespace podctl {

inline constexpr const char* kLeaseName = "lock.json";

struct LeaseText {
  LockInfo info;
  std::chrono::milliseconds ttl{0};  // 0: it does not run out
  std::uint64_t beat = 0;
  std::string mark;  // ProcessMark of the holder
};

std::string LeaseToJson(const LeaseText& text);
// nullopt: it is no lock of podctl.
std::optional<LeaseText> LeaseFromJson(std::string_view json);

// What one who waits has seen of another's lease. Not thread safe.
class LeaseWatch {
 public:
  // `asked` and `answered`: before and after the look, by the looker's Steady clock.
  void Saw(const BlobVersion& version, std::chrono::milliseconds ttl, Clock::SteadyTime asked,
           Clock::SteadyTime answered);
  void Forget() { version_.reset(); }
  // Whether it stood still for its whole TTL, in the eyes of enough looks.
  bool RanOut() const { return ran_out_; }

 private:
  std::optional<BlobVersion> version_;
  Clock::SteadyTime first_;
  Clock::SteadyTime last_;
  int looks_ = 0;
  bool ran_out_ = false;
};

// A lease that is held. Thread safe. What it refers to must outlive it.
class Lease {
 public:
  // `version`: of the object as it was made; `sent`: by SinceBoot, before that was asked for.
  // `on_refused`: told once, on the thread of Beat, that it may not be renewed. May be empty.
  Lease(BlobStore& blobs, Clock& clock, LeaseText text, BlobVersion version, Clock::SteadyTime sent,
        std::function<void(const Error&)> on_refused = {});

  // Whether something new may be started in the world: the last confirmed beat is younger than half
  // the TTL, and nobody is known to have taken the lease over. Asks nobody.
  bool MayStart();
  // To be called before anything else is done: where the last confirmed beat is older than the TTL
  // (this process was stopped, the place was out of reach) the lease is looked at and renewed.
  // kLocked: another has it, or had; what may pass: the place cannot be asked.
  Result<void> Confirm(const std::stop_token& stop);
  // The same before something new is started in the world: looks where MayStart says no.
  Result<void> ConfirmStart(const std::stop_token& stop);
  // One beat. Returns how long to wait for the next one; nullopt: there is nothing to renew any
  // more.
  std::optional<std::chrono::milliseconds> Beat(const std::stop_token& stop);
  // Renews it, however old the last beat is. Errors as of Confirm.
  Result<void> Renew(const std::stop_token& stop);
  // Removes the lock, unless another has it. After that it beats no more. What cannot be removed
  // runs out by itself.
  Result<void> Release();

  std::chrono::milliseconds Pace() const { return pace_; }

 private:
  // Reads what stands there, after a write that `sent` dates; kLocked: it is not this lease.
  Result<void> Look(Clock::SteadyTime sent, const std::stop_token& stop);
  Error Lost(const std::optional<LeaseText>& other);
  void Confirmed(Clock::SteadyTime sent);

  BlobStore& blobs_;
  Clock& clock_;
  const std::chrono::milliseconds ttl_;
  const std::chrono::milliseconds pace_;
  std::function<void(const Error&)> on_refused_;  // Beat's

  std::mutex requests_;  // of what follows; held while one is out
  LeaseText text_;
  BlobVersion version_;
  bool ended_ = false;  // released

  std::mutex known_;  // of what follows
  Clock::SteadyTime confirmed_;
  std::optional<Error> lost_;
};

// Beats on a thread of its own, until destroyed.
class LeaseBeats {
 public:
  LeaseBeats(Lease& lease, Clock& clock);

 private:
  std::jthread thread_;
};

}  // namespace podctl
