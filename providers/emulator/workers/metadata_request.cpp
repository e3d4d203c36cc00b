// Declared in metadata.h.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

#include "providers/base/json.h"
#include "providers/emulator/names.h"
#include "providers/emulator/workers/metadata.h"

namespace podctl::emulator {
namespace {

constexpr std::string_view kRoot = "/computeMetadata/v1";
constexpr std::string_view kAccounts = "instance/service-accounts/";

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string Decoded(std::string_view text, bool plus_is_blank) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    if (text[i] == '%' && i + 2 < text.size() && ReadNumber(text.substr(i + 1, 2), &code, 16)) {
      decoded += static_cast<char>(code);
      i += 2;
    } else {
      decoded += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

std::string_view TakeUntil(std::string_view* text, std::string_view mark) {
  const std::size_t at = text->find(mark);
  const std::string_view taken = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + mark.size());
  return taken;
}

Error NotHttp() {
  return MakeError(ErrorCode::kInvalidArgument, "this is no HTTP request");
}

bool IsFolder(const Value& value) {
  return value.is_map() || (!value.AsList().empty() && value.AsList().front().is_map());
}

const Value* Child(const Value& value, std::string_view name) {
  if (value.is_map()) return value.Find(name);
  std::size_t index = 0;
  const bool whole = ReadNumber(name, &index);
  return whole && index < value.AsList().size() ? &value.AsList()[index] : nullptr;
}

const Value* FindIn(const Value& tree, std::string_view path) {
  const Value* at = &tree;
  while (!path.empty() && at != nullptr) at = Child(*at, TakeUntil(&path, "/"));
  return at;
}

// "default" of "instance/service-accounts/default/token", if there is one of that name.
std::string_view AccountOf(const Value& tree, std::string_view path, std::string_view ending) {
  if (path.rfind(kAccounts, 0) != 0) return {};
  path.remove_prefix(kAccounts.size());
  const std::string_view name = TakeUntil(&path, "/");
  if (path != ending || tree["instance"]["service-accounts"].Find(name) == nullptr) return {};
  return name;
}

std::string AsText(const Value& value, std::string_view name) {
  if (value.is_string()) return value.AsString();
  if (!value.is_list() || name == "tags") return ToJson(value);
  std::string lines;
  for (const Value& item : value.AsList()) lines += item.AsString() + "\n";
  return lines;
}

std::string Listing(const Value& folder, bool is_account) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : folder.AsMap())
    lines.push_back(name + (IsFolder(value) ? "/" : ""));
  for (std::size_t i = 0; i < folder.AsList().size(); ++i) lines.push_back(fmt::format("{}/", i));
  if (is_account) lines.insert(lines.end(), {"identity", "token"});
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// "serviceAccounts" of "service-accounts".
std::string Camel(std::string_view name) {
  std::string camel;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '-' && i + 1 < name.size()) {
      camel += static_cast<char>(std::toupper(static_cast<unsigned char>(name[++i])));
    } else {
      camel += name[i];
    }
  }
  return camel;
}

// As `recursive=true` writes it: names in camel case, but for those that users chose.
Value Recursive(const Value& value, bool names_are_users) {
  if (value.is_list()) {
    Value::List list;
    for (const Value& item : value.AsList()) list.push_back(Recursive(item, false));
    return list;
  }
  if (!value.is_map()) return value;
  Value map = Value::EmptyMap();
  for (const auto& [name, member] : value.AsMap()) {
    map.MutableMap()[names_are_users ? name : Camel(name)] =
        Recursive(member, name == "attributes" || name == "service-accounts");
  }
  return map;
}

void AppendLines(const Value& value, const std::string& path, std::string* text) {
  if (!IsFolder(value)) {
    *text += fmt::format("{} {}\n", path, AsText(value, path.substr(path.rfind('/') + 1)));
    return;
  }
  const std::string before = path.empty() ? "" : path + "/";
  for (const auto& [name, member] : value.AsMap()) AppendLines(member, before + name, text);
  for (std::size_t i = 0; i < value.AsList().size(); ++i) {
    AppendLines(value.AsList()[i], before + std::to_string(i), text);
  }
}

std::string EtagOf(std::string_view body) {
  return fmt::format("{:016x}", Fnv1a(body));
}

std::string_view Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 301:
      return "Moved Permanently";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 405:
      return "Method Not Allowed";
    default:
      return "Not Found";
  }
}

MetadataReply Refused(int status, std::string_view why) {
  MetadataReply reply;
  reply.status = status;
  reply.body = fmt::format(
      "<!DOCTYPE html>\n<html><head><title>Error {0} ({1})</title></head>"
      "<body><p><b>{0}.</b> {2}</p></body></html>\n",
      status, Reason(status), why);
  reply.content_type = "text/html; charset=UTF-8";
  return reply;
}

MetadataReply Answered(std::string body, bool is_json) {
  MetadataReply reply;
  reply.etag = EtagOf(body);
  reply.body = std::move(body);
  if (is_json) reply.content_type = "application/json";
  return reply;
}

std::string_view Parameter(const MetadataRequest& request, std::string_view name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? std::string_view() : std::string_view(found->second);
}

bool IsTrue(std::string_view text) {
  return LowerCase(text) == "true";
}

