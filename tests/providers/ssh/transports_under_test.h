// The transports, each with what it needs, for the suites in tests/conformance.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "providers/os/clock.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/ssh/keys/identities.h"
#include "providers/ssh/libssh2/fan_out.h"
#include "providers/ssh/openssh/openssh_transport.h"
#include "providers/ssh/transport.h"

namespace podctl::testing {

// The identity file is always named, so the environment may be empty.
class OwnFanOut final : public ssh::Transport {
 public:
  std::vector<ssh::WorkerResult> Run(const std::vector<ssh::Job>& jobs, const ssh::Limits& limits,
                                     ssh::Observer& observer, std::stop_token stop) override {
    return fan_out_.Run(jobs, limits, observer, std::move(stop));
  }

 private:
  FixedEnvironment environment_{{}};
  RealFileSystem files_;
  RealClock clock_;
  RealRandom random_;
  ssh::Keyring keyring_{environment_, files_};
  ssh::FanOut fan_out_{keyring_, clock_, random_};
};

class OwnOpenSsh final : public ssh::Transport {
 public:
  std::vector<ssh::WorkerResult> Run(const std::vector<ssh::Job>& jobs, const ssh::Limits& limits,
                                     ssh::Observer& observer, std::stop_token stop) override {
    return openssh_.Run(jobs, limits, observer, std::move(stop));
  }

 private:
  FixedEnvironment environment_{{}};
  RealClock clock_;
  RealRandom random_;
  ssh::OpenSshTransport openssh_{environment_, clock_, random_};
};

template <typename T>
std::unique_ptr<ssh::Transport> Make() {
  return std::make_unique<T>();
}

}  // namespace podctl::testing
