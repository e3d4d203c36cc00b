#include "providers/gcp/api_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/refusal.h"

namespace podctl::gcp {
namespace {

constexpr std::size_t kMaxSentenceBytes = 2000;
constexpr std::size_t kMaxDetails = 20;

// google.rpc.Code by number (google/rpc/code.proto); 0 is OK and not an error.
constexpr std::array<ErrorCode, 17> kByNumber = {
    ErrorCode::kUnknown,           ErrorCode::kCancelled,
    ErrorCode::kUnknown,           ErrorCode::kInvalidArgument,
    ErrorCode::kDeadlineExceeded,  ErrorCode::kNotFound,
    ErrorCode::kAlreadyExists,     ErrorCode::kPermissionDenied,
    ErrorCode::kResourceExhausted, ErrorCode::kFailedPrecondition,
    ErrorCode::kAborted,           ErrorCode::kOutOfRange,
    ErrorCode::kUnimplemented,     ErrorCode::kInternal,
    ErrorCode::kUnavailable,       ErrorCode::kDataLoss,
    ErrorCode::kUnauthenticated,
};

std::optional<ErrorCode> CodeByName(const std::string& name) {
  for (ErrorCode code : kByNumber) {
    if (ErrorCodeName(code) == name) return code;
  }
  return std::nullopt;
}

// Only where the body names no canonical status: 400, 409 and 500 each stand for several. Of a
// resource that is not there the API names it; a 404 without it comes from a server, a proxy or a
// path that knows nothing of resources, and says nothing of them.
ErrorCode CodeByHttp(int status) {
  constexpr std::pair<int, ErrorCode> kCodes[] = {
      {400, ErrorCode::kInvalidArgument},  {401, ErrorCode::kUnauthenticated},
      {403, ErrorCode::kPermissionDenied}, {408, ErrorCode::kDeadlineExceeded},
      {409, ErrorCode::kAborted},          {412, ErrorCode::kFailedPrecondition},
      {416, ErrorCode::kOutOfRange},       {429, ErrorCode::kResourceExhausted},
      {499, ErrorCode::kCancelled},        {501, ErrorCode::kUnimplemented},
      {502, ErrorCode::kUnavailable},      {503, ErrorCode::kUnavailable},
      {504, ErrorCode::kDeadlineExceeded},
  };
  for (const auto& [known, code] : kCodes) {
    if (status == known) return code;
  }
  if (status >= 500) return ErrorCode::kInternal;
  return status >= 400 ? ErrorCode::kInvalidArgument : ErrorCode::kUnknown;
}

// That there is no such method has the status of a resource that is not there.
bool IsOfMethod(const Value& status) {
  return status["message"].AsString().starts_with("Method not found");
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// One line, no control characters, no more than fits a screen.
std::string OneLine(std::string_view text) {
  std::string line;
  for (char c : TrimBlanks(text)) {
    const bool blank = c == '\n' || c == '\r' || c == '\t';
    if (blank && line.ends_with(' ')) continue;
    line += blank ? ' ' : c;
    if (line.size() >= kMaxSentenceBytes) break;
  }
  // Not in the middle of a UTF-8 character.
  if (line.size() >= kMaxSentenceBytes) {
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0) == 0x80) {
      line.pop_back();
    }
    if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xC0) line.pop_back();
    line += "…";
  }
  return VisibleControls(line);
}

// What the details say beyond the message.
struct Details {
  std::vector<std::string> sentences;
  std::string reason;    // ErrorInfo.reason, "SERVICE_DISABLED"
  std::string consumer;  // "projects/123"
  std::string service;   // "tpu.googleapis.com"
  bool quota = false;
};

bool IsType(const Value& detail, std::string_view type) {
  return detail["@type"].AsString() == fmt::format("type.googleapis.com/google.rpc.{}", type);
}

