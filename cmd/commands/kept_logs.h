// Shows the log of a job from where it is kept, for `podctl logs`.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "cmd/output_filter.h"
#include "cmd/reporter.h"
#include "cmd/views/kept_log_view.h"
#include "plans/fleet/kept_logs.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "providers/gcp/storage.h"
#include "providers/os/clock.h"
#include "providers/os/file_system.h"

namespace podctl {

// A duration before `now`, or a time; nullopt: neither.
std::optional<LogTime> LogTimeOf(const std::string& text, LogTime now);

struct KeptLogQuestion {
  std::string named;  // the pod as it was given, with workers or without
  std::string pod;    // its name alone
  std::string job;
  std::string workers;  // --worker; empty: all
  std::string since;    // for LogTimeOf; empty: from the beginning
  std::optional<int> attempt;
  int tail = 0;  // so many last lines; 0: all
  KeptLogStyle style = {};
};

// All of it is lent.
struct KeptLogDoors {
  std::function<Spec(Diagnostics& problems)> read_spec;
  std::function<Result<gcp::StorageClient*>()> storage;
  FileSystem& files;
  Clock& clock;
  Reporter& reporter;
  Streams& streams;
  std::stop_token stop;  // by the user
};

class KeptLogs {
 public:
  KeptLogs(KeptLogDoors doors, KeptLogQuestion question)
      : doors_(std::move(doors)), question_(std::move(question)) {}

  // `from`: gs://BUCKET/PREFIX; empty: where the job of the spec says. The exit code.
  int Show(const std::string& from) const;
  // The same where `why` keeps the log on the workers from being read; nullopt: nothing is known of
  // a kept one.
  std::optional<int> ShowInstead(const Error& why) const;

 private:
  Result<gcp::StoragePlace> PlaceIn(const Spec& spec) const;
  std::optional<int> WorkersIn(const Spec& spec) const;
  // `count`: of the pod's workers, where that is known.
  int Read(gcp::StorageClient& client, const gcp::StoragePlace& place,
           std::optional<int> count) const;

  const KeptLogDoors doors_;
  const KeptLogQuestion question_;
};

}  // namespace podctl
