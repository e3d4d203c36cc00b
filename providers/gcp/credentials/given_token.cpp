#include "providers/gcp/credentials/given_token.h"

#include <fmt/format.h>

#include "providers/base/text.h"
#include "providers/gcp/credentials/token_request.h"

namespace podctl::gcp {
namespace {

constexpr std::uint64_t kMaxTokenBytes = 1 << 16;

Result<AccessToken> AsToken(std::string_view text, const std::string& source) {
  const std::string_view token = TrimBlanks(text);
  if (IsToken(token)) return AccessToken{Secret(std::string(token)), std::nullopt};
  return MakeError(ErrorCode::kUnauthenticated,
                   fmt::format("{} {}", source,
                               token.empty() ? "holds no access token"
                                             : "holds something that is not an access token"),
                   "`gcloud auth print-access-token` prints one");
}

class GivenToken : public TokenSource {
 public:
  std::string Account(const std::stop_token&) override { return {}; }
  std::string Type() const override { return "access_token"; }
};

class TokenFile final : public GivenToken {
 public:
  TokenFile(const CredentialDoors& doors, std::string path, std::string named_by)
      : doors_(doors), path_(std::move(path)), named_by_(std::move(named_by)) {}

  Result<AccessToken> Fetch(Need, const std::stop_token&) override {
    const Result<std::string> text = doors_.files.Read(ExpandHome(path_), kMaxTokenBytes);
    if (text) return AsToken(*text, fmt::format("{} ({})", path_, named_by_));
    return MakeError(ErrorCode::kUnauthenticated,
                     fmt::format("{} ({})", text.error().message, named_by_),
                     "write a token into that file, or unset the variable");
  }

 private:
  const CredentialDoors doors_;
  const std::string path_;
  const std::string named_by_;
};

class TokenVariable final : public GivenToken {
 public:
  TokenVariable(const CredentialDoors& doors, std::string name)
      : doors_(doors), name_(std::move(name)) {}

  Result<AccessToken> Fetch(Need, const std::stop_token&) override {
    return AsToken(doors_.environment.Get(name_).value_or(""), name_);
  }

 private:
  const CredentialDoors doors_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<TokenSource> MakeTokenFile(const CredentialDoors& doors, std::string path,
                                           std::string named_by) {
  return std::make_unique<TokenFile>(doors, std::move(path), std::move(named_by));
}

std::unique_ptr<TokenSource> MakeTokenVariable(const CredentialDoors& doors, std::string name) {
  return std::make_unique<TokenVariable>(doors, std::move(name));
}

}  // namespace podctl::gcp