Details ReadDetails(const Value& status) {
  Details details;
  std::size_t count = 0;
  for (const Value& detail : status["details"].AsList()) {
    if (++count > kMaxDetails) break;
    const bool quota = IsType(detail, "QuotaFailure");
    details.quota = details.quota || quota;
    if (quota || IsType(detail, "PreconditionFailure")) {
      for (const Value& violation : detail["violations"].AsList()) {
        details.sentences.push_back(violation["description"].AsString());
      }
    } else if (IsType(detail, "BadRequest")) {
      for (const Value& violation : detail["fieldViolations"].AsList()) {
        details.sentences.push_back(fmt::format("{}: {}", violation["field"].AsString(),
                                                violation["description"].AsString()));
      }
    } else if (IsType(detail, "LocalizedMessage")) {
      details.sentences.push_back(detail["message"].AsString());
    } else if (IsType(detail, "ErrorInfo")) {
      details.reason = detail["reason"].AsString();
      details.consumer = detail["metadata"]["consumer"].AsString();
      details.service = detail["metadata"]["service"].AsString();
    }
  }
  return details;
}

std::string Sentence(const std::string& message, const Details& details) {
  std::string sentence = OneLine(message);
  for (const std::string& more : details.sentences) {
    const std::string line = OneLine(more);
    if (line.empty() || Contains(sentence, line)) continue;
    if (!sentence.empty()) sentence += sentence.ends_with('.') ? " " : "; ";
    sentence += line;
    if (sentence.size() > kMaxSentenceBytes) break;
  }
  return sentence;
}

// What an answer may put into a command that people copy: a plain word, and no flag.
bool IsPlainWord(std::string_view text) {
  return !text.empty() && text.front() != '-' && ShellQuote(text) == text;
}

std::string EnableHint(const Details& details) {
  std::string command = "gcloud services enable ";
  command += IsPlainWord(details.service) ? details.service : "tpu.googleapis.com";
  constexpr std::string_view kProjects = "projects/";
  if (details.consumer.starts_with(kProjects)) {
    const std::string project(details.consumer.substr(kProjects.size()));
    if (IsPlainWord(project)) command += " --project " + project;
  }
  return fmt::format("enable the API: `{}`", command);
}

std::string HintFor(const Error& error, RefusedBy by, const Details& details,
                    const std::string& if_denied) {
  if (details.reason == "SERVICE_DISABLED") return EnableHint(details);
  switch (RefusalOf(error, by)) {
    case Refusal::kNoCapacity:
      return "the zone has none left at the moment: try again later, or another zone or type";
    case Refusal::kReservation:
      return "the reservation is full: delete what is not needed in it, or have it increased";
    case Refusal::kRate:
      return "too many requests: wait a minute, or lower --parallelism";
    case Refusal::kQuota:
      return "delete what is not needed, or ask for more quota in the Cloud console (IAM & Admin, "
             "Quotas)";
    case Refusal::kNone:
      break;
  }
  if (error.code == ErrorCode::kPermissionDenied) {
    if (!if_denied.empty()) return if_denied;
    return "check the names of project and zone, and that your account has the role "
           "roles/tpu.admin there (and roles/iam.serviceAccountUser for the node's service "
           "account)";
  }
  if (error.code == ErrorCode::kUnauthenticated) {
    return "log in with `gcloud auth login`, or give a fresh token";
  }
  if (error.code == ErrorCode::kInvalidArgument &&
      Contains(error.message, "reservation for request queue")) {
    return "check the reservation's name and zone, `projects/P/locations/Z/reservations/R`";
  }
  return {};
}

// What only the details tell must show in the sentence, which is what refusals are told apart by.
void TellKind(const Details& details, std::string* sentence) {
  if (details.quota && !Contains(*sentence, "uota")) {
    *sentence += " (a quota)";
  } else if (!details.quota && details.reason == "RATE_LIMIT_EXCEEDED" &&
             !Contains(*sentence, "per minute")) {
    *sentence += " (" + details.reason + ")";
  }
}

Error MakeApiError(ErrorCode code, const Value& status, RefusedBy by, const std::string& fallback,
                   const std::string& if_denied = {}) {
  const Details details = ReadDetails(status);
  std::string sentence = Sentence(status["message"].AsString(), details);
  if (sentence.empty()) sentence = fallback;
  TellKind(details, &sentence);
  Error error = MakeError(code, std::move(sentence));
  error.hint = HintFor(error, by, details, if_denied);
  return error;
}

}  // namespace

