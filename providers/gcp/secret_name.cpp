#include "providers/gcp/secret_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "providers/base/text.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl::gcp {
namespace {

constexpr const char* kLatest = "latest";
constexpr std::size_t kLongestId = 255;
constexpr std::size_t kLongestAlias = 63;

bool IsSecretWord(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

bool IsNumberOfVersion(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  return !text.empty() && text.size() <= kMostDigits && text[0] != '0' &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Two of the words that IsProjectId takes mean something else in a URL.
bool IsProject(std::string_view text) {
  return IsProjectId(text) && text != "." && text != "..";
}

bool IsAlias(std::string_view text) {
  return IsSecretWord(text, kLongestAlias) &&
         std::isalpha(static_cast<unsigned char>(text[0])) != 0;
}

}  // namespace

std::string SecretName::Secret() const {
  const std::string where = location.empty() ? "" : "/locations/" + location;
  return fmt::format("projects/{}{}/secrets/{}", project, where, id);
}

std::string SecretName::Text() const {
  return fmt::format("{}/versions/{}", Secret(), version);
}

bool SecretName::HasNumber() const {
  return IsNumberOfVersion(version);
}

std::optional<SecretName> ParseSecretName(std::string_view text) {
  const auto parts = Split(text, "/");
  if (parts.size() % 2 != 0) return std::nullopt;
  SecretName name;
  name.version = kLatest;
  std::size_t at = 0;
  const auto take = [&](std::string_view collection, std::string* member) {
    if (at >= parts.size() || parts[at] != collection) return false;
    *member = parts[at + 1];
    at += 2;
    return true;
  };
  const bool whole = take("projects", &name.project);
  const bool regional = take("locations", &name.location);
  if (!whole || !take("secrets", &name.id)) return std::nullopt;
  take("versions", &name.version);
  const bool good = at == parts.size() && IsProject(name.project) &&
                    (!regional || IsLocation(name.location)) && IsSecretWord(name.id, kLongestId) &&
                    (IsNumberOfVersion(name.version) || IsAlias(name.version));
  return good ? std::make_optional(std::move(name)) : std::nullopt;
}

}  // namespace podctl::gcp
