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
#include "providers/emulator/api/api.h"
#include "providers/emulator/service/times.h"

namespace podctl::emulator {
namespace {

constexpr int kMaxCount = 1'000'000;

struct CountKey {
  std::string_view key;
  int Fault::*to;
  int least;
  int most;
};
constexpr std::array<CountKey, 5> kCounts = {
    {{"times", &Fault::times, 1, kMaxCount},
     {"every", &Fault::every, 1, kMaxCount},
     {"status", &Fault::status, 400, 599},
     {"cutAfter", &Fault::cut_after, 0, kMaxCount},
     {"delayMs", &Fault::delay_ms, 0, FaultList::kMaxDelayMs}}};

struct TextKey {
  std::string_view key;
  std::string Fault::*to;
};
constexpr std::array<TextKey, 5> kTexts = {{{"call", &Fault::call},
                                            {"method", &Fault::method},
                                            {"path", &Fault::path},
                                            {"message", &Fault::message},
                                            {"drop", &Fault::drop}}};

constexpr std::array<std::string_view, 14> kKeys = {
    "call",    "method",  "path", "times",    "nth",   "every",   "status",
    "message", "details", "drop", "cutAfter", "delay", "delayMs", "operationError"};

using Problem = std::optional<FaultProblem>;

FaultProblem Bad(std::string_view key, std::string message) {
  return {.key = std::string(key), .message = std::move(message)};
}

// Reads a number within limits, or a text; leaves the fault alone where there is none.
Problem ReadKey(const Value& value, std::string_view key, Fault* fault) {
  for (const CountKey& known : kCounts) {
    if (known.key != key) continue;
    if (!value.is_int() || value.AsInt() < known.least || value.AsInt() > known.most) {
      return Bad(key,
                 fmt::format("`{}` must be a number from {} to {}", key, known.least, known.most));
    }
    fault->*known.to = static_cast<int>(value.AsInt());
  }
  for (const TextKey& known : kTexts) {
    if (known.key != key) continue;
    if (!value.is_string()) return Bad(key, fmt::format("`{}` must be a text", key));
    fault->*known.to = value.AsString();
  }
  return std::nullopt;
}

Problem ReadNth(const Value& value, std::vector<int>* to) {
  const Value::List numbers = value.is_list() ? value.AsList() : Value::List{value};
  for (const Value& number : numbers) {
    if (!number.is_int() || number.AsInt() < 1 || number.AsInt() > kMaxCount) {
      return Bad("nth", "`nth` must be a number from 1 on, or a list of such");
    }
    to->push_back(static_cast<int>(number.AsInt()));
  }
  if (to->empty()) return Bad("nth", "`nth` must not be empty");
  return std::nullopt;
}

Problem ReadDelay(const Value& value, Fault* fault) {
  const auto time = ReadDuration(value.AsString());
  if (!time || time->count() > FaultList::kMaxDelayMs) {
    return Bad("delay", "`delay` must be a duration such as 1.5s, of 10m at most");
  }
  fault->delay_ms = static_cast<int>(time->count());
  return std::nullopt;
}

Problem ReadOperationError(const Value& value, Fault* fault) {
  const std::int64_t code = value["code"].AsInt(-1);
  if (!value.is_map() || code < 0 || code > 16) {
    return Bad("operationError",
               "`operationError` must be a google.rpc.Status with a code from 0 to 16");
  }
  fault->operation_error = value;
  return std::nullopt;
}

// Of keys that are right each by itself.
Problem CheckTogether(Fault* fault) {
  if (!fault->call.empty() && !IsCallName(fault->call)) {
    return Bad("call", fmt::format("there is no method `{}`", fault->call));
  }
  const int kinds =
      (fault->times > 0 ? 1 : 0) + (fault->every > 0 ? 1 : 0) + (fault->nth.empty() ? 0 : 1);
  if (kinds > 1) return Bad("", "only one of `nth`, `every` and `times` may be set");
  if (kinds == 0) fault->times = 1;
  if (!fault->drop.empty() && fault->drop != "before" && fault->drop != "after") {
    return Bad("drop", "`drop` must be \"before\" or \"after\" (the act)");
  }
  const int acts = (fault->status > 0 ? 1 : 0) + (fault->drop.empty() ? 0 : 1) +
                   (fault->cut_after >= 0 ? 1 : 0) + (fault->operation_error.is_null() ? 0 : 1);
  if (acts > 1) {
    return Bad("", "only one of `status`, `drop`, `cutAfter` and `operationError` may be set");
  }
  if (acts == 0 && fault->delay_ms == 0) {
    return Bad("",
               "nothing happens: set `status`, `drop`, `cutAfter`, `delay` or `operationError`");
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

// Of the value under faults[index].key in valid JSON, or of that rule where it has no such key.
std::size_t ByteOfKey(std::string_view text, std::size_t index, std::string_view key) {
  std::size_t rule = 0;
  std::size_t begin = std::string_view::npos;
  int depth = 0;  // in the file's object 1, in its list 2, in a rule 3
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (std::string_view(" \t\r\n").find(c) != std::string_view::npos) continue;
    if (depth == 2 && rule == index) begin = std::min(begin, at);
    if (depth == 2 && c == ',') ++rule;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') continue;
    const std::size_t first = at + 1;
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\') ++at;
    }
    const std::size_t colon = text.find_first_not_of(" \t\r\n", at + 1);
    const bool is_it = depth == 3 && rule == index && text.substr(first, at - first) == key;
    if (is_it && colon != std::string_view::npos && text[colon] == ':') {
      return text.find_first_not_of(" \t\r\n", colon + 1);
    }
  }
  return begin;
}

// People count lines and columns, from 1 on; columns are bytes.
Error BadFile(const std::string& path, std::string_view text, std::size_t byte,
              std::string_view message) {
  const std::string_view before = text.substr(0, byte);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}:{}:{}: {}", path, line, column, message));
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

// The reader names the byte.
std::size_t ByteOfError(std::string_view message) {
  constexpr std::string_view kBefore = "at byte ";
  const std::size_t at = message.find(kBefore);
  std::size_t byte = 0;
  if (at != std::string_view::npos) {
    std::from_chars(message.data() + at + kBefore.size(), message.data() + message.size(), byte);
  }
  return byte;
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
  const Fault unset;
  for (const TextKey& known : kTexts) {
    if (!(this->*known.to).empty()) value.Set(known.key, this->*known.to);
  }
  for (const CountKey& known : kCounts) {
    if (this->*known.to != unset.*known.to) value.Set(known.key, this->*known.to);
  }
  if (times > 0) value.Set("times", times - struck);
  if (!nth.empty()) value.Set("nth", Value::List(nth.begin(), nth.end()));
  if (!details.empty()) value.Set("details", details);
  if (!operation_error.is_null()) value.Set("operationError", operation_error);
  value.Set("seen", seen);
  return value;
}

std::variant<Fault, FaultProblem> ReadFault(const Value& rule) {
  if (!rule.is_map()) return Bad("", "a fault must be an object");
  for (const auto& [key, value] : rule.AsMap()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      return Bad(key, fmt::format("unknown key `{}`; there are {}", key, fmt::join(kKeys, ", ")));
    }
  }
  Fault fault;
  for (const std::string_view key : kKeys) {
    const Value* const value = rule.Find(key);
    if (value == nullptr) continue;
    Problem bad = key == "nth"              ? ReadNth(*value, &fault.nth)
                  : key == "operationError" ? ReadOperationError(*value, &fault)
                                            : ReadKey(*value, key, &fault);
    if (bad) return *std::move(bad);
  }
  if (const Value* const delay = rule.Find("delay")) {
    if (auto bad = ReadDelay(*delay, &fault)) return *std::move(bad);
  }
  fault.details = rule["details"].AsList();
  if (auto bad = CheckTogether(&fault)) return *std::move(bad);
  return fault;
}

Result<void> FaultList::Load(const std::string& path) {
  auto text = ReadText(path);
  if (!text) return text.error();
  const Result<Value> json = ParseJson(*text);
  if (!json) {
    return BadFile(path, *text, ByteOfError(json.error().message), json.error().message);
  }
  const Value* rules = json->Find("faults");
  if (rules == nullptr || !rules->is_list() || json->AsMap().size() != 1) {
    return BadFile(path, *text, 0, "the file must be {\"faults\": [...]}");
  }
  std::vector<Fault> read;
  for (const Value& rule : rules->AsList()) {
    auto fault = ReadFault(rule);
    if (const auto* problem = std::get_if<FaultProblem>(&fault)) {
      return BadFile(path, *text, ByteOfKey(*text, read.size(), problem->key), problem->message);
    }
    read.push_back(std::get<Fault>(std::move(fault)));
  }
  if (read.size() > kMaxFaults) {
    return BadFile(path, *text, 0, fmt::format("there are more than {} faults", kMaxFaults));
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
