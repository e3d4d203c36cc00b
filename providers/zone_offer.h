// The door to what a zone offers to make nodes of. Resources travel as Value with the JSON names of
// the Cloud TPU API, every page of a list together. Calls behave as those of provider.h.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl {

class ZoneOffer {
 public:
  virtual ~ZoneOffer() = default;

  // AcceleratorType: `type`, and `acceleratorConfigs` with their `topology`.
  virtual Result<std::vector<Value>> ListAcceleratorTypes(const std::string& project,
                                                          const std::string& zone,
                                                          std::stop_token stop) = 0;
  // RuntimeVersion: `version`.
  virtual Result<std::vector<Value>> ListRuntimeVersions(const std::string& project,
                                                         const std::string& zone,
                                                         std::stop_token stop) = 0;
};

}  // namespace podctl
