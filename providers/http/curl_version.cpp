#include "providers/http/curl_version.h"

#include <curl/curl.h>

namespace podctl {

CurlVersion VersionOfCurl() {
  // "libcurl/7.88.1 OpenSSL/3.0.15 …"
  const std::string all = curl_version();
  const auto blank = all.find(' ');
  return {curl_version_info(CURLVERSION_NOW)->version,
          blank == std::string::npos ? "" : all.substr(blank + 1)};
}

}  // namespace podctl
