// Declared in subject_token.h.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/credentials/subject_token.h"
#include "providers/gcp/credentials/token_request.h"
#include "providers/http/url.h"

namespace podctl::gcp {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kAlgorithm = "AWS4-HMAC-SHA256";
constexpr const char* kSessionHeader = "X-aws-ec2-metadata-token";
constexpr const char* kSessionLife = "300";  // seconds

struct AwsSubjectToken {
  CredentialDoors doors;
  std::string audience;
  std::string region_url;    // may be ""
  std::string key_url;       // may be ""
  std::string session_url;   // IMDSv2; may be ""
  std::string identity_url;  // https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&…
  std::string where;

  Result<Secret> operator()(const std::stop_token& stop) const {
    Headers session;  // the metadata server's, once it was asked for
    Result<std::string> region = Region(&session, stop);
    if (!region) return region.error();
    Result<AwsKey> key = Key(&session, stop);
    if (!key) return key.error();
    std::string url = identity_url;
    if (const auto at = url.find("{region}"); at != std::string::npos) {
      url.replace(at, std::string_view("{region}").size(), *region);
    }
    return Signed(url, *region, *key);
  }

  std::optional<std::string> Variable(const char* name) const {
    auto value = doors.environment.Get(name);
    return value && !value->empty() ? value : std::nullopt;
  }

  // One answer of the metadata server; opens its session first, if there is to be one.
  Result<std::string> Metadata(const std::string& url, const char* field, Headers* session,
                               const std::stop_token& stop) const {
    TokenRequest request;
    request.url_policy = UrlPolicy::kNearby;
    request.timeout = std::chrono::seconds(5);
    request.hint = "is this machine one of AWS's, and does it have a role?";
    if (session->empty() && !session_url.empty()) {
      request.method = "PUT";
      request.url = session_url;
      request.whose = fmt::format("{}: `imdsv2_session_token_url`", where);
      request.headers = {{"X-aws-ec2-metadata-token-ttl-seconds", kSessionLife}};
      Result<http::Response> answer = Ask(doors, request, stop);
      if (!answer) return answer.error();
      *session = {{kSessionHeader, std::string(TrimBlanks(answer->body))}};
    }
    request.method = "GET";
    request.url = url;
    request.whose = fmt::format("{}: `{}`", where, field);
    request.headers = *session;
    Result<http::Response> answer = Ask(doors, request, stop);
    if (!answer) return answer.error();
    return std::string(TrimBlanks(answer->body));
  }

  Result<std::string> Region(Headers* session, const std::stop_token& stop) const {
    if (auto region = Variable("AWS_REGION")) return *region;
    if (auto region = Variable("AWS_DEFAULT_REGION")) return *region;
    if (region_url.empty()) {
      return MakeError(
          ErrorCode::kUnauthenticated,
          fmt::format("{}: neither AWS_REGION nor `region_url` tells the AWS region", where),
          "set AWS_REGION");
    }
    Result<std::string> zone = Metadata(region_url, "region_url", session, stop);
    // "us-east-1d" is a zone of the region us-east-1.
    if (zone && !zone->empty()) zone->pop_back();
    return zone;
  }

  Result<AwsKey> Key(Headers* session, const std::stop_token& stop) const {
    const auto id = Variable("AWS_ACCESS_KEY_ID");
    const auto secret = Variable("AWS_SECRET_ACCESS_KEY");
    if (id && secret)
      return AwsKey{*id, Secret(*secret), Variable("AWS_SESSION_TOKEN").value_or("")};
    if (key_url.empty()) {
      return MakeError(
          ErrorCode::kUnauthenticated,
          fmt::format("{}: neither AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY nor `url` gives an "
                      "AWS key",
                      where));
    }
    Result<std::string> role = Metadata(key_url, "url", session, stop);
    if (!role) return role.error();
    Result<std::string> text = Metadata(fmt::format("{}/{}", key_url, *role), "url", session, stop);
    if (!text) return text.error();
    const Result<Value> json = ParseJson(*text);
    const auto member = [&](const char* name) {
      return json ? (*json)[name].AsString() : std::string();
    };
    AwsKey key{member("AccessKeyId"), Secret(member("SecretAccessKey")), member("Token")};
    if (!key.id.empty() && !key.secret.Reveal().empty()) return key;
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{}: `url`: the answer holds no AWS key", where));
  }

  Result<Secret> Signed(const std::string& url, const std::string& region,
                        const AwsKey& key) const {
    const auto query = url.find('?');
    const Result<http::Url> parsed = http::ParseUrl(url);
    if (!parsed || query == std::string::npos) {
      return MakeError(
          ErrorCode::kUnauthenticated,
          fmt::format("{}: `regional_cred_verification_url` is not a URL with a query", where));
    }
    AwsRequest request;
    request.host = parsed->Server();
    request.path = parsed->path;
    request.query = url.substr(query + 1);
    request.region = region;
    request.service = "sts";
    // Binds the request to this pool of identities, so that it serves nobody else.
    request.headers = {{"x-goog-cloud-target-resource", audience}};
    if (!key.session_token.empty()) {
      request.headers.emplace_back("x-amz-security-token", key.session_token);
    }
    Value::List headers;
    for (const auto& [name, value] : SignForAws(request, key, doors.clock.Now())) {
      headers.push_back(
          Value::Map{{"key", name == "authorization" ? "Authorization" : name}, {"value", value}});
    }
    const Value::Map document = {
        {"url", url}, {"method", request.method}, {"headers", std::move(headers)}};
    return Secret(http::PercentEncode(ToJson(document)));
  }
};

}  // namespace

Headers SignForAws(const AwsRequest& request, const AwsKey& key, Clock::SystemTime now) {
  std::string time = FormatTimestamp(now);  // 2026-11-20T14:29:43Z
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  const std::string day = time.substr(0, 8);
  Headers headers = request.headers;
  headers.emplace_back("host", request.host);
  headers.emplace_back("x-amz-date", time);
  std::sort(headers.begin(), headers.end());
  std::string lines;
  std::string names;
  for (const auto& [name, value] : headers) {
    lines += fmt::format("{}:{}\n", name, value);
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, request.path,
                                            request.query, lines, names, Sha256Hex(""));
  const std::string scope =
      fmt::format("{}/{}/{}/aws4_request", day, request.region, request.service);
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope, Sha256Hex(canonical));
  std::string derived = HmacSha256("AWS4" + key.secret.Reveal(), day);
  for (const std::string& part : {request.region, request.service, std::string("aws4_request")}) {
    derived = HmacSha256(derived, part);
  }
  headers.emplace_back(
      "authorization",
      fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm, key.id, scope,
                  names, HmacSha256Hex(derived, to_sign)));
  std::sort(headers.begin(), headers.end());
  return headers;
}

Result<SubjectToken> MakeAwsRequest(const CredentialDoors& doors, const Fields& source,
                                    Federation federation) {
  if (source["environment_id"].AsString() != "aws1") {
    return source.Wrong("environment_id", "is not aws1, the only one there is");
  }
  Result<std::string> identity_url = source.Text("regional_cred_verification_url");
  if (!identity_url) return identity_url.error();
  return SubjectToken(AwsSubjectToken{
      doors, std::move(federation.audience), source.TextOr("region_url"), source.TextOr("url"),
      source.TextOr("imdsv2_session_token_url"), *std::move(identity_url), source.where()});
}

}  // namespace podctl::gcp
