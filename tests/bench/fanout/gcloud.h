// gcloud as a peer: an API of the bench's own that says just enough for
// `gcloud compute tpus tpu-vm ssh --worker=all` to find the workers of a fleet.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "tests/bench/fanout/client.h"
#include "tests/bench/fanout/fleet.h"
#include "tests/bench/fanout/pod.h"

namespace podctl::bench {

inline constexpr const char* kGcloud = "gcloud --worker=all";

class GcloudApi {
 public:
  // Serves one pod, with the first `count` workers of the fleet, until it is destroyed.
  GcloudApi(const Fleet& fleet, int count);
  ~GcloudApi();
  GcloudApi(const GcloudApi&) = delete;
  GcloudApi& operator=(const GcloudApi&) = delete;

  // Nothing where there is no gcloud. Its settings and keys lie in the pod's folder.
  std::optional<Client> Command(const Pod& pod, const std::string& command) const;

 private:
  const Fleet& fleet_;
  int port_ = 0;
  pid_t process_ = -1;
};

}  // namespace podctl::bench
