#include "providers/gcp/credentials/subject_token.h"

#include <fmt/format.h>

#include <optional>
#include <sstream>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/credentials/aws_request.h"
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

class SubjectTokenFile final : public SubjectToken {
 public:
  SubjectTokenFile(const CredentialDoors& doors, std::string path, Format format, std::string where)
      : doors_(doors),
        path_(std::move(path)),
        format_(std::move(format)),
        where_(std::move(where)) {}

  Result<Secret> Get(const std::stop_token&) override {
    const Result<std::string> text = doors_.files.Read(path_, kMaxSubjectTokenBytes);
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
  return std::unique_ptr<SubjectToken>(std::make_unique<SubjectTokenFile>(
      doors, *std::move(path), *std::move(format), source.Named("file")));
}

namespace {

using std::chrono::milliseconds;

constexpr const char* kAllow = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES";
constexpr milliseconds kUsualLimit{30'000};
constexpr milliseconds kShortestLimit{5'000};
constexpr milliseconds kLongestLimit{120'000};
constexpr std::uint64_t kMaxOutputFileBytes = 1 << 20;
constexpr std::size_t kMaxQuotedProgramBytes = 200;

class ExecutableToken final : public SubjectToken {
 public:
  struct Program {
    std::vector<std::string> words;
    milliseconds limit{kUsualLimit};
    std::string output_file;  // "": none
    std::string where;
  };

  ExecutableToken(const CredentialDoors& doors, Program program, Federation federation)
      : doors_(doors), program_(std::move(program)), federation_(std::move(federation)) {}

  Result<Secret> Get(const std::stop_token& stop) override {
    if (doors_.environment.Get(kAllow) != "1") {
      return Failure(fmt::format("{} is not 1, so the program is not run", kAllow),
                     fmt::format("set {}=1 if you trust what the file names", kAllow));
    }
    if (auto kept = FromOutputFile()) return *std::move(kept);
    return Run(stop);
  }

 private:
  Error Failure(const std::string& what, std::string hint = {}) const {
    return MakeError(ErrorCode::kUnauthenticated, fmt::format("{}: {}", program_.where, what),
                     std::move(hint));
  }

  // What an earlier run left, while it is good.
  std::optional<Secret> FromOutputFile() {
    if (program_.output_file.empty()) return std::nullopt;
    const Result<std::string> text = doors_.files.Read(program_.output_file, kMaxOutputFileBytes);
    if (!text) return std::nullopt;
    const Result<Value> answer = ParseJson(*text);
    if (!answer || (*answer)["expiration_time"].is_null()) return std::nullopt;
    const Result<Secret> token = TokenIn(*answer);
    return token ? std::make_optional(*token) : std::nullopt;
  }

  Result<Secret> Run(const std::stop_token& stop) {
    // The program env sets the variables, so that this process's own stay as they are.
    std::vector<std::string> words = {
        "env", "GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE=" + federation_.audience,
        "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE=" + federation_.subject_token_type,
        "GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE=0", "GOOGLE_EXTERNAL_ACCOUNT_REVOKE=0"};
    if (!federation_.impersonated.empty()) {
      words.push_back("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL=" + federation_.impersonated);
    }
    if (!program_.output_file.empty()) {
      words.push_back("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE=" + program_.output_file);
    }
    words.insert(words.end(), program_.words.begin(), program_.words.end());
    const Result<ProcessResult> ran = doors_.processes.Run(words, program_.limit, stop);
    if (!ran && ran.error().code == ErrorCode::kCancelled) return ran.error();
    if (!ran && ran.error().code == ErrorCode::kDeadlineExceeded) {
      return Failure(fmt::format("the program {} did not end within {}", program_.words.front(),
                                 FormatDuration(program_.limit)));
    }
    if (!ran) return Failure(ran.error().message);
    if (ran->exit_code != 0) {
      return Failure(fmt::format("the program {} ended with exit code {}", program_.words.front(),
                                 ran->exit_code));
    }
    const Result<Value> answer = ParseJson(ran->out);
    if (!answer) return Failure(fmt::format("{} printed no JSON", program_.words.front()));
    return TokenIn(*answer);
  }

  Result<Secret> TokenIn(const Value& answer) {
    const std::string& program = program_.words.front();
    if (answer["version"].AsInt() != 1) {
      return Failure(fmt::format("the answer of {} is not of version 1", program));
    }
    if (!answer["success"].AsBool()) {
      const std::string words =
          fmt::format("{}: {}", answer["code"].AsString(), answer["message"].AsString());
      return Failure(fmt::format("{} gives no token: {}", program,
                                 VisibleControls(words.substr(0, kMaxQuotedProgramBytes))));
    }
    const std::int64_t expires = answer["expiration_time"].AsInt(-1);
    const auto now = doors_.clock.Now().time_since_epoch();
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

  const CredentialDoors doors_;
  const Program program_;
  const Federation federation_;
};

}  // namespace

Result<std::unique_ptr<SubjectToken>> MakeExecutableToken(const CredentialDoors& doors,
                                                          const Fields& source,
                                                          Federation federation) {
  const Fields fields(source["executable"], fmt::format("{}, in `executable`", source.where()));
  Result<std::string> command = fields.Text("command");
  if (!command) return command.error();
  ExecutableToken::Program program;
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
  return std::unique_ptr<SubjectToken>(
      std::make_unique<ExecutableToken>(doors, std::move(program), std::move(federation)));
}

}  // namespace podctl::gcp
