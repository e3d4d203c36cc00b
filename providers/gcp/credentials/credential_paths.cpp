#include "providers/gcp/credentials/credential_paths.h"

#include <cstdint>

#include "providers/base/json.h"
#include "providers/gcp/gcloud_config.h"

namespace podctl::gcp {
namespace {

constexpr std::uint64_t kMaxCredentialFile = 1 << 20;

// Of workload identity federation: its token is read anew each time, from another file.
std::string TokenFileOf(FileSystem& files, const std::string& path) {
  const auto text = files.Read(path, kMaxCredentialFile);
  if (!text) return "";
  const auto json = ParseJson(*text);
  if (!json || !json->is_map()) return "";
  const Value& file = (*json)["credential_source"]["file"];
  return file.is_string() ? file.AsString() : "";
}

}  // namespace

std::vector<std::string> CredentialPaths(const Environment& environment, FileSystem& files) {
  std::vector<std::string> paths;
  // gcloud's too: podctl asks gcloud where it finds nothing itself.
  for (const char* const variable :
       {"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", "GOOGLE_APPLICATION_CREDENTIALS",
        "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", "GOOGLE_GHA_CREDS_PATH",
        "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SHARED_CREDENTIALS_FILE"}) {
    const auto path = environment.Get(variable);
    if (!path || path->empty()) continue;
    paths.push_back(ExpandHome(*path));
    if (std::string token = TokenFileOf(files, paths.back()); !token.empty()) {
      paths.push_back(ExpandHome(token));
    }
  }
  if (auto folder = GcloudFolder(environment)) paths.push_back(*std::move(folder));
  if (const auto home = environment.Get("HOME"); home && !home->empty()) {
    paths.push_back(*home + "/.config/gcloud");
    paths.push_back(*home + "/.aws");  // where AWS's libraries look, of whose keys podctl makes use
  }
  return paths;
}

}  // namespace podctl::gcp
