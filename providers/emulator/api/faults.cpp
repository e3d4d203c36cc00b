#include "providers/emulator/api/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "providers/base/json.h"
#include "providers/emulator/api/json_place.h"
#include "providers/emulator/api/routes.h"
#include "providers/emulator/service/times.h"

namespace podctl::emulator {
namespace {

constexpr std::array<std::string_view, 14> kKeys = {
    "call",    "method",  "path", "times",    "nth",   "every",   "status",
    "message", "details", "drop", "cutAfter", "delay", "delayMs", "operationError"};

constexpr int kMaxCount = 1'000'000;

FaultProblem Problem(std::string_view key, std::string message) {
  return {.key = std::string(key), .message = std::move(message)};
}

// Reads a number within limits; leaves `to` alone where there is none.
std::optional<FaultProblem> ReadCount(const Value& rule, std::string_view key, int least, int most,
                                      int* to) {
  const Value* value = rule.Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_int() || value->AsInt() < least || value->AsInt() > most) {
    return Problem(key, fmt::format("`{}` must be a number from {} to {}", key, least, most));
  }
  *to = static_cast<int>(value->AsInt());
  return std::nullopt;
}

std::optional<FaultProblem> ReadText(const Value& rule, std::string_view key, std::string* to) {
  const Value* value = rule.Find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) return Problem(key, fmt::format("`{}` must be a text", key));
  *to = value->AsString();
  return std::nullopt;
}

std::optional<FaultProblem> ReadNth(const Value& rule, std::vector<int>* to) {
  const Value* value = rule.Find("nth");
  if (value == nullptr) return std::nullopt;
  const Value::List numbers = value->is_list() ? value->AsList() : Value::List{*value};
  for (const Value& number : numbers) {
    if (!number.is_int() || number.AsInt() < 1 || number.AsInt() > kMaxCount) {
      return Problem("nth", "`nth` must be a number from 1 on, or a list of such");
    }
    to->push_back(static_cast<int>(number.AsInt()));
  }
  if (to->empty()) return Problem("nth", "`nth` must not be empty");
  return std::nullopt;
}

std::optional<FaultProblem> ReadWhich(const Value& rule, Fault* fault) {
  if (auto bad = ReadText(rule, "call", &fault->call)) return bad;
  if (!fault->call.empty() && !IsCallName(fault->call)) {
    return Problem("call", fmt::format("there is no method `{}`", fault->call));
  }
  if (auto bad = ReadText(rule, "method", &fault->method)) return bad;
  if (auto bad = ReadText(rule, "path", &fault->path)) return bad;
  if (auto bad = ReadCount(rule, "times", 1, kMaxCount, &fault->times)) return bad;
  if (auto bad = ReadCount(rule, "every", 1, kMaxCount, &fault->every)) return bad;
  if (auto bad = ReadNth(rule, &fault->nth)) return bad;
  const int kinds =
      (fault->times > 0 ? 1 : 0) + (fault->every > 0 ? 1 : 0) + (fault->nth.empty() ? 0 : 1);
  if (kinds > 1) return Problem("", "only one of `nth`, `every` and `times` may be set");
  if (kinds == 0) fault->times = 1;
  return std::nullopt;
}

std::optional<FaultProblem> ReadDelay(const Value& rule, Fault* fault) {
  if (auto bad = ReadCount(rule, "delayMs", 0, FaultList::kMaxDelayMs, &fault->delay_ms)) {
    return bad;
  }
  const Value* delay = rule.Find("delay");
  if (delay == nullptr) return std::nullopt;
  const auto time = ReadDuration(delay->AsString());
  if (!time || time->count() > FaultList::kMaxDelayMs) {
    return Problem("delay", "`delay` must be a duration such as 1.5s, of 10m at most");
  }
  fault->delay_ms = static_cast<int>(time->count());
  return std::nullopt;
}

