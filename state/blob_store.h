// The door to a place of small named objects in which a state can be kept: a bucket, the keys of
// etcd. Each write names the version that it follows, so that of two who write at once one learns
// that the other was first. Implementations retry nothing that writes: only the caller knows
// whether an object that is "there already" is its own, of a request whose answer was lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

// The place's own, opaque name of one version of one object: a generation in GCS, a revision in
// etcd. Compared for equality alone.
struct BlobVersion {
  std::string token;

  friend bool operator==(const BlobVersion&, const BlobVersion&) = default;
};

// When a version was written, or a moment after that which has passed already, by the place's own
// clock, which all who use the place share; two such times are compared with one another and with
// no other clock. It may be set back, but never runs ahead of the time that passes. nullopt: the
// place tells none.
using BlobTime = std::optional<std::chrono::system_clock::time_point>;

struct Blob {
  std::string bytes;
  BlobVersion version;
};

struct BlobEntry {
  std::string name;
  BlobVersion version;  // as Get tells it
  BlobTime written;
};

// Errors of the methods that write: kFailedPrecondition: the condition did not hold, and this
// request wrote nothing; kReplyLost: it may have been carried out, or not; every other code: it was
// not. An object is seen by every Get and ListFrom that begin after its write was answered.
// Thread safe: a lease is kept alive beside what the run writes.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // nullopt: there is none.
  virtual Result<std::optional<Blob>> Get(const std::string& name, std::stop_token stop) = 0;
  // Those whose name begins with `prefix` ("": all) and is not before `from`, in the order of their
  // names' bytes, as they were at one moment or, page by page, one after the other: one that is
  // written meanwhile may be missing, one that stood there all the time is not.
  virtual Result<std::vector<BlobEntry>> ListFrom(const std::string& prefix,
                                                  const std::string& from,
                                                  std::stop_token stop) = 0;
  virtual Result<BlobVersion> CreateIfAbsent(const std::string& name, const std::string& bytes,
                                             std::stop_token stop) = 0;
  virtual Result<BlobVersion> ReplaceIf(const std::string& name, const std::string& bytes,
                                        const BlobVersion& version, std::stop_token stop) = 0;
  // One that is not there any more is kFailedPrecondition too.
  virtual Result<void> DeleteIf(const std::string& name, const BlobVersion& version,
                                std::stop_token stop) = 0;
  // Whether what is written here can be replaced and deleted at once. False: the place keeps what
  // was written last for some time, and only trying tells what that forbids. kFailedPrecondition:
  // it cannot, and why; nothing should be written.
  virtual Result<bool> CanReplace(const std::stop_token& /*stop*/) { return true; }
  virtual std::string Where() const = 0;  // for messages: "gs://bucket/prefix"
};

}  // namespace podctl