Error ErrorFromAnswer(int http_status, const std::string& body, const std::string& server,
                      const std::string& if_denied) {
  Result<Value> parsed = ParseJson(body);
  const Value status = parsed ? (*parsed)["error"] : Value();
  const std::optional<ErrorCode> named = CodeByName(status["status"].AsString());
  const bool says_what = named && !(*named == ErrorCode::kNotFound && IsOfMethod(status));
  const ErrorCode code = says_what ? *named : CodeByHttp(http_status);
  Error error =
      MakeApiError(code, status, RefusedBy::kAnswer,
                   fmt::format("{} answered with HTTP status {}", server, http_status), if_denied);
  if (http_status == 404 && !says_what && error.hint.empty()) {
    error.hint = "is the endpoint really one of the Cloud TPU API?";
  }
  return error;
}

Error ErrorFromStatus(const Value& status) {
  const std::int64_t number = status["code"].AsInt();
  const bool known = number > 0 && number < static_cast<std::int64_t>(kByNumber.size());
  const ErrorCode code = known ? kByNumber[static_cast<std::size_t>(number)] : ErrorCode::kUnknown;
  return MakeApiError(code, status, RefusedBy::kOperation,
                      fmt::format("the operation failed ({})", ErrorCodeName(code)));
}

bool IsRateLimit(const std::string& body) {
  constexpr int kTooManyRequests = 429;
  return RefusalOf(ErrorFromAnswer(kTooManyRequests, body, "the server"), RefusedBy::kAnswer) ==
         Refusal::kRate;
}

namespace {

constexpr std::string_view kProjects = "projects/";
constexpr std::string_view kZones = "/locations/";
constexpr std::string_view kEveryZone = "/locations/-";

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Without "projects/P", where P is taken out.
std::string_view BehindProject(std::string_view name, std::string_view* project) {
  if (!name.starts_with(kProjects)) return name;
  name.remove_prefix(kProjects.size());
  const auto slash = std::min(name.find('/'), name.size());
  *project = name.substr(0, slash);
  return name.substr(slash);
}

Error Odd(std::string what) {
  return MakeError(ErrorCode::kInternal, std::move(what),
                   "is the endpoint really one of the Cloud TPU API?");
}

}  // namespace

bool IsSameResource(std::string_view name, std::string_view asked) {
  std::string_view of;
  std::string_view asked_of;
  name = BehindProject(name, &of);
  asked = BehindProject(asked, &asked_of);
  if (of != asked_of && !IsNumber(of) && !IsNumber(asked_of)) return false;
  if (!asked.starts_with(kEveryZone)) return name == asked;
  const auto zone = name.find('/', kZones.size());
  return name.starts_with(kZones) && zone != std::string_view::npos &&
         name.substr(zone) == asked.substr(kEveryZone.size());
}

std::optional<ResourceName> ParseResource(std::string_view name, std::string_view collection) {
  const auto parts = Split(name, "/");
  const bool good = parts.size() == 6 && parts[0] == "projects" && parts[2] == "locations" &&
                    parts[4] == collection && !parts[1].empty() && !parts[3].empty() &&
                    !parts[5].empty();
  if (!good) return std::nullopt;
  return ResourceName{std::string(parts[1]), std::string(parts[3]), std::string(parts[5])};
}

std::string WhyNoNode(const Value& node) {
  const std::size_t workers = node["networkEndpoints"].AsList().size();
  if (workers <= kMostWorkersOfNode) return {};
  return fmt::format("{} has {} network endpoints, and no node has more than {}",
                     VisibleControls(node["name"].AsString().substr(0, 200)), workers,
                     kMostWorkersOfNode);
}

Result<Value> CheckedResource(Result<Value> answer, const std::string& asked) {
  if (!answer) return answer;
  const std::string& name = (*answer)["name"].AsString();
  if (!IsSameResource(name, asked)) {
    return Odd(fmt::format("asked for {}, the service answers with `{}`", asked,
                           VisibleControls(name.substr(0, 200))));
  }
  if (const std::string why = WhyNoNode(*answer); !why.empty()) return Odd(why);
  return answer;
}

}  // namespace podctl::gcp