std::optional<FaultProblem> ReadOperationError(const Value& rule, Fault* fault) {
  const Value* error = rule.Find("operationError");
  if (error == nullptr) return std::nullopt;
  const std::int64_t code = (*error)["code"].AsInt(-1);
  if (!error->is_map() || code < 0 || code > 16) {
    return Problem("operationError",
                   "`operationError` must be a google.rpc.Status with a code from 0 to 16");
  }
  fault->operation_error = *error;
  return std::nullopt;
}

std::optional<FaultProblem> ReadWhat(const Value& rule, Fault* fault) {
  if (auto bad = ReadCount(rule, "status", 400, 599, &fault->status)) return bad;
  if (auto bad = ReadText(rule, "message", &fault->message)) return bad;
  if (auto bad = ReadText(rule, "drop", &fault->drop)) return bad;
  if (auto bad = ReadCount(rule, "cutAfter", 0, kMaxCount, &fault->cut_after)) return bad;
  if (auto bad = ReadDelay(rule, fault)) return bad;
  if (auto bad = ReadOperationError(rule, fault)) return bad;
  fault->details = rule["details"].AsList();
  if (!fault->drop.empty() && fault->drop != "before" && fault->drop != "after") {
    return Problem("drop", "`drop` must be \"before\" or \"after\" (the act)");
  }
  const int acts = (fault->status > 0 ? 1 : 0) + (fault->drop.empty() ? 0 : 1) +
                   (fault->cut_after >= 0 ? 1 : 0) + (fault->operation_error.is_null() ? 0 : 1);
  if (acts > 1) {
    return Problem("", "only one of `status`, `drop`, `cutAfter` and `operationError` may be set");
  }
  if (acts == 0 && fault->delay_ms == 0) {
    return Problem("",
                   "nothing happens: set `status`, `drop`, `cutAfter`, `delay` or "
                   "`operationError`");
  }
  return std::nullopt;
}

bool Fits(const Fault& fault, const HttpRequest& request, std::string_view call) {
  if (!fault.call.empty() && fault.call != call) return false;
  if (!fault.method.empty() && fault.method != request.method) return false;
  const bool is_pattern = fault.path.find_first_of("*?") != std::string::npos;
  return is_pattern ? MatchesPattern(request.path, fault.path)
                    : request.path.find(fault.path) != std::string::npos;
}

bool IsUsedUp(const Fault& fault) {
  if (fault.times > 0) return fault.struck >= fault.times;
  if (fault.every > 0) return false;
  return fault.seen >= *std::max_element(fault.nth.begin(), fault.nth.end());
}

bool Strikes(const Fault& fault) {
  if (fault.times > 0) return true;
  if (fault.every > 0) return fault.seen % fault.every == 0;
  return std::find(fault.nth.begin(), fault.nth.end(), fault.seen) != fault.nth.end();
}

Error BadFile(const std::string& path, TextPlace place, std::string_view message) {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}:{}:{}: {}", path, place.line, place.column, message));
}

Result<std::string> ReadText(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) {
    return MakeError(ErrorCode::kNotFound, fmt::format("there is no file {}", path));
  }
  // A pipe has no size, and would be waited for.
  const auto size = std::filesystem::file_size(path, problem);
  if (problem) return MakeError(ErrorCode::kIo, fmt::format("cannot read {}", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) return MakeError(ErrorCode::kIo, fmt::format("cannot read {}", path));
  if (size > FaultList::kMaxFileBytes) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is larger than {} bytes", path, FaultList::kMaxFileBytes));
  }
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// The reader names the byte; people count lines.
TextPlace PlaceOfError(std::string_view text, std::string_view message) {
  constexpr std::string_view kBefore = "at byte ";
  const std::size_t at = message.find(kBefore);
  std::size_t byte = 0;
  if (at != std::string_view::npos) {
    std::from_chars(message.data() + at + kBefore.size(), message.data() + message.size(), byte);
  }
  return PlaceOfByte(text, std::min(byte, text.size()));
}

}  // namespace

