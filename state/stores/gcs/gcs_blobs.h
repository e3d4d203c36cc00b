// The door to small objects (state/blob_store.h) for a place in Cloud Storage: gs://BUCKET/PREFIX.
// Below the prefix a blob's name is the object's; a version is a generation.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "providers/gcp/storage.h"
#include "state/blob_store.h"

namespace podctl {

// What the client says of a state's bucket: an error of logging in does not name what it is for.
Error OfStateIn(const gcp::StoragePlace& place, Error error);

// Thread safe. The client must outlive it. Errors are the client's, by way of OfStateIn.
class GcsBlobs final : public BlobStore {
 public:
  GcsBlobs(gcp::StorageClient& client, gcp::StoragePlace place)
      : client_(client), place_(std::move(place)) {}

  Result<std::optional<Blob>> Get(const std::string& name, std::stop_token stop) override;
  Result<std::vector<BlobEntry>> ListFrom(const std::string& prefix, const std::string& from,
                                          std::stop_token stop) override;
  Result<BlobVersion> CreateIfAbsent(const std::string& name, const std::string& bytes,
                                     std::stop_token stop) override;
  Result<BlobVersion> ReplaceIf(const std::string& name, const std::string& bytes,
                                const BlobVersion& version, std::stop_token stop) override;
  Result<void> DeleteIf(const std::string& name, const BlobVersion& version,
                        std::stop_token stop) override;
  // By what the bucket says of itself, which is asked once; where that may not be read, by what was
  // said of the object that was written last.
  Result<bool> CanReplace(const std::stop_token& stop) override;
  std::string Where() const override { return place_.Text(); }

 private:
  std::string Full(const std::string& name) const;

  gcp::StorageClient& client_;
  const gcp::StoragePlace place_;
  std::atomic<bool> kept_ = false;
  std::mutex asked_;  // of what follows
  std::optional<Result<gcp::StorageKeeping>> keeping_;
};

}  // namespace podctl
