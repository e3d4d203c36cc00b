// What the metadata server of a TPU VM knows, the tree under /computeMetadata/v1, and its manners:
// what a request asks of a tree, and the answer to it. All of it over data.
//
// Of the Compute Engine server's tree it holds what programs on a TPU VM read (google-auth, JAX,
// torch_xla, Ray, start-up scripts), and of `tpu-env` the keys that follow from the node. A token
// opens nothing: it is a word of the emulator's own.
//
// As Compute Engine's server: who does not say `Metadata-Flavor: Google`, or comes through a proxy,
// is refused; folders list their entries, `recursive=true` gives all below as JSON, `alt` chooses
// text or JSON, and each answer has an etag for `wait_for_change`. Requests are foreign text. Knows
// neither sockets nor processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/emulator/workers/worker_farm.h"

namespace podctl::emulator {

// With keys as in paths ("service-accounts"). A list of maps is a folder of numbers.
Value MetadataTree(const MachineSet& machines, std::size_t worker);

// What is made at each request, and belongs to the folder of a service account. `now`: seconds
// since the epoch.
Value MakeToken(std::string_view account);
std::string MakeIdentity(std::string_view account, std::string_view audience, std::int64_t now);

inline constexpr std::size_t kMetadataHeadLimit = 16384;  // bytes

struct MetadataRequest {
  std::string method;
  std::string path;                                         // percent-decoded
  std::map<std::string, std::string, std::less<>> query;    // decoded; the last of equal names
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::size_t size = 0;                                     // of what was received, in bytes
  bool began = false;                                       // it waits for a change already
};

// The first request of what was received; nullopt: it is not whole yet. kInvalidArgument: no HTTP/1
// request, or longer than the limit.
Result<std::optional<MetadataRequest>> ReadMetadataRequest(std::string_view received);

struct MetadataReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/text";
  std::string etag;      // "" on errors
  std::string location;  // of a redirection
  // The request wants to be answered when there is another etag than this one, or so many seconds
  // have passed (0: however long it takes).
  std::optional<std::string> wait_for_other_than = std::nullopt;
  std::int64_t wait_s = 0;
};

// `now`: seconds since the epoch.
MetadataReply AnswerMetadata(const MetadataRequest& request, const Value& tree, std::int64_t now);

// The bytes to send.
std::string Written(const MetadataRequest& request, const MetadataReply& reply);

}  // namespace podctl::emulator
