#include "providers/gcp/credentials/search.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "providers/base/text.h"
#include "providers/gcp/credentials/credential_file.h"
#include "providers/gcp/credentials/token_request.h"
#include "providers/gcp/gcloud_config.h"

namespace podctl::gcp {
namespace {

constexpr const char* kTokenFileVariable = "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE";
constexpr const char* kTokenVariable = "GOOGLE_OAUTH_ACCESS_TOKEN";
constexpr const char* kCredentialsVariable = "GOOGLE_APPLICATION_CREDENTIALS";
constexpr const char* kDefaultFile = "application_default_credentials.json";

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

TokenSource GivenToken(std::function<Result<AccessToken>()> get) {
  return {"access_token", [get = std::move(get)](TokenFreshness, const auto&) { return get(); },
          [](const auto&) { return ""; }};
}

// It is read each time, since who wrote it may have renewed it.
Result<AccessToken> ReadTokenFile(FileSystem& files, const std::string& path) {
  const Result<std::string> text = files.Read(ExpandHome(path), kMaxTokenBytes);
  if (text) return AsToken(*text, fmt::format("{} ({})", path, kTokenFileVariable));
  return MakeError(ErrorCode::kUnauthenticated,
                   fmt::format("{} ({})", text.error().message, kTokenFileVariable),
                   "write a token into that file, or unset the variable");
}

// What a variable is set to; that it is not is told.
std::optional<std::string> Variable(const CredentialDoors& doors, const char* name,
                                    Search* search) {
  auto value = doors.environment.Get(name);
  if (value && !value->empty()) return value;
  search->looks.push_back({name, "not set"});
  return std::nullopt;
}

// Whether one was handed over.
bool TakeGivenToken(const CredentialDoors& doors, Search* search) {
  if (const auto path = Variable(doors, kTokenFileVariable, search)) {
    search->file = ExpandHome(*path);
    search->looks.push_back({kTokenFileVariable, *path});
    search->source =
        GivenToken([&files = doors.files, path] { return ReadTokenFile(files, *path); });
  } else if (Variable(doors, kTokenVariable, search)) {
    search->looks.push_back({kTokenVariable, "set"});
    search->source = GivenToken([&environment = doors.environment] {
      return AsToken(environment.Get(kTokenVariable).value_or(""), kTokenVariable);
    });
  }
  return search->source.has_value();
}

Search TakeFile(const CredentialDoors& doors, const std::string& place, const std::string& path,
                Search search) {
  search.looks.push_back({place, path});
  search.file = path;
  auto source = ReadCredentialFile(doors, path);
  if (source) {
    search.source = *std::move(source);
    return search;
  }
  search.error = source.error();
  search.error->message += fmt::format(" ({})", place);
  if (search.error->hint.empty()) search.error->hint = "mend the file, or write it anew";
  return search;
}

}  // namespace

Search FindCredentials(const CredentialDoors& doors, const std::stop_token& stop) {
  Search search;
  if (TakeGivenToken(doors, &search)) return search;
  if (const auto path = Variable(doors, kCredentialsVariable, &search)) {
    return TakeFile(doors, kCredentialsVariable, ExpandHome(*path), std::move(search));
  }
  const std::string place = "gcloud's application default login";
  if (const auto folder = GcloudFolder(doors.environment)) {
    const std::string path = *folder + "/" + kDefaultFile;
    const auto info = doors.files.Stat(path);
    if (info || info.error().code != ErrorCode::kNotFound) {
      return TakeFile(doors, place, path, std::move(search));
    }
    search.looks.push_back({place, path + " is not there"});
  } else {
    search.looks.push_back({place, "neither CLOUDSDK_CONFIG nor HOME is set"});
  }
  auto server = FindMetadataServer(doors, stop);
  if (!server) {
    search.error = server.error();
    return search;
  }
  search.looks.push_back({"the metadata server", server->finding});
  search.source = std::move(server->source);
  if (search.source) return search;
  search.looks.push_back({"gcloud's own login", "asked of gcloud"});
  search.source = MakeGcloud(doors);
  return search;
}

std::optional<TokenSource> FindGivenToken(const CredentialDoors& doors) {
  Search search;
  TakeGivenToken(doors, &search);
  return search.source;
}

}  // namespace podctl::gcp
