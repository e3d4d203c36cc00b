// The door to a place that cannot be used, because of how it is named or of what it is reached by:
// every call is that error.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "state/blob_store.h"

namespace podctl {

class NoBlobs final : public BlobStore {
 public:
  NoBlobs(std::string where, Error why) : where_(std::move(where)), why_(std::move(why)) {}

  Result<std::optional<Blob>> Get(const std::string& /*name*/, std::stop_token /*stop*/) override {
    return why_;
  }
  Result<std::vector<BlobEntry>> ListFrom(const std::string& /*prefix*/,
                                          const std::string& /*from*/,
                                          std::stop_token /*stop*/) override {
    return why_;
  }
  Result<BlobVersion> CreateIfAbsent(const std::string& /*name*/, const std::string& /*bytes*/,
                                     std::stop_token /*stop*/) override {
    return why_;
  }
  Result<BlobVersion> ReplaceIf(const std::string& /*name*/, const std::string& /*bytes*/,
                                const BlobVersion& /*version*/, std::stop_token /*stop*/) override {
    return why_;
  }
  Result<void> DeleteIf(const std::string& /*name*/, const BlobVersion& /*version*/,
                        std::stop_token /*stop*/) override {
    return why_;
  }
  std::string Where() const override { return where_; }

 private:
  const std::string where_;
  const Error why_;
};

}  // namespace podctl
