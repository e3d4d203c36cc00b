#include "providers/emulator/api/gate.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "providers/emulator/names.h"

namespace podctl::emulator {
namespace {

constexpr std::size_t kShown = 80;  // of what a stranger sent

ApiError Denied(std::string message) {
  return MakeStatus("PERMISSION_DENIED", std::move(message));
}

// "127.0.0.1:8470" -> 127.0.0.1; "[::1]:8470" -> ::1; nullopt where the port is another one.
std::optional<std::string> NameOf(std::string_view host, int port) {
  const std::size_t bracket = host.find(']');
  const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const bool named = colon != std::string_view::npos;
  if (named ? host.substr(colon + 1) != std::to_string(port) : port != 80) return std::nullopt;
  host = host.substr(0, colon);
  if (!host.starts_with('[')) return LowerCase(host);
  if (bracket + 1 != host.size()) return std::nullopt;
  return LowerCase(host.substr(1, bracket - 1));
}

bool IsOurs(const Gate& gate, std::string_view host) {
  const auto name = NameOf(host, gate.port);
  return name && (IsLoopback(*name) ||
                  std::find(gate.hosts.begin(), gate.hosts.end(), *name) != gate.hosts.end());
}

Refusal CheckHost(const Gate& gate, const RequestHead& head) {
  if (!head.target.starts_with('/')) {
    return InvalidArgument("The request's target must be a path.");
  }
  if (head.hosts.size() == 1 && IsOurs(gate, head.hosts[0])) return std::nullopt;
  if (head.hosts.size() != 1) {
    return Denied(
        fmt::format("The request must have one Host header; it has {}.", head.hosts.size()));
  }
  return Denied(fmt::format(
      "The request is for the host \"{}\"; this emulator answers as 127.0.0.1:{} or localhost:{} "
      "only, so that no page in a browser can use it.",
      head.hosts[0].substr(0, kShown), gate.port, gate.port));
}

// A page of another origin may lead to what a person then looks at, and to nothing else.
Refusal CheckOrigin(const RequestHead& head) {
  const bool reads = head.method == "GET" || head.method == "HEAD";
  for (const std::string& origin : head.origins) {
    if (LowerCase(origin) == "http://" + LowerCase(head.hosts[0])) continue;
    return Denied(
        fmt::format("The request comes from the origin \"{}\"; pages in a browser may "
                    "not use this emulator.",
                    origin.substr(0, kShown)));
  }
  const bool is_looked_at = reads && head.destinations == std::vector<std::string>{"document"};
  for (const std::string& site : head.sites) {
    if (site == "none" || site == "same-origin" || is_looked_at) continue;
    return Denied(
        "The request was made by a page of another origin (Sec-Fetch-Site); pages in a "
        "browser may not use this emulator.");
  }
  return std::nullopt;
}

ApiError BadType(std::string message) {
  ApiError error = InvalidArgument(std::move(message));
  error.http = 415;
  return error;
}

// "text/plain" of "Text/plain; charset=utf-8".
std::string TypeOf(const std::string& header) {
  std::string type = LowerCase(header.substr(0, header.find(';')));
  type.resize(type.find_last_not_of(" \t") + 1);
  return type;
}

// Of an upload: but the types of a form, and none at all, which a page may send without asking.
Refusal CheckUploadType(const RequestHead& head) {
  if (head.method != "POST" || (head.types.empty() && !head.has_body)) return std::nullopt;
  const std::string type = head.types.size() == 1 ? TypeOf(head.types[0]) : "";
  if (!type.empty() && type != "text/plain" && type != "application/x-www-form-urlencoded" &&
      type != "multipart/form-data") {
    return std::nullopt;
  }
  return BadType(fmt::format(
      "The emulator takes no upload of the type \"{}\", which a page in a browser could send; send "
      "it as application/octet-stream, or name its type in a multipart upload.",
      head.types.empty() ? "" : head.types[0].substr(0, kShown)));
}

// Every other route takes JSON. A type without a body is a form without fields.
Refusal CheckType(const RequestHead& head) {
  if (head.method == "GET" || head.method == "HEAD") {
    if (!head.has_body) return std::nullopt;
    return InvalidArgument(fmt::format("A {} has no body.", head.method));
  }
  if (IsUpload(head.target)) return CheckUploadType(head);
  if (head.types.empty() && !head.has_body) return std::nullopt;
  if (head.types.size() == 1 && TypeOf(head.types[0]) == "application/json") return std::nullopt;
  return BadType(fmt::format(
      "The body must be of the type application/json, not \"{}\"; with curl: --json '…', or -H "
      "'Content-Type: application/json'.",
      head.types.empty() ? "" : head.types[0].substr(0, kShown)));
}

}  // namespace

bool IsUpload(std::string_view target) {
  constexpr std::string_view kResumable = "/resumable";
  if (target.starts_with(kResumable)) target.remove_prefix(kResumable.size());
  return target.starts_with("/upload/storage/v1/");
}

bool IsLoopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  in_addr address{};
  return ::inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 &&
         (ntohl(address.s_addr) >> 24U) == 127;
}

Refusal CheckRequestHead(const Gate& gate, const RequestHead& head) {
  Refusal refusal = CheckHost(gate, head);
  if (!refusal) refusal = CheckOrigin(head);
  if (!refusal) refusal = CheckType(head);
  return refusal;
}

}  // namespace podctl::emulator
