// The keys and values of an etcd over any http::Transport, by its JSON gateway (/v3, etcd 3.4 and
// newer). One call is one request, sent to the endpoints in turn until one answers; what writes is
// sent again only where it certainly did not arrive.
//
// It knows nothing of what is kept there.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/etcd/place.h"
#include "providers/http/transport.h"

namespace podctl::etcd {

// What `key` to `end` is: the key alone where `end` is empty, else all from `key` on that are
// before `end`, in the order of their bytes.
struct KeyRange {
  std::string key;
  std::string end;
};
// All keys that begin with `prefix`, which is not empty.
KeyRange BelowPrefix(const std::string& prefix);

struct KeyValue {
  std::string key;
  std::string value;          // empty where keys alone were asked for
  std::int64_t revision = 0;  // that wrote it last (etcd's mod_revision)
  std::int64_t lease = 0;     // with whose end it goes; 0: none's
};

struct ReadOptions {
  std::int64_t revision = 0;  // as of this one; 0: the newest
  int limit = 0;              // of keys; 0: none
  bool keys_only = false;
};
struct Found {
  std::vector<KeyValue> keys;
  bool more = false;  // there are others behind the limit
  std::int64_t revision = 0;
};

// Carried out as a whole, where each condition holds, or not at all. etcd takes 128 of each, and
// 1.5 MiB in all. No key is both deleted and put.
struct Condition {
  std::string key;
  std::int64_t revision = 0;  // that wrote it last; 0: there is no such key
};
struct Put {
  std::string key;
  std::string value;
  std::int64_t lease = 0;
};
struct Transaction {
  std::vector<Condition> conditions;
  std::vector<KeyRange> deletes;
  std::vector<Put> puts;
};

// Thread safe. The transport must outlive it.
class Client {
 public:
  // The place must be one that may carry the settings (MayCarry).
  Client(Place place, Settings settings, http::Transport& transport);

  // Errors of both: kUnauthenticated, kPermissionDenied, kUnimplemented (no JSON gateway),
  // kInvalidArgument (also: a certificate that does not fit, a request that is too large);
  // kUnavailable: out of reach, too busy, or without a leader.

  // kOutOfRange: the revision was compacted. kDataLoss: the answer is not one of etcd's.
  Result<Found> Read(const KeyRange& range, const ReadOptions& options,
                     const std::stop_token& stop);
  // Returns the revision with which it was carried out. kFailedPrecondition: a condition does not
  // hold; kReplyLost: it may have been carried out, or not; all other codes: it was not.
  Result<std::int64_t> Commit(const Transaction& transaction, const std::stop_token& stop);

  // Returns the lease's number.
  Result<std::int64_t> Grant(std::chrono::seconds life, const std::stop_token& stop);
  Result<void> Revoke(std::int64_t lease, const std::stop_token& stop);
  // For how long it has been running out, in whole seconds and at most one too many. A change of
  // etcd's leader begins its life anew: so of two answers the later may be the smaller one, but
  // their difference never exceeds the time between them by more. kNotFound: there is no such
  // lease.
  Result<std::chrono::seconds> AgeOf(std::int64_t lease, const std::stop_token& stop);

  const Place& place() const { return place_; }

 private:
  Result<Value> Ask(const char* path, const Value& message, bool writes,
                    const std::stop_token& stop);
  Result<http::Response> Send(const char* path, const std::string& body, const std::string& token,
                              bool writes, const std::stop_token& stop, std::string* server);
  Result<std::string> Token(const std::stop_token& stop);
  void Forget(const std::string& token);

  const Place place_;
  const Settings settings_;
  http::Transport& transport_;
  std::atomic<std::size_t> first_ = 0;  // the endpoint that answered last

  std::mutex mutex_;  // of what follows
  std::string token_;
  bool logged_in_ = false;
};

}  // namespace podctl::etcd
