// What Cloud Storage takes and refuses, whoever asks: names, conditions, sums; and how it says no.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "providers/base/value.h"
#include "providers/emulator/service/api_error.h"

namespace podctl::emulator {

// The largest object, and the largest body of a request, in bytes; and all of them together.
inline constexpr std::size_t kLargestObject = std::size_t{64} << 20;
inline constexpr std::size_t kLargestStorage = std::size_t{256} << 20;

// An error as the older of Google's APIs shape it:
// {"error":{"code":412,"message":…,"errors":[{"domain":"global","message":…,"reason":…}]}}
ApiError StorageError(int http, std::string_view reason, std::string message);
// With the reason that goes with a status, for faults that were ordered.
ApiError StorageErrorOf(int http, std::string message);
ApiError StorageInvalid(std::string message);
ApiError StorageRequired(std::string_view what);
ApiError NoSuchBucket();
ApiError NoSuchObject(std::string_view bucket, std::string_view object);

Refusal CheckBucketName(std::string_view name);
Refusal CheckObjectName(std::string_view name);

// What a request says of the versions that it wants to meet. An object that is not there has the
// generation and the metageneration 0.
struct StorageConditions {
  std::optional<std::int64_t> generation;
  std::optional<std::int64_t> not_generation;
  std::optional<std::int64_t> metageneration;
  std::optional<std::int64_t> not_metageneration;

  bool empty() const {
    return !generation && !not_generation && !metageneration && !not_metageneration;
  }
  // 412 where what it must meet is not there; 304, also of a request that writes, where what it
  // must not meet is.
  Refusal Check(std::int64_t live_generation, std::int64_t its_metageneration) const;
};

// What the request says that the bytes are, by `crc32c` and `md5Hash` of the metadata.
Refusal CheckSums(const Value& metadata, std::string_view bytes);
// Custom metadata must be texts, of 8 KiB together.
Refusal CheckMetadata(const Value& metadata);

// "projects/P/locations/L/keyRings/R/cryptoKeys/K", or "".
Refusal CheckKmsKey(std::string_view name);

// The members of an object that whoever may write it sets.
bool IsWritableOfObject(std::string_view member);

// RFC 7396: members of `change` are set, null removes.
void MergePatch(const Value& change, Value* target);

// What an object's etag is made of: both numbers, as protobuf writes them.
std::string StorageEtag(std::int64_t generation, std::int64_t metageneration);

// Percent-encoded, as in links.
std::string PathPart(std::string_view name);

// ---- The parameter `fields`: "items(name,generation),nextPageToken", "a/b", "*". nullopt: it is
// not one.
std::optional<Value> SelectFields(const Value& answer, std::string_view fields);

}  // namespace podctl::emulator