bool MatchesPattern(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = std::string_view::npos;  // where to go on when what follows it does not fit
  std::size_t resume = 0;
  while (at < text.size()) {
    if (in < pattern.size() && (pattern[in] == '?' || pattern[in] == text[at])) {
      ++at;
      ++in;
    } else if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      resume = at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in) == std::string_view::npos;
}

Value Fault::ToValue() const {
  Value value;
  if (!call.empty()) value.Set("call", call);
  if (!method.empty()) value.Set("method", method);
  if (!path.empty()) value.Set("path", path);
  if (times > 0) value.Set("times", times - struck);
  if (every > 0) value.Set("every", every);
  if (!nth.empty()) {
    Value::List numbers;
    for (const int number : nth) numbers.emplace_back(number);
    value.Set("nth", std::move(numbers));
  }
  if (status != 0) value.Set("status", status);
  if (!message.empty()) value.Set("message", message);
  if (!details.empty()) value.Set("details", details);
  if (!drop.empty()) value.Set("drop", drop);
  if (cut_after >= 0) value.Set("cutAfter", cut_after);
  if (delay_ms != 0) value.Set("delayMs", delay_ms);
  if (!operation_error.is_null()) value.Set("operationError", operation_error);
  value.Set("seen", seen);
  return value;
}

std::variant<Fault, FaultProblem> ReadFault(const Value& rule) {
  if (!rule.is_map()) return Problem("", "a fault must be an object");
  for (const auto& [key, value] : rule.AsMap()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      return Problem(key,
                     fmt::format("unknown key `{}`; there are {}", key, fmt::join(kKeys, ", ")));
    }
  }
  Fault fault;
  if (auto bad = ReadWhich(rule, &fault)) return *std::move(bad);
  if (auto bad = ReadWhat(rule, &fault)) return *std::move(bad);
  return fault;
}

Result<void> FaultList::Load(const std::string& path) {
  auto text = ReadText(path);
  if (!text) return text.error();
  const Result<Value> json = ParseJson(*text);
  if (!json) {
    return BadFile(path, PlaceOfError(*text, json.error().message), json.error().message);
  }
  const Value* rules = json->Find("faults");
  if (rules == nullptr || !rules->is_list() || json->AsMap().size() != 1) {
    return BadFile(path, {}, "the file must be {\"faults\": [...]}");
  }
  std::vector<Fault> read;
  for (const Value& rule : rules->AsList()) {
    auto fault = ReadFault(rule);
    if (const auto* problem = std::get_if<FaultProblem>(&fault)) {
      std::vector<std::string> at = {"faults", std::to_string(read.size())};
      if (!problem->key.empty()) at.push_back(problem->key);
      return BadFile(path, PlaceInJson(*text, at), problem->message);
    }
    read.push_back(std::get<Fault>(std::move(fault)));
  }
  if (read.size() > kMaxFaults) {
    return BadFile(path, {}, fmt::format("there are more than {} faults", kMaxFaults));
  }
  for (Fault& fault : read) Add(std::move(fault));
  return {};
}

bool FaultList::Add(Fault fault) {
  std::lock_guard lock(mutex_);
  if (faults_.size() == kMaxFaults) return false;
  faults_.push_back(std::move(fault));
  return true;
}

void FaultList::Clear() {
  std::lock_guard lock(mutex_);
  faults_.clear();
}

std::optional<Fault> FaultList::Take(const HttpRequest& request, std::string_view call) {
  std::lock_guard lock(mutex_);
  std::optional<Fault> met;
  for (auto fault = faults_.begin(); fault != faults_.end();) {
    if (Fits(*fault, request, call)) {
      ++fault->seen;
      if (!met && Strikes(*fault)) {
        ++fault->struck;
        met = *fault;
      }
    }
    fault = IsUsedUp(*fault) ? faults_.erase(fault) : std::next(fault);
  }
  return met;
}

Value::List FaultList::ToValues() {
  std::lock_guard lock(mutex_);
  Value::List values;
  for (const Fault& fault : faults_) values.push_back(fault.ToValue());
  return values;
}

}  // namespace podctl::emulator
