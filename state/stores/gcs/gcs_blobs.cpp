#include "state/stores/gcs/gcs_blobs.h"

#include <fmt/format.h>

#include <utility>

#include "providers/base/text.h"

namespace podctl {
namespace {

Error KeepsAll(const std::string& bucket, const gcp::StorageKeeping& keeping) {
  const auto days = std::chrono::duration_cast<std::chrono::days>(keeping.retention);
  const std::string period = days == keeping.retention
                                 ? Plural(static_cast<std::size_t>(days.count()), "day")
                                 : FormatDuration(keeping.retention);
  const std::string why =
      keeping.holds ? "puts a hold on every new object"
                    : fmt::format("keeps every object for {} (its retention policy)", period);
  std::string mend =
      "Give the state a bucket without that: `state: gs://OTHER-BUCKET/PREFIX`, and "
      "`podctl state init` makes it.";
  if (keeping.holds) {
    mend += fmt::format(
        " Or `gcloud storage buckets update gs://{} --no-default-event-based-hold`.", bucket);
  } else if (!keeping.is_locked) {
    mend += fmt::format(" Or `gcloud storage buckets update gs://{} --clear-retention-period`.",
                        bucket);
  }
  return MakeError(ErrorCode::kFailedPrecondition,
                   fmt::format("the bucket gs://{} {}, so that the lock of a state there could be "
                               "neither renewed nor removed; nothing was begun",
                               bucket, why),
                   mend);
}

}  // namespace

Error OfStateIn(const gcp::StoragePlace& place, Error error) {
  if (error.code != ErrorCode::kUnauthenticated) return error;
  error.message = fmt::format("for the state in gs://{}: {}", place.bucket, error.message);
  if (!error.hint.empty()) error.hint += ". ";
  error.hint +=
      "A bucket of `podctl emulator` needs none: set STORAGE_EMULATOR_HOST to its address, too "
      "(PODCTL_ENDPOINT is not for buckets)";
  return error;
}

Result<bool> GcsBlobs::CanReplace(const std::stop_token& stop) {
  std::lock_guard lock(asked_);
  if (!keeping_) keeping_ = client_.Keeping(place_.bucket, stop);
  if (!*keeping_) return !kept_;
  const gcp::StorageKeeping& keeping = **keeping_;
  if (keeping.retention.count() <= 0 && !keeping.holds) return true;
  // With versions, replacing an object leaves it where it is, which a policy may allow.
  if (keeping.has_versions && !keeping.holds) return !kept_;
  return KeepsAll(place_.bucket, keeping);
}

std::string GcsBlobs::Full(const std::string& name) const {
  return place_.prefix.empty() ? name : place_.prefix + "/" + name;
}

Result<std::optional<Blob>> GcsBlobs::Get(const std::string& name, std::stop_token stop) {
  auto found = client_.Get(place_.bucket, Full(name), std::move(stop));
  if (!found) return OfStateIn(place_, found.error());
  if (!*found) return std::optional<Blob>();
  return std::make_optional(Blob{std::move((*found)->bytes), {(*found)->generation}});
}

Result<std::vector<BlobEntry>> GcsBlobs::ListFrom(const std::string& prefix,
                                                  const std::string& from, std::stop_token stop) {
  auto found =
      client_.List(place_.bucket, Full(prefix), from.empty() ? "" : Full(from), std::move(stop));
  if (!found) return OfStateIn(place_, found.error());
  std::vector<BlobEntry> entries;
  entries.reserve(found->size());
  const std::size_t skip = Full("").size();
  for (const gcp::StorageObject& object : *found) {
    entries.push_back({object.name.substr(skip), {object.generation}, object.created});
  }
  return entries;
}

Result<BlobVersion> GcsBlobs::CreateIfAbsent(const std::string& name, const std::string& bytes,
                                             std::stop_token stop) {
  return ReplaceIf(name, bytes, {"0"}, std::move(stop));
}

Result<BlobVersion> GcsBlobs::ReplaceIf(const std::string& name, const std::string& bytes,
                                        const BlobVersion& version, std::stop_token stop) {
  bool kept = false;
  auto written =
      client_.Insert(place_.bucket, Full(name), bytes, version.token, std::move(stop), &kept);
  if (!written) return OfStateIn(place_, written.error());
  kept_ = kept;
  return BlobVersion{*std::move(written)};
}

Result<void> GcsBlobs::DeleteIf(const std::string& name, const BlobVersion& version,
                                std::stop_token stop) {
  auto gone = client_.Delete(place_.bucket, Full(name), version.token, std::move(stop));
  if (!gone) return OfStateIn(place_, gone.error());
  return {};
}

}  // namespace podctl
