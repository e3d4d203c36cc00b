// The few things podctl must know about URLs: whether one is well formed, whether it stays on this
// machine, and how text becomes a part of one (RFC 3986). Parsing is libcurl's, so that what is
// judged here is what will be contacted.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/error.h"

namespace podctl::http {

struct Url {
  std::string scheme;  // lower case
  std::string host;    // without the brackets of an IPv6 address
  std::string port;    // never empty for http and https
  std::string path;    // starts with "/"
  bool has_user = false;
  bool has_query = false;  // or a fragment

  // "host:port", for messages.
  std::string Server() const;
};

// kInvalidArgument for anything but an absolute http or https URL.
Result<Url> ParseUrl(const std::string& text);

// 127.0.0.0/8, ::1 and the name localhost. Only what is written counts: a name that happens to
// resolve to loopback today may not do so tomorrow.
bool IsLoopback(const Url& url);

// Everything but RFC 3986's unreserved characters as %XX.
std::string PercentEncode(std::string_view text);
// "?a=1&b=x%2Fy", or "" when there are none.
std::string QueryString(const std::vector<std::pair<std::string, std::string>>& parameters);

}  // namespace podctl::http
