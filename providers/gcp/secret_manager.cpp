#include "providers/gcp/secret_manager.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "providers/base/digest.h"
#include "providers/base/encoding.h"
#include "providers/base/text.h"
#include "providers/gcp/secret_name.h"
#include "providers/http/url.h"

namespace podctl::gcp {
namespace {

constexpr std::size_t kLargestSecret = 64U << 10;

std::string UrlOfRegion(const std::string& region) {
  if (region.empty()) return "https://secretmanager.googleapis.com/";
  return fmt::format("https://secretmanager.{}.rep.googleapis.com/", region);
}

std::string PathOf(const SecretName& name) {
  std::string path = "v1/projects/" + http::PercentEncode(name.project);
  if (!name.location.empty()) path += "/locations/" + http::PercentEncode(name.location);
  return fmt::format("{}/secrets/{}/versions/{}:access", path, http::PercentEncode(name.id),
                     http::PercentEncode(name.version));
}

// "hf-token --project p", as gcloud takes it; names hold nothing that a shell would read.
std::string ForGcloud(const SecretName& name) {
  const std::string where = name.location.empty() ? "" : " --location " + name.location;
  return fmt::format("{} --project {}{}", name.id, name.project, where);
}

std::string HelpFor(ErrorCode code, const SecretName& name) {
  const std::string of = ForGcloud(name);
  if (code == ErrorCode::kPermissionDenied) {
    return fmt::format(
        "whoever runs podctl needs roles/secretmanager.secretAccessor on it: `gcloud secrets "
        "add-iam-policy-binding {} --member=user:YOU@example.com "
        "--role=roles/secretmanager.secretAccessor`",
        of);
  }
  if (code == ErrorCode::kNotFound) {
    return fmt::format("`gcloud secrets versions list {}` shows which versions there are", of);
  }
  if (code == ErrorCode::kFailedPrecondition) {
    return fmt::format(
        "add a new version (`gcloud secrets versions add {} --data-file=FILE`), enable this one, "
        "or name another one by its number",
        of);
  }
  return {};
}

Error OddSecret(const std::string& what) {
  return MakeError(ErrorCode::kDataLoss, "Secret Manager's answer " + what);
}

bool IsProjectNumber(const std::string& project) {
  return project.find_first_not_of("0123456789") == std::string::npos;
}

// The service calls the project by its number.
bool IsVersionOf(const SecretName& asked, const SecretName& answered) {
  const bool same_project = answered.project == asked.project ||
                            (IsProjectNumber(answered.project) && !IsProjectNumber(asked.project));
  return same_project && answered.HasNumber() && answered.id == asked.id &&
         answered.location == asked.location &&
         (!asked.HasNumber() || answered.version == asked.version);
}

Result<SecretValue> ReadAnswer(const SecretName& asked, const Value& answer) {
  const auto answered = ParseSecretName(answer["name"].AsString());
  if (!answered || !IsVersionOf(asked, *answered)) return OddSecret("is of another secret");
  // An empty secret there is not.
  const Value* data = answer["payload"].Find("data");
  if (data == nullptr || !data->is_string() || data->AsString().empty()) {
    return OddSecret("holds no secret");
  }
  auto bytes = Base64Decode(data->AsString());
  if (!bytes) return OddSecret("holds a secret that is not base64");
  if (bytes->size() > kLargestSecret) return OddSecret("holds a secret of more than 64 KiB");
  if (const Value* sum = answer["payload"].Find("dataCrc32c")) {
    if (sum->AsInt(-1) != static_cast<std::int64_t>(Crc32c(*bytes))) {
      return MakeError(ErrorCode::kDataLoss,
                       "the secret was damaged on its way: its checksum (CRC32C) does not fit",
                       "try again");
    }
  }
  SecretName name = asked;
  name.version = answered->version;
  return SecretValue{name.Text(), *std::move(bytes)};
}

}  // namespace

SecretManager::SecretManager(std::optional<Endpoint> endpoint, http::Transport& transport,
                             Credentials& credentials, Clock& clock, Random& random,
                             http::RetryPolicy policy)
    : clients_(std::move(endpoint), UrlOfRegion, transport, credentials, clock, random,
               std::move(policy)) {}

Result<SecretValue> SecretManager::Access(const std::string& name, std::stop_token stop) {
  const auto asked = ParseSecretName(name);
  if (!asked) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("`{}` is not the name of a secret", VisibleControls(name)));
  }
  RestClient* client = &clients_.Global();
  if (!asked->location.empty()) {
    auto regional = clients_.Of(asked->location);
    if (!regional) return regional.error();
    client = *regional;
  }
  Call call;
  call.path = PathOf(*asked);
  call.if_denied = HelpFor(ErrorCode::kPermissionDenied, *asked);
  Result<Value> answer = client->Send(call, std::move(stop));
  if (answer) return ReadAnswer(*asked, *answer);
  Error error = answer.error();
  const bool gone =
      error.code == ErrorCode::kNotFound || error.code == ErrorCode::kFailedPrecondition;
  if (gone) error.hint = HelpFor(error.code, *asked);
  return error;
}

}  // namespace podctl::gcp
