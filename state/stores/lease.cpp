#include "state/stores/lease.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/value.h"
#include "state/stores/blob_requests.h"

namespace podctl {
namespace {

constexpr int kBeatsATtl = 3;       // TTL 60 s: a beat every 20 s
constexpr int kBeatAgainParts = 4;  // one that failed is tried again after a quarter of that
constexpr int kFewestLooks = 4;
constexpr int kLooksATtl = 5;  // looks that are closer together count as one
constexpr int kRenewRounds = 3;
constexpr std::int64_t kLongestTtlMs = std::int64_t{24} * 3600 * 1000;

}  // namespace

std::string LeaseToJson(const LeaseText& text) {
  Value out = ParseJson(LockInfoToJson(text.info)).value_or(Value::EmptyMap());
  out.Set("TtlMs", static_cast<std::int64_t>(text.ttl.count()));
  out.Set("Beat", text.beat);
  if (!text.mark.empty()) out.Set("Mark", text.mark);
  return ToJson(out) + "\n";
}

std::optional<LeaseText> LeaseFromJson(std::string_view json) {
  std::optional<LockInfo> info = LockInfoFromJson(json);
  if (!info) return std::nullopt;
  const Value value = ParseJson(json).value_or(Value::EmptyMap());
  if (!value["TtlMs"].is_int()) return std::nullopt;  // Terraform's locks look so
  LeaseText text;
  text.info = *std::move(info);
  text.ttl =
      std::chrono::milliseconds(std::clamp<std::int64_t>(value["TtlMs"].AsInt(), 0, kLongestTtlMs));
  text.beat = static_cast<std::uint64_t>(value["Beat"].AsInt());
  text.mark = value["Mark"].AsString();
  return text;
}

void LeaseWatch::Saw(const BlobVersion& version, std::chrono::milliseconds ttl,
                     Clock::SteadyTime asked, Clock::SteadyTime answered) {
  if (version_ != version) {
    version_ = version;
    first_ = answered;
    last_ = answered;
    looks_ = 1;
  } else if (asked - last_ >= ttl / kLooksATtl) {
    last_ = answered;
    ++looks_;
  }
  ran_out_ = ttl.count() > 0 && looks_ >= kFewestLooks && asked - first_ >= ttl;
}

Lease::Lease(BlobStore& blobs, Clock& clock, LeaseText text, BlobVersion version,
             Clock::SteadyTime sent, std::function<void(const Error&)> on_refused)
    : blobs_(blobs),
      clock_(clock),
      ttl_(text.ttl),
      pace_(text.ttl / kBeatsATtl),
      on_refused_(std::move(on_refused)),
      text_(std::move(text)),
      version_(std::move(version)),
      confirmed_(sent) {}

bool Lease::MayStart() {
  std::lock_guard lock(known_);
  return !lost_ && clock_.SinceBoot() - confirmed_ < ttl_ / 2;
}

Result<void> Lease::Confirm(const std::stop_token& stop) {
  {
    std::lock_guard lock(known_);
    if (lost_) return *lost_;
    if (clock_.SinceBoot() - confirmed_ < ttl_) return {};
  }
  return Renew(stop);
}

Result<void> Lease::ConfirmStart(const std::stop_token& stop) {
  return MayStart() ? Result<void>() : Renew(stop);
}

std::optional<std::chrono::milliseconds> Lease::Beat(const std::stop_token& stop) {
  const Result<void> renewed = Renew(stop);
  if (renewed) return pace_;
  // Stopped: the run ends, and nobody needs the lock any more.
  if (renewed.error().code == ErrorCode::kLocked || stop.stop_requested()) return std::nullopt;
  if (!MayPass(renewed.error().code)) {
    if (auto tell = std::exchange(on_refused_, {})) tell(renewed.error());
  }
  return pace_ / kBeatAgainParts;
}

void Lease::Confirmed(Clock::SteadyTime sent) {
  std::lock_guard lock(known_);
  confirmed_ = std::max(confirmed_, sent);
}

Error Lease::Lost(const std::optional<LeaseText>& other) {
  const std::string what =
      other ? fmt::format("the state lock of this run was taken over by another run\n{}",
                          LockInfoBlock(other->info))
            : std::string(
                  "the state lock of this run is gone: it was removed, or another run took it "
                  "over and has released it since");
  std::lock_guard lock(known_);
  lost_ = MakeError(ErrorCode::kLocked, what,
                    "This run was stopped, or out of reach of the state, for longer than its lock "
                    "lasts, or somebody unlocked the state. Run the command again.");
  return *lost_;
}

Result<void> Lease::Look(Clock::SteadyTime sent, const std::stop_token& stop) {
  Result<std::optional<Blob>> blob = blobs_.Get(kLeaseName, stop);
  if (!blob) return blob.error();
  if (!*blob) return Lost(std::nullopt);
  const std::optional<LeaseText> text = LeaseFromJson((*blob)->bytes);
  if (!text || text->info.id != text_.info.id) return Lost(text.value_or(LeaseText{}));
  version_ = (*blob)->version;
  if (text->beat == text_.beat) Confirmed(sent);
  return {};
}

Result<void> Lease::Renew(const std::stop_token& stop) {
  std::lock_guard lock(requests_);
  if (ended_) return MakeError(ErrorCode::kLocked, "the state lock was released");
  {
    std::lock_guard known(known_);
    if (lost_) return *lost_;
  }
  for (int round = 1;; ++round) {
    // A number for each try: what is read afterwards tells which of them it is.
    ++text_.beat;
    const Clock::SteadyTime sent = clock_.SinceBoot();
    Result<BlobVersion> written = blobs_.ReplaceIf(kLeaseName, LeaseToJson(text_), version_, stop);
    if (written) {
      version_ = *std::move(written);
      Confirmed(sent);
      return {};
    }
    const ErrorCode code = written.error().code;
    if (code != ErrorCode::kFailedPrecondition && code != ErrorCode::kReplyLost) {
      return written.error();
    }
    if (Result<void> seen = Look(sent, stop); !seen) return seen;
    {
      std::lock_guard known(known_);
      if (confirmed_ == sent) return {};
    }
    // It is this run's still, by an earlier beat whose answer was lost.
    if (round == kRenewRounds) {
      return MakeError(ErrorCode::kUnavailable, "the state lock could not be renewed");
    }
  }
}

Result<void> Lease::Release() {
  std::lock_guard lock(requests_);
  if (std::exchange(ended_, true)) return {};
  {
    // What stands there is another's, and not every server of Cloud Storage heeds the condition.
    std::lock_guard known(known_);
    if (lost_) return {};
  }
  for (int round = 1;; ++round) {
    Result<void> deleted = blobs_.DeleteIf(kLeaseName, version_, {});
    if (deleted) return {};
    const bool may_stand =
        deleted.error().code == ErrorCode::kFailedPrecondition || MayPass(deleted.error().code);
    if (!may_stand || round == kRenewRounds) return deleted;
    Result<std::optional<Blob>> blob = blobs_.Get(kLeaseName, {});
    if (!blob) continue;  // the condition still guards what is tried next
    const auto text = *blob ? LeaseFromJson((*blob)->bytes) : std::nullopt;
    if (!text || text->info.id != text_.info.id) return {};
    version_ = (*blob)->version;
  }
}

LeaseBeats::LeaseBeats(Lease& lease, Clock& clock)
    : thread_([&lease, &clock](const std::stop_token& stop) {
        std::optional<std::chrono::milliseconds> pause = lease.Pace();
        while (pause && clock.SleepFor(*pause, stop)) pause = lease.Beat(stop);
      }) {}

}  // namespace podctl
