// The log of a job as it is kept in Cloud Storage: finds its pieces, and tells the lines of all
// workers in the order of their times. What writes the pieces is providers/workers/ship.py; their
// names say when, by whom and at which place of the log each was written, so that what is not
// wanted is not read. Shows nothing.
//
// What lies in a bucket is foreign text: names and contents may be anybody's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "plans/spec/job_spec.h"
#include "providers/base/error.h"
#include "providers/gcp/storage.h"

namespace podctl {

using LogTime = std::chrono::sys_time<std::chrono::milliseconds>;

// Where the job's log is kept; nullopt: it stays on the workers.
std::optional<gcp::StoragePlace> KeptLogsOf(const JobSpec& job);
// What the names of its pieces begin with: "logs/research/train/".
std::string KeptLogFolder(const gcp::StoragePlace& place, const std::string& pod,
                          const std::string& job);

// RFC 3339 with milliseconds, in UTC.
std::string FormatLogTime(LogTime time);

// A piece of the log of one worker, as its name tells.
struct KeptPiece {
  std::string name;  // of the object, whole
  LogTime first;     // of its first line
  LogTime last;
  std::string run;
  int attempt = 1;
  int worker = 0;
  std::uint64_t sequence = 0;
  std::uint64_t offset = 0;  // in bytes of the log
  std::uint64_t length = 0;

  std::uint64_t end() const { return offset + length; }
};
// nullopt: no piece has such a name below `folder`.
std::optional<KeptPiece> ReadPieceName(std::string_view folder, const std::string& name);

// The door to the objects of one bucket. Thread safe.
class KeptObjects {
 public:
  virtual ~KeptObjects() = default;
  // The names that begin with `prefix` and are not before `start`, in the order of their bytes.
  virtual Result<std::vector<std::string>> List(const std::string& prefix, const std::string& start,
                                                const std::stop_token& stop) = 0;
  // kNotFound: it is gone since.
  virtual Result<std::string> Read(const std::string& name, const std::stop_token& stop) = 0;
};

class BucketObjects final : public KeptObjects {
 public:
  // The client is lent.
  BucketObjects(gcp::StorageClient& client, std::string bucket)
      : client_(client), bucket_(std::move(bucket)) {}
  Result<std::vector<std::string>> List(const std::string& prefix, const std::string& start,
                                        const std::stop_token& stop) override;
  Result<std::string> Read(const std::string& name, const std::stop_token& stop) override;

 private:
  Error OfLogs(Error error) const;

  gcp::StorageClient& client_;
  const std::string bucket_;
};

struct KeptLogRequest {
  std::string folder;  // KeptLogFolder
  std::string pod;     // as it was given, with workers or without
  std::optional<LogTime> since = {};
  std::optional<int> attempt = {};
  std::string workers = {};                // as WorkerSelection reads them; empty: all
  std::optional<std::uint64_t> tail = {};  // only so many last lines of each worker
  // How many workers the pod has, where that is known: pieces of others are passed over.
  std::optional<int> count = {};
};

// Who is told; one call at a time.
class KeptLogWatcher {
 public:
  virtual ~KeptLogWatcher() = default;
  // At most once, before all else: so many pieces are of workers that the pod does not have, and
  // are passed over.
  virtual void OnStrangers(std::size_t pieces, int highest_worker) = 0;
  // Once, before all that follows: the numbers of the workers, ascending.
  virtual void OnWorkers(const std::vector<int>& workers) = 0;
  // Before the first line of an attempt, by whichever worker.
  virtual void OnAttempt(const KeptPiece& first) = 0;
  virtual void OnLine(int worker, LogTime time, std::string_view line) = 0;
  // So many bytes of a worker's log are not there, before what comes next of it.
  virtual void OnMissing(int worker, std::uint64_t bytes) = 0;
  // An object with a piece's name that is none, and is passed over.
  virtual void OnBroken(const std::string& name, const Error& why) = 0;
};

// How many pieces were told; 0: none is kept. kOutOfRange: there are too many, or no such worker;
// kCancelled; else errors of the objects.
Result<std::size_t> ReadKeptLog(KeptObjects& objects, const KeptLogRequest& request,
                                KeptLogWatcher& watcher, const std::stop_token& stop);

}  // namespace podctl
