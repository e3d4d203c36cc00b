#include "providers/gcp/service_identity.h"

#include <fmt/format.h>

#include <utility>

#include "providers/base/text.h"
#include "providers/http/url.h"

namespace podctl::gcp {

Result<std::string> GenerateServiceIdentity(RestClient& client, const std::string& project,
                                            const std::string& zone, std::stop_token stop) {
  Call call;
  call.method = "POST";
  call.path = fmt::format("v2/projects/{}/locations/{}:generateServiceIdentity",
                          http::PercentEncode(project), http::PercentEncode(zone));
  call.body = Value::EmptyMap();
  Result<Value> answer = client.Send(call, std::move(stop));
  if (!answer) return answer.error();
  const std::string email = (*answer)["identity"]["email"].AsString();
  // It is shown as a part of a shell command.
  if (email.find('@') == std::string::npos || ShellQuote(email) != email) {
    return MakeError(ErrorCode::kInternal, "the service's answer names no service agent");
  }
  return email;
}

std::string ServiceAgentRole(const std::string& email) {
  const bool is_new = email.find("@gcp-sa-tpu.") != std::string::npos;
  return is_new ? "roles/cloudtpu.serviceAgent" : "roles/tpu.serviceAgent";
}

}  // namespace podctl::gcp
