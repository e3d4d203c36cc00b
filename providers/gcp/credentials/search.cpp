#include "providers/gcp/credentials/search.h"

#include <fmt/format.h>

#include <utility>

#include "providers/gcp/credentials/credential_file.h"
#include "providers/gcp/credentials/gcloud.h"
#include "providers/gcp/credentials/given_token.h"
#include "providers/gcp/credentials/metadata_server.h"
#include "providers/gcp/gcloud_config.h"

namespace podctl::gcp {
namespace {

constexpr const char* kTokenFileVariable = "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE";
constexpr const char* kTokenVariable = "GOOGLE_OAUTH_ACCESS_TOKEN";
constexpr const char* kCredentialsVariable = "GOOGLE_APPLICATION_CREDENTIALS";
constexpr const char* kDefaultFile = "application_default_credentials.json";

// Looks at one place after the other. Each look returns whether it decided the search.
class Seeker {
 public:
  explicit Seeker(const CredentialDoors& doors) : doors_(doors) {}

  bool TokenFile() {
    const auto path = Variable(kTokenFileVariable);
    if (!path) return false;
    search_.file = ExpandHome(*path);
    search_.looks.push_back({kTokenFileVariable, *path});
    search_.source = MakeTokenFile(doors_, *path, kTokenFileVariable);
    return true;
  }

  bool TokenVariable() {
    if (!Variable(kTokenVariable)) return false;
    search_.looks.push_back({kTokenVariable, "set"});
    search_.source = MakeTokenVariable(doors_, kTokenVariable);
    return true;
  }

  bool NamedFile() {
    const auto path = Variable(kCredentialsVariable);
    if (!path) return false;
    Take(kCredentialsVariable, ExpandHome(*path));
    return true;
  }

  // Where `gcloud auth application-default login` leaves it.
  bool DefaultFile() {
    const std::string place = "gcloud's application default login";
    const auto folder = GcloudFolder(doors_.environment);
    if (!folder) return Missed(place, "neither CLOUDSDK_CONFIG nor HOME is set");
    const std::string path = *folder + "/" + kDefaultFile;
    const auto info = doors_.files.Stat(path);
    if (!info && info.error().code == ErrorCode::kNotFound) {
      return Missed(place, path + " is not there");
    }
    Take(place, path);
    return true;
  }

  bool Metadata(const std::stop_token& stop) {
    auto server = FindMetadataServer(doors_, stop);
    if (!server) {
      search_.error = server.error();
      return true;
    }
    if (!server->source) return Missed("the metadata server", server->finding);
    search_.looks.push_back({"the metadata server", server->finding});
    search_.source = std::move(server->source);
    return true;
  }

  bool Gcloud() {
    search_.looks.push_back({"gcloud's own login", "asked of gcloud"});
    search_.source = MakeGcloud(doors_);
    return true;
  }

  Search Found() && { return std::move(search_); }

 private:
  bool Missed(std::string place, std::string why) {
    search_.looks.push_back({std::move(place), std::move(why)});
    return false;
  }

  std::optional<std::string> Variable(const char* name) {
    auto value = doors_.environment.Get(name);
    if (value && !value->empty()) return value;
    search_.looks.push_back({name, "not set"});
    return std::nullopt;
  }

  void Take(const std::string& place, const std::string& path) {
    search_.looks.push_back({place, path});
    search_.file = path;
    auto source = ReadCredentialFile(doors_, path);
    if (source) {
      search_.source = *std::move(source);
      return;
    }
    search_.error = source.error();
    search_.error->message += fmt::format(" ({})", place);
    if (search_.error->hint.empty()) search_.error->hint = "mend the file, or write it anew";
  }

  const CredentialDoors& doors_;
  Search search_;
};

}  // namespace

Search FindCredentials(const CredentialDoors& doors, const std::stop_token& stop) {
  Seeker seek(doors);
  static_cast<void>(seek.TokenFile() ||      // CLOUDSDK_AUTH_ACCESS_TOKEN_FILE
                    seek.TokenVariable() ||  // GOOGLE_OAUTH_ACCESS_TOKEN
                    seek.NamedFile() ||      // GOOGLE_APPLICATION_CREDENTIALS
                    seek.DefaultFile() ||   // ~/.config/gcloud/application_default_credentials.json
                    seek.Metadata(stop) ||  // of a machine at Google
                    seek.Gcloud());         // `gcloud auth login`
  return std::move(seek).Found();
}

std::unique_ptr<TokenSource> FindGivenToken(const CredentialDoors& doors) {
  Seeker seek(doors);
  if (!seek.TokenFile() && !seek.TokenVariable()) return nullptr;
  return std::move(seek).Found().source;
}

}  // namespace podctl::gcp
