#include "state/stores/gcs/gcs_blobs.h"

#include <utility>

namespace podctl {

std::string GcsBlobs::Full(const std::string& name) const {
  return place_.prefix.empty() ? name : place_.prefix + "/" + name;
}

Result<std::optional<Blob>> GcsBlobs::Get(const std::string& name, std::stop_token stop) {
  auto found = client_.Get(place_.bucket, Full(name), std::move(stop));
  if (!found) return found.error();
  if (!*found) return std::optional<Blob>();
  return std::make_optional(Blob{std::move((*found)->bytes), {(*found)->generation}});
}

Result<std::vector<BlobEntry>> GcsBlobs::ListFrom(const std::string& prefix,
                                                  const std::string& from, std::stop_token stop) {
  auto found =
      client_.List(place_.bucket, Full(prefix), from.empty() ? "" : Full(from), std::move(stop));
  if (!found) return found.error();
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
  auto written = client_.Insert(place_.bucket, Full(name), bytes, version.token, std::move(stop));
  if (!written) return written.error();
  return BlobVersion{*std::move(written)};
}

Result<void> GcsBlobs::DeleteIf(const std::string& name, const BlobVersion& version,
                                std::stop_token stop) {
  return client_.Delete(place_.bucket, Full(name), version.token, std::move(stop));
}

}  // namespace podctl
