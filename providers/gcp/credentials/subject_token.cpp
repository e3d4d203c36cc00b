#include "providers/gcp/credentials/subject_token.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/credentials/token_request.h"

namespace podctl::gcp {
namespace {

constexpr std::uint64_t kMaxSubjectTokenBytes = 1 << 20;

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

// GitHub's OIDC tokens come so, and Azure's.
Result<SubjectToken> MakeTokenUrl(const CredentialDoors& doors, const Fields& source,
                                  const Format& format) {
  Result<std::string> url = source.Text("url");
  if (!url) return url.error();
  TokenRequest request;
  request.method = "GET";
  request.url = *std::move(url);
  request.url_policy = UrlPolicy::kNearby;
  request.whose = source.Named("url");
  request.hint = "tokens of a CI job are there while that job runs, and no longer";
  for (const auto& [name, value] : source["headers"].AsMap()) {
    request.headers.emplace_back(name, value.AsString());
  }
  return SubjectToken([doors, request, format](const std::stop_token& stop) -> Result<Secret> {
    const Result<http::Response> answer = Ask(doors, request, stop);
    if (!answer) return answer.error();
    return format.TokenIn(answer->body, request.whose);
  });
}

}  // namespace

Result<SubjectToken> MakeSubjectToken(const CredentialDoors& doors, const Fields& source,
                                      Federation federation) {
  if (!source["environment_id"].is_null()) {
    return MakeAwsRequest(doors, source, std::move(federation));
  }
  if (!source["executable"].is_null()) {
    return MakeExecutableToken(doors, source, std::move(federation));
  }
  Result<Format> format = Format::Read(source);
  if (!format) return format.error();
  if (!source["url"].is_null()) return MakeTokenUrl(doors, source, *format);
  if (source["file"].is_null()) {
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{}: it names neither file, url, executable nor environment_id",
                                 source.where()));
  }
  Result<std::string> path = source.Text("file");
  if (!path) return path.error();
  return SubjectToken([doors, path = *path, format = *format,
                       where = source.Named("file")](const std::stop_token&) -> Result<Secret> {
    const Result<std::string> text = doors.files.Read(path, kMaxSubjectTokenBytes);
    if (text) return format.TokenIn(*text, fmt::format("{}: {}", where, path));
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{}: {}", where, text.error().message));
  });
}

