#include "providers/gcp/storage_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "providers/base/text.h"

namespace podctl::gcp {
namespace {

constexpr std::size_t kLongestPrefix = 512;  // some room is for what is put behind it
constexpr std::size_t kShownOfUrl = 200;

bool IsBucketName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  const auto is_end = [](char c) { return c != '-' && c != '_' && c != '.'; };
  return name.size() >= 3 && name.size() <= 222 && std::all_of(name.begin(), name.end(), fits) &&
         is_end(name.front()) && is_end(name.back());
}

Error BadPlace(const std::string& url, std::string_view why) {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("`{}` {}", VisibleControls(url.substr(0, kShownOfUrl)), why),
                   "write gs://BUCKET or gs://BUCKET/PREFIX");
}

}  // namespace

std::string StoragePlace::Text() const {
  return fmt::format("gs://{}{}{}", bucket, prefix.empty() ? "" : "/", prefix);
}

Result<StoragePlace> ParseStoragePlace(const std::string& url) {
  constexpr std::string_view kScheme = "gs://";
  const auto bad = [&](std::string_view why) { return BadPlace(url, why); };
  if (!url.starts_with(kScheme)) return bad("is no place in Cloud Storage");
  const std::size_t slash = std::min(url.find('/', kScheme.size()), url.size());
  StoragePlace place{url.substr(kScheme.size(), slash - kScheme.size()), ""};
  if (!IsBucketName(place.bucket)) {
    return bad("names no bucket: those have 3 to 63 lower-case letters, digits, - _ and .");
  }
  place.prefix = url.substr(std::min(slash + 1, url.size()));
  while (place.prefix.ends_with('/')) place.prefix.pop_back();
  const bool fits = std::all_of(place.prefix.begin(), place.prefix.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F && c != '#' && c != '?' && c != '*';
  });
  if (!fits) return bad("has a prefix with one of # ? * or a control character in it");
  if (!place.prefix.empty() && HasDotParts(place.prefix)) {
    return bad("has a prefix with `..`, `.` or nothing between two slashes");
  }
  if (place.prefix.size() > kLongestPrefix) {
    return bad(fmt::format("has a prefix of more than {} bytes", kLongestPrefix));
  }
  return place;
}

Result<StoragePlace> ParsePlainStoragePlace(const std::string& url) {
  auto place = ParseStoragePlace(url);
  if (!place) return place;
  const bool plain = std::all_of(place->prefix.begin(), place->prefix.end(), [](char c) {
    constexpr std::string_view kOdd = "\"'`\\*?[]#";
    return c > ' ' && c < 0x7F && kOdd.find(c) == std::string_view::npos;
  });
  if (plain) return place;
  return BadPlace(url,
                  "has a prefix with a blank, a quote, a \\, one of * ? [ ] # or no ASCII in it");
}

}  // namespace podctl::gcp