// What is below the root: `path` without slashes at its ends.
MetadataReply Look(const MetadataRequest& request, const Value& tree, std::string_view path,
                   bool ends_with_slash, std::int64_t now) {
  if (const auto account = AccountOf(tree, path, "token"); !account.empty()) {
    const Value& email = tree["instance"]["service-accounts"][account]["email"];
    return Answered(ToJson(MakeToken(email.AsString())), true);
  }
  if (const auto account = AccountOf(tree, path, "identity"); !account.empty()) {
    const std::string_view audience = Parameter(request, "audience");
    if (audience.empty()) return Refused(400, "non-empty audience parameter required");
    const Value& email = tree["instance"]["service-accounts"][account]["email"];
    return Answered(MakeIdentity(email.AsString(), audience, now), false);
  }
  const Value* const found = FindIn(tree, path);
  if (found == nullptr) return Refused(404, "There is nothing of this name here.");
  const std::string_view alt = Parameter(request, "alt");
  if (!alt.empty() && alt != "json" && alt != "text") return Refused(400, "alt is json or text.");
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const bool names_are_users = name == "attributes" || name == "service-accounts";
  if (IsTrue(Parameter(request, "recursive")) && IsFolder(*found)) {
    if (alt != "text") return Answered(ToJson(Recursive(*found, names_are_users)), true);
    std::string text;
    AppendLines(*found, "", &text);
    return Answered(std::move(text), false);
  }
  if (IsFolder(*found)) {
    if (!ends_with_slash) {
      MetadataReply moved = Refused(301, "A folder's name ends with a slash.");
      moved.location = fmt::format("http://metadata.google.internal{}{}{}/", kRoot,
                                   path.empty() ? "" : "/", path);
      return moved;
    }
    return Answered(Listing(*found, !AccountOf(tree, path, "").empty()), false);
  }
  return alt == "json" ? Answered(ToJson(*found), true) : Answered(AsText(*found, name), false);
}

}  // namespace

Result<std::optional<MetadataRequest>> ReadMetadataRequest(std::string_view received) {
  const std::size_t end = received.find("\r\n\r\n");
  if (end > kMetadataHeadLimit) {  // or there is none
    if (received.size() > kMetadataHeadLimit) return NotHttp();
    return std::optional<MetadataRequest>();
  }
  MetadataRequest request;
  request.size = end + 4;
  std::string_view head = received.substr(0, end);
  std::string_view line = TakeUntil(&head, "\r\n");
  request.method = TakeUntil(&line, " ");
  std::string_view target = TakeUntil(&line, " ");
  if (request.method.empty() || target.empty() || line.rfind("HTTP/1.", 0) != 0) return NotHttp();
  // A proxy's form names the host as well.
  if (target.rfind("http://", 0) == 0) {
    target.remove_prefix(7);
    target.remove_prefix(std::min(target.size(), target.find('/')));
  }
  request.path = Decoded(TakeUntil(&target, "?"), false);
  while (!target.empty()) {
    std::string_view pair = TakeUntil(&target, "&");
    const std::string name = Decoded(TakeUntil(&pair, "="), true);
    request.query[name] = Decoded(pair, true);
  }
  while (!head.empty()) {
    line = TakeUntil(&head, "\r\n");
    if (line.find(':') == std::string_view::npos) return NotHttp();
    const std::string name = LowerCase(TakeUntil(&line, ":"));
    request.headers[name] = Trimmed(line);
  }
  return std::optional<MetadataRequest>(std::move(request));
}

MetadataReply AnswerMetadata(const MetadataRequest& request, const Value& tree, std::int64_t now) {
  const auto header = [&](std::string_view name) {
    const auto found = request.headers.find(name);
    return found == request.headers.end() ? std::string() : found->second;
  };
  if (request.method != "GET" && request.method != "HEAD") {
    return Refused(405, "What is here can be read, and no more.");
  }
  if (request.headers.count("x-forwarded-for") != 0) {
    return Refused(403, "A request that was forwarded (X-Forwarded-For) is not answered.");
  }
  std::string_view path = request.path;
  if (path == "/" || path.empty()) return Answered("computeMetadata/\n", false);
  if (path == "/computeMetadata/") return Answered("v1/\n", false);
  if (path.rfind(kRoot, 0) != 0 || (path.size() > kRoot.size() && path[kRoot.size()] != '/')) {
    return Refused(404, "There is nothing of this name here.");
  }
  if (header("metadata-flavor") != "Google" && !IsTrue(header("x-google-metadata-request"))) {
    return Refused(403, "Missing Metadata-Flavor:Google header.");
  }
  path.remove_prefix(kRoot.size());
  const bool ends_with_slash = !path.empty() && path.back() == '/';
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  MetadataReply reply = Look(request, tree, path, ends_with_slash, now);
  if (reply.status == 200 && IsTrue(Parameter(request, "wait_for_change"))) {
    const std::string_view last = Parameter(request, "last_etag");
    reply.wait_for_other_than = last.empty() ? reply.etag : std::string(last);
    const std::string_view limit = Parameter(request, "timeout_sec");
    std::from_chars(limit.data(), limit.data() + limit.size(), reply.wait_s);
  }
  return reply;
}

std::string Written(const MetadataRequest& request, const MetadataReply& reply) {
  std::string text =
      fmt::format("HTTP/1.1 {} {}\r\nMetadata-Flavor: Google\r\nContent-Type: {}\r\n", reply.status,
                  Reason(reply.status), reply.content_type);
  if (!reply.etag.empty()) text += fmt::format("ETag: {}\r\n", reply.etag);
  if (!reply.location.empty()) text += fmt::format("Location: {}\r\n", reply.location);
  text += fmt::format(
      "Server: Metadata Server for VM\r\nContent-Length: {}\r\nX-XSS-Protection: 0\r\n"
      "X-Frame-Options: SAMEORIGIN\r\n\r\n",
      reply.body.size());
  if (request.method != "HEAD") text += reply.body;
  return text;
}

}  // namespace podctl::emulator