namespace {

using std::chrono::milliseconds;

constexpr const char* kAllow = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES";
constexpr milliseconds kUsualLimit{30'000};
constexpr milliseconds kShortestLimit{5'000};
constexpr milliseconds kLongestLimit{120'000};
constexpr std::uint64_t kMaxOutputFileBytes = 1 << 20;
constexpr std::size_t kMaxQuotedProgramBytes = 200;

struct ExecutableToken {
  CredentialDoors doors;
  Federation federation;
  std::vector<std::string> words = {};
  milliseconds limit{kUsualLimit};
  std::string output_file = {};  // "": none
  std::string where = {};

  Result<Secret> operator()(const std::stop_token& stop) const {
    if (doors.environment.Get(kAllow) != "1") {
      return Failure(fmt::format("{} is not 1, so the program is not run", kAllow),
                     fmt::format("set {}=1 if you trust what the file names", kAllow));
    }
    if (auto kept = FromOutputFile()) return *std::move(kept);
    return Run(stop);
  }

  Error Failure(const std::string& what, std::string hint = {}) const {
    return MakeError(ErrorCode::kUnauthenticated, fmt::format("{}: {}", where, what),
                     std::move(hint));
  }

  // What an earlier run left, while it is good.
  std::optional<Secret> FromOutputFile() const {
    if (output_file.empty()) return std::nullopt;
    const Result<std::string> text = doors.files.Read(output_file, kMaxOutputFileBytes);
    if (!text) return std::nullopt;
    const Result<Value> answer = ParseJson(*text);
    if (!answer || (*answer)["expiration_time"].is_null()) return std::nullopt;
    const Result<Secret> token = TokenIn(*answer);
    return token ? std::make_optional(*token) : std::nullopt;
  }

  Result<Secret> Run(const std::stop_token& stop) const {
    // The program env sets the variables, so that this process's own stay as they are.
    std::vector<std::string> all = {
        "env", "GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE=" + federation.audience,
        "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE=" + federation.subject_token_type,
        "GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE=0", "GOOGLE_EXTERNAL_ACCOUNT_REVOKE=0"};
    if (!federation.impersonated.empty()) {
      all.push_back("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL=" + federation.impersonated);
    }
    if (!output_file.empty()) {
      all.push_back("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE=" + output_file);
    }
    all.insert(all.end(), words.begin(), words.end());
    const Result<ProcessResult> ran = doors.processes.Run(all, limit, stop);
    if (!ran && ran.error().code == ErrorCode::kCancelled) return ran.error();
    if (!ran && ran.error().code == ErrorCode::kDeadlineExceeded) {
      return Failure(fmt::format("the program {} did not end within {}", words.front(),
                                 FormatDuration(limit)));
    }
    if (!ran) return Failure(ran.error().message);
    if (ran->exit_code != 0) {
      return Failure(
          fmt::format("the program {} ended with exit code {}", words.front(), ran->exit_code));
    }
    const Result<Value> answer = ParseJson(ran->out);
    if (!answer) return Failure(fmt::format("{} printed no JSON", words.front()));
    return TokenIn(*answer);
  }

  Result<Secret> TokenIn(const Value& answer) const {
    const std::string& program = words.front();
    if (answer["version"].AsInt() != 1) {
      return Failure(fmt::format("the answer of {} is not of version 1", program));
    }
    if (!answer["success"].AsBool()) {
      const std::string said =
          fmt::format("{}: {}", answer["code"].AsString(), answer["message"].AsString());
      return Failure(fmt::format("{} gives no token: {}", program,
                                 VisibleControls(said.substr(0, kMaxQuotedProgramBytes))));
    }
    const std::int64_t expires = answer["expiration_time"].AsInt(-1);
    const auto now = doors.clock.Now().time_since_epoch();
    if (expires >= 0 && expires <= std::chrono::duration_cast<std::chrono::seconds>(now).count()) {
      return Failure(fmt::format("the token of {} has expired", program));
    }
    const std::string& type = answer["token_type"].AsString();
    const bool saml = type == "urn:ietf:params:oauth:token-type:saml2";
    const bool oidc = type == "urn:ietf:params:oauth:token-type:id_token" ||
                      type == "urn:ietf:params:oauth:token-type:jwt";
    const char* field = saml ? "saml_response" : "id_token";
    const std::string& token = answer[field].AsString();
    if (!saml && !oidc) return Failure(fmt::format("the `token_type` of {} is not known", program));
    if (token.empty()) return Failure(fmt::format("the answer of {} has no `{}`", program, field));
    return Secret(token);
  }
};

}  // namespace

Result<SubjectToken> MakeExecutableToken(const CredentialDoors& doors, const Fields& source,
                                         Federation federation) {
  const Fields fields(source["executable"], fmt::format("{}, in `executable`", source.where()));
  Result<std::string> command = fields.Text("command");
  if (!command) return command.error();
  ExecutableToken program{doors, std::move(federation)};
  std::istringstream words(*command);
  for (std::string word; words >> word;) program.words.push_back(word);
  if (program.words.empty()) return fields.Wrong("command", "names no program");
  program.where = fields.Named("command");
  program.output_file = fields.TextOr("output_file");
  if (const Value& limit = fields["timeout_millis"]; !limit.is_null()) {
    program.limit = milliseconds(limit.AsInt(-1));
    if (program.limit < kShortestLimit || program.limit > kLongestLimit) {
      return fields.Wrong("timeout_millis", "is not from 5000 to 120000");
    }
  }
  return SubjectToken(std::move(program));
}

}  // namespace podctl::gcp
