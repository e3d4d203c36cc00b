#include "providers/gcp/gcloud_config.h"

#include <string_view>

#include "providers/base/text.h"

namespace podctl::gcp {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;

// One property of an INI file: [section] and name = value.
std::optional<std::string> Property(const std::string& text, std::string_view section,
                                    std::string_view name) {
  bool inside = false;
  for (const std::string& line : SplitLines(text)) {
    const std::string_view trimmed = TrimBlanks(line);
    if (trimmed.starts_with('[')) {
      inside =
          trimmed.ends_with(']') && TrimBlanks(trimmed.substr(1, trimmed.size() - 2)) == section;
      continue;
    }
    const auto equals = trimmed.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    if (TrimBlanks(trimmed.substr(0, equals)) != name) continue;
    const std::string_view value = TrimBlanks(trimmed.substr(equals + 1));
    if (!value.empty()) return std::string(value);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> GcloudFolder(const Environment& environment) {
  if (auto named = environment.Get("CLOUDSDK_CONFIG")) return named;
  if (auto home = environment.Get("HOME")) return *home + "/.config/gcloud";
  return std::nullopt;
}

GcloudConfig ReadGcloudConfig(const Environment& environment, FileSystem& files) {
  const auto folder = GcloudFolder(environment);
  if (!folder) return {};
  std::string name = environment.Get("CLOUDSDK_ACTIVE_CONFIG_NAME").value_or("");
  if (name.empty()) {
    const auto active = files.Read(*folder + "/active_config", kMostBytes);
    name = active ? std::string(TrimBlanks(*active)) : "default";
  }
  const auto text = files.Read(*folder + "/configurations/config_" + name, kMostBytes);
  if (!text) return {};
  return {Property(*text, "core", "account"), Property(*text, "core", "project"),
          Property(*text, "compute", "zone"), Property(*text, "billing", "quota_project"),
          Property(*text, "core", "custom_ca_certs_file")};
}

}  // namespace podctl::gcp
