// Objects of Cloud Storage over any http::Transport, by its JSON API (storage.googleapis.com, v1).
//
// One call is one request (a list: one a page). What reads is repeated as usual; what writes never
// is, since only the caller knows whether an object that is "there already" is its own. Every write
// says of which generation it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "providers/gcp/rest_client.h"
#include "providers/gcp/storage_place.h"
#include "providers/os/environment.h"

namespace podctl::gcp {

// STORAGE_EMULATOR_HOST ("http://127.0.0.1:9000", or without the scheme), else
// CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE (with or without "storage/v1/" at its end), else
// Google's. kInvalidArgument: the error names the variable.
Result<Endpoint> FindStorageEndpoint(const Environment& environment);

struct StorageSettings {
  std::string user_project;  // who pays for the requests, where the bucket's owner does not; or ""
  // projects/P/locations/L/keyRings/R/cryptoKeys/K, for what is written; "": the bucket's own.
  std::string kms_key;
};

struct StorageObject {
  std::string name;
  std::string generation;  // a decimal number above 0
  std::uint64_t bytes = 0;
  std::optional<std::chrono::sys_seconds> created;  // this generation, by Google's clock
};
// What a bucket does to what is written into it.
struct StorageKeeping {
  std::chrono::seconds retention{0};  // for so long nothing is replaced or deleted; 0: no policy
  bool is_locked = false;             // that policy can never be removed
  bool holds = false;                 // each object is held until somebody releases it
  bool has_versions = false;          // what is replaced stays as an earlier version
};
struct StorageContent {
  std::string bytes;
  std::string generation;
};

// Thread safe. The doors must outlive it.
class StorageClient {
 public:
  static constexpr std::size_t kLargestObject = std::size_t{60} << 20;  // that it writes, in bytes

  // `reads`: how what reads is repeated.
  StorageClient(Endpoint endpoint, http::Transport& transport, Credentials& credentials,
                Clock& clock, Random& random, StorageSettings settings = {},
                http::RetryPolicy reads = {});

  // Errors have a hint with the command that helps: kNotFound is of the bucket, kPermissionDenied,
  // kUnauthenticated. kDataLoss: the answer is not what Google would say.

  // nullopt: there is none. kDataLoss also: the bytes are not those that were stored (CRC32C).
  Result<std::optional<StorageContent>> Get(const std::string& bucket, const std::string& name,
                                            const std::stop_token& stop);
  // Those whose names begin with `prefix` and are not before `start`, in the order of their bytes.
  Result<std::vector<StorageObject>> List(const std::string& bucket, const std::string& prefix,
                                          const std::string& start, const std::stop_token& stop);

  // kPermissionDenied: it takes storage.buckets.get, which roles/storage.objectUser lacks.
  Result<StorageKeeping> Keeping(const std::string& bucket, const std::stop_token& stop);

  // Of the methods that write. kFailedPrecondition: the object has another generation, and this
  // request wrote nothing; kReplyLost: it may have been carried out, or not, as after a 503 or a
  // `stop` in the middle; all other codes: it was not. kUnavailable: too hasty (one write a second
  // to an object), or not reached.

  // `if_generation`: the one that is replaced; "0": there must be none. Returns the new one. What
  // is worth it is stored with the encoding gzip, so that each client that asks for the object gets
  // `bytes` (decompressive transcoding, where it does not take gzip).
  // `kept`, which may be null: whether the bucket keeps it for some time, by a retention policy or
  // a hold.
  Result<std::string> Insert(const std::string& bucket, const std::string& name,
                             const std::string& bytes, const std::string& if_generation,
                             const std::stop_token& stop, bool* kept = nullptr);
  // One that is not there any more is kFailedPrecondition too.
  Result<void> Delete(const std::string& bucket, const std::string& name,
                      const std::string& if_generation, const std::stop_token& stop);
  // With uniform access and versions. `location`: "EU", "us-central1". kAlreadyExists.
  Result<void> MakeBucket(const std::string& project, const std::string& bucket,
                          const std::string& location, const std::stop_token& stop);

 private:
  Result<http::Response> Write(const Call& call, const std::string& bucket,
                               const std::stop_token& stop);
  Call ObjectCall(std::string method, const std::string& bucket, const std::string& name) const;

  RestClient reads_;
  RestClient writes_;
  Random& random_;
  const StorageSettings settings_;
};

}  // namespace podctl::gcp
