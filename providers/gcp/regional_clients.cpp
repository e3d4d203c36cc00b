#include "providers/gcp/regional_clients.h"

#include <fmt/format.h>

#include "providers/base/text.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl::gcp {

Result<RestClient*> RegionalClients::Of(const std::string& region) {
  if (!IsLocation(region)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("`{}` is no region", VisibleControls(region)));
  }
  return &Client(region);
}

RestClient& RegionalClients::Client(const std::string& region) {
  std::lock_guard lock(mutex_);
  auto& client = clients_[endpoint_ ? std::string() : region];
  if (!client) {
    const Endpoint endpoint = endpoint_.value_or(Endpoint{url_of_(region)});
    client =
        std::make_unique<RestClient>(endpoint, transport_, credentials_, clock_, random_, policy_);
  }
  return *client;
}

}  // namespace podctl::gcp
