#include "providers/http/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <strings.h>

#include <memory>

namespace podctl::http {
namespace {

struct CloseUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

// Of a text that libcurl has made, which goes.
std::string Taken(char* text) {
  std::string copy = text == nullptr ? "" : text;
  curl_free(text);
  return copy;
}

std::string Part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  return curl_url_get(url, part, &text, flags) == CURLUE_OK ? Taken(text) : std::string();
}

}  // namespace

std::string Url::Server() const {
  if (host.find(':') != std::string::npos) return fmt::format("[{}]:{}", host, port);
  const bool usual = (scheme == "https" && port == "443") || (scheme == "http" && port == "80");
  return usual ? host : fmt::format("{}:{}", host, port);
}

Result<Url> ParseUrl(const std::string& text) {
  std::unique_ptr<CURLU, CloseUrl> parsed(curl_url());
  const auto bad = [] {
    return MakeError(ErrorCode::kInvalidArgument, "it is not a well-formed http or https URL");
  };
  if (!parsed || text.find('\0') != std::string::npos) return bad();
  if (curl_url_set(parsed.get(), CURLUPART_URL, text.c_str(), CURLU_PATH_AS_IS) != CURLUE_OK) {
    return bad();
  }
  Url url;
  url.scheme = Part(parsed.get(), CURLUPART_SCHEME);
  if (url.scheme != "http" && url.scheme != "https") return bad();
  url.host = Part(parsed.get(), CURLUPART_HOST);
  if (url.host.starts_with('[') && url.host.ends_with(']')) {
    url.host = url.host.substr(1, url.host.size() - 2);
  }
  if (url.host.empty()) return bad();
  url.port = Part(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  url.path = Part(parsed.get(), CURLUPART_PATH);
  url.has_user = !Part(parsed.get(), CURLUPART_USER).empty() ||
                 !Part(parsed.get(), CURLUPART_PASSWORD).empty();
  url.has_query = !Part(parsed.get(), CURLUPART_QUERY).empty() ||
                  !Part(parsed.get(), CURLUPART_FRAGMENT).empty();
  return url;
}

bool IsLoopback(const Url& url) {
  if (strcasecmp(url.host.c_str(), "localhost") == 0) return true;
  in_addr four{};
  if (inet_pton(AF_INET, url.host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, url.host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

std::string PercentEncode(std::string_view text) {
  if (text.empty()) return {};  // libcurl would take it for one that a NUL ends
  return Taken(curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())));
}

std::string QueryString(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) {
    text += text.empty() ? '?' : '&';
    text += PercentEncode(name) + '=' + PercentEncode(value);
  }
  return text;
}

}  // namespace podctl::http
