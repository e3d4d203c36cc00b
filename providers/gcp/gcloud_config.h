// What the user has set with `gcloud config set`: read from gcloud's own files, since starting
// gcloud takes a second. Knows nothing of credentials.
#pragma once

#include <optional>
#include <string>

#include "providers/os/environment.h"
#include "providers/os/file_system.h"

namespace podctl::gcp {

struct GcloudConfig {
  std::optional<std::string> account;          // core/account
  std::optional<std::string> project;          // core/project
  std::optional<std::string> zone;             // compute/zone
  std::optional<std::string> quota_project;    // billing/quota_project
  std::optional<std::string> ca_certificates;  // core/custom_ca_certs_file
};

// ${CLOUDSDK_CONFIG:-$HOME/.config/gcloud}; nullopt when neither variable is set.
std::optional<std::string> GcloudFolder(const Environment& environment);

// From the folder's configurations/config_NAME, where NAME is
// CLOUDSDK_ACTIVE_CONFIG_NAME, else the content of `active_config`, else "default". What is not
// there, or cannot be read, is not set.
GcloudConfig ReadGcloudConfig(const Environment& environment, FileSystem& files);

}  // namespace podctl::gcp
