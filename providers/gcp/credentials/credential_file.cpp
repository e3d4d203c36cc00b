#include "providers/gcp/credentials/credential_file.h"

#include <fmt/format.h>

#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl::gcp {
namespace {

constexpr std::uint64_t kMaxFileBytes = 1 << 20;
constexpr int kMaxDepth = 3;

}  // namespace

std::string Fields::Named(std::string_view name) const {
  return fmt::format("{}: `{}`", where_, name);
}

Error Fields::Wrong(std::string_view name, std::string_view what) const {
  return MakeError(ErrorCode::kUnauthenticated, fmt::format("{} {}", Named(name), what));
}

Result<std::string> Fields::Text(std::string_view name) const {
  const Value& value = object_[name];
  if (value.is_null()) return Wrong(name, "is missing");
  if (!value.is_string() || value.AsString().empty()) return Wrong(name, "is not a text");
  return value.AsString();
}

std::string Fields::TextOr(std::string_view name, const std::string& fallback) const {
  const std::string& text = object_[name].AsString();
  return text.empty() ? fallback : text;
}

Result<void> Fields::Take(
    std::initializer_list<std::pair<std::string_view, std::string*>> texts) const {
  for (const auto& [name, target] : texts) {
    Result<std::string> text = Text(name);
    if (!text) return text.error();
    *target = *std::move(text);
  }
  return {};
}

Result<TokenSource> MakeTokenSource(const CredentialDoors& doors, const Fields& fields,
                                    TokenUse use, int depth) {
  if (depth > kMaxDepth) {
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{}: credentials within credentials, too deep", fields.where()));
  }
  Result<std::string> type = fields.Text("type");
  if (!type) return type.error();
  if (*type == "service_account") return MakeServiceAccount(doors, fields, use);
  if (*type == "authorized_user") return MakeAuthorizedUser(doors, fields);
  if (*type == "external_account") return MakeExternalAccount(doors, fields);
  if (*type == "external_account_authorized_user") return MakeExternalUser(doors, fields);
  if (*type == "impersonated_service_account") {
    return MakeImpersonatedAccount(doors, fields, depth);
  }
  return fields.Wrong("type", fmt::format("says {}, which podctl does not know",
                                          VisibleControls(type->substr(0, 60))));
}

Result<TokenSource> ReadCredentialFile(const CredentialDoors& doors, const std::string& path) {
  const Result<std::string> text = doors.files.Read(path, kMaxFileBytes);
  if (!text) return MakeError(ErrorCode::kUnauthenticated, text.error().message);
  const Result<Value> json = ParseJson(*text);
  if (!json || !json->is_map()) {
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{} is not a credential file: {}", path,
                                 json ? "it holds no JSON object" : json.error().message),
                     "it is the JSON that `gcloud auth application-default login` or the console "
                     "writes");
  }
  return MakeTokenSource(doors, Fields(*json, path), TokenUse::kTpuApi);
}

}  // namespace podctl::gcp
