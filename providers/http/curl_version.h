// Which libcurl is in use, and what it was built with.
#pragma once

#include <string>

namespace podctl {

struct CurlVersion {
  std::string curl;  // of the library that is loaded: "7.88.1"
  std::string with;  // its own libraries: "OpenSSL/3.0.15 zlib/1.2.13 … nghttp2/1.52.0"
};
CurlVersion VersionOfCurl();

}  // namespace podctl
