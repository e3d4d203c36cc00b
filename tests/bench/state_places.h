// Where a state can be in the bench: here, and on servers that run for the bench, each behind a
// relay that holds requests back as a network would.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/relay.h"
#include "tests/support/etcd_server.h"
#include "tests/support/gitea_server.h"
#include "tests/support/state_server.h"

namespace podctl::bench {

constexpr std::chrono::milliseconds kStateLatency{30};  // added to each request

// Those that outlast one measurement.
struct StateServers {
  std::unique_ptr<testing::EtcdServer> etcd;    // nullptr: its program is missing
  std::unique_ptr<testing::GiteaServer> gitea;  // nullptr: likewise; a double takes its place
};
// Prints which program is missing, and what stays out or stands in because of that.
StateServers StartStateServers();

enum class Engine { kLocal, kGcs, kEtcd, kHttp };

// The place of one measurement, where nothing is yet.
class StatePlace {
 public:
  // `name` is of the place alone, in letters. For a bucket the emulator of PODCTL_ENDPOINT is
  // asked. Sets variables of this process that podctl and terraform need.
  StatePlace(Engine engine, const std::string& name, const StateServers& servers);

  // A line of podctl's spec, "" for the local file; and terraform's block.
  const std::string& spec() const { return spec_; }
  const std::string& terraform() const { return terraform_; }
  // nullopt: no request is made.
  std::optional<Relay::Count> Take();
  // So far, by the place's own account: etcd's, of all keys and values. nullopt: it gives none.
  std::optional<std::int64_t> Written() const;

 private:
  void OpenBucket(const std::string& name);
  void OpenEtcd(const std::string& name, const StateServers& servers);
  void OpenHttp(const std::string& name, const StateServers& servers);

  std::unique_ptr<testing::StateServer> double_;
  std::unique_ptr<testing::StateServerOnPort> double_on_port_;
  std::unique_ptr<Relay> relay_;
  std::string metrics_;  // URL; "": there are none
  std::string spec_;
  std::string terraform_;
};

}  // namespace podctl::bench
