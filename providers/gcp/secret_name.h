// What a version of a secret is called in Secret Manager. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace podctl::gcp {

struct SecretName {
  std::string project;   // an id, or its number
  std::string location;  // of a regional secret; empty: it is a global one
  std::string id;
  std::string version;  // a number, an alias, or "latest"

  std::string Secret() const;  // "projects/p/secrets/s"
  std::string Text() const;    // with its version
  bool HasNumber() const;      // the version is one that will always be the same
};

// Without "/versions/…" it is the latest. nullopt: it is no such name.
std::optional<SecretName> ParseSecretName(std::string_view text);

}  // namespace podctl::gcp
