// The TPU service agent of a project: the account in whose name the Cloud TPU service itself acts
// (on VMs, networks, buckets), and what it must be allowed.
#pragma once

#include <stop_token>
#include <string>

#include "providers/gcp/rest_client.h"

namespace podctl::gcp {

// Makes the service agent exist where it does not yet; one for the whole project, whichever zone
// is asked. Its e-mail. Doing so again changes nothing.
Result<std::string> GenerateServiceIdentity(RestClient& client, const std::string& project,
                                            const std::string& zone, std::stop_token stop);

// The role that the agent needs on its project. There are two agents, told apart by their e-mail:
// service-N@gcp-sa-tpu.… and the older service-N@cloud-tpu.….
std::string ServiceAgentRole(const std::string& email);

}  // namespace podctl::gcp
