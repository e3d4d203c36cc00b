// The metadata server of a machine that runs at Google: tokens of the service account attached to
// it. It is asked directly, never by a proxy.
#pragma once

#include <memory>
#include <string>

#include "providers/gcp/credentials/token_source.h"

namespace podctl::gcp {

struct MetadataServer {
  std::unique_ptr<TokenSource> source;  // nullptr: there is none
  std::string finding;                  // where it is, or why there is none: "this machine is …"
};

// GCE_METADATA_HOST ("host" or "host:port") names it, and is believed. Otherwise the machine's
// maker (/sys/class/dmi/id/product_name) tells; where that cannot be read, who answers at
// 169.254.169.254 within a second (GCE_METADATA_TIMEOUT: seconds), with Google's own header.
// NO_GCE_CHECK=true: it is not looked for.
Result<MetadataServer> FindMetadataServer(const CredentialDoors& doors,
                                          const std::stop_token& stop);

}  // namespace podctl::gcp
