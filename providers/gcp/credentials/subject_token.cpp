#include "providers/gcp/credentials/subject_token.h"

#include <fmt/format.h>

#include <optional>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/credentials/aws_request.h"
#include "providers/gcp/credentials/executable_token.h"
#include "providers/gcp/credentials/token_request.h"

namespace podctl::gcp {
namespace {

constexpr std::uint64_t kMaxTokenBytes = 1 << 20;

// How a token stands in a text: alone, or as a member of a JSON object.
class Format {
 public:
  static Result<Format> Read(const Fields& source) {
    const Fields fields(source["format"], fmt::format("{}, in `format`", source.where()));
    const std::string type = fields.TextOr("type", "text");
    if (type != "text" && type != "json") return fields.Wrong("type", "is neither text nor json");
    Format format;
    if (type == "text") return format;
    Result<std::string> member = fields.Text("subject_token_field_name");
    if (!member) return member.error();
    format.member_ = *std::move(member);
    return format;
  }

  // `whose` begins the error's message.
  Result<Secret> TokenIn(const std::string& text, const std::string& whose) const {
    std::string token(TrimBlanks(text));
    if (member_) {
      const Result<Value> json = ParseJson(text);
      token = json ? (*json)[*member_].AsString() : "";
    }
    if (!token.empty()) return Secret(std::move(token));
    return MakeError(
        ErrorCode::kUnauthenticated,
        member_ ? fmt::format("{}: there is no JSON object with a text `{}`", whose, *member_)
                : fmt::format("{}: there is nothing", whose));
  }

 private:
  std::optional<std::string> member_;
};

class TokenFile final : public SubjectToken {
 public:
  TokenFile(const CredentialDoors& doors, std::string path, Format format, std::string where)
      : doors_(doors),
        path_(std::move(path)),
        format_(std::move(format)),
        where_(std::move(where)) {}

  Result<Secret> Get(const std::stop_token&) override {
    const Result<std::string> text = doors_.files.Read(path_, kMaxTokenBytes);
    if (!text) {
      return MakeError(ErrorCode::kUnauthenticated,
                       fmt::format("{}: {}", where_, text.error().message));
    }
    return format_.TokenIn(*text, fmt::format("{}: {}", where_, path_));
  }

 private:
  const CredentialDoors doors_;
  const std::string path_;
  const Format format_;
  const std::string where_;
};

// GitHub's OIDC tokens come so, and Azure's.
class TokenUrl final : public SubjectToken {
 public:
  TokenUrl(const CredentialDoors& doors, TokenRequest request, Format format)
      : doors_(doors), request_(std::move(request)), format_(std::move(format)) {}

  Result<Secret> Get(const std::stop_token& stop) override {
    const Result<http::Response> answer = Ask(doors_, request_, stop);
    if (!answer) return answer.error();
    return format_.TokenIn(answer->body, request_.whose);
  }

 private:
  const CredentialDoors doors_;
  const TokenRequest request_;
  const Format format_;
};

Result<std::unique_ptr<SubjectToken>> MakeTokenUrl(const CredentialDoors& doors,
                                                   const Fields& source, Format format) {
  Result<std::string> url = source.Text("url");
  if (!url) return url.error();
  TokenRequest request;
  request.method = "GET";
  request.url = *std::move(url);
  request.reach = Reach::kNearby;
  request.whose = source.Named("url");
  request.hint = "tokens of a CI job are there while that job runs, and no longer";
  for (const auto& [name, value] : source["headers"].AsMap()) {
    request.headers.emplace_back(name, value.AsString());
  }
  return std::unique_ptr<SubjectToken>(
      std::make_unique<TokenUrl>(doors, std::move(request), std::move(format)));
}

}  // namespace

Result<std::unique_ptr<SubjectToken>> MakeSubjectToken(const CredentialDoors& doors,
                                                       const Fields& source,
                                                       Federation federation) {
  if (!source["environment_id"].is_null()) {
    return MakeAwsRequest(doors, source, std::move(federation));
  }
  if (!source["executable"].is_null()) {
    return MakeExecutableToken(doors, source, std::move(federation));
  }
  Result<Format> format = Format::Read(source);
  if (!format) return format.error();
  if (!source["url"].is_null()) return MakeTokenUrl(doors, source, *std::move(format));
  if (source["file"].is_null()) {
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{}: it names neither file, url, executable nor environment_id",
                                 source.where()));
  }
  Result<std::string> path = source.Text("file");
  if (!path) return path.error();
  return std::unique_ptr<SubjectToken>(std::make_unique<TokenFile>(
      doors, *std::move(path), *std::move(format), source.Named("file")));
}

}  // namespace podctl::gcp
