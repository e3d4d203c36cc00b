#include "providers/emulator/service/storage_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "providers/emulator/names.h"
#include "providers/emulator/service/checksums.h"

namespace podctl::emulator {
namespace {

struct StorageReason {
  int http;
  std::string_view reason;
  std::string_view domain;
};
// The usual one of each status; errors of the same status that have another name theirs.
constexpr std::array<StorageReason, 14> kStorageReasons = {
    {{400, "invalid", "global"},
     {401, "authError", "global"},
     {403, "forbidden", "global"},
     {404, "notFound", "global"},
     {408, "requestTimeout", "global"},
     {409, "conflict", "global"},
     {412, "conditionNotMet", "global"},
     {413, "uploadTooLarge", "global"},
     {416, "requestedRangeNotSatisfiable", "global"},
     {429, "rateLimitExceeded", "usageLimits"},
     {500, "internalError", "global"},
     {501, "notImplemented", "global"},
     {502, "backendError", "global"},
     {503, "backendError", "global"}}};

const StorageReason& ReasonOf(int http) {
  for (const StorageReason& known : kStorageReasons) {
    if (known.http == http) return known;
  }
  return kStorageReasons[http >= 500 ? 10 : 0];
}

bool IsUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t more = lead < 0x80 ? 0 : lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || i + more >= text.size() + (more == 0)) {
      return false;
    }
    std::uint32_t point = more == 0 ? lead : lead & (0x3FU >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0U) != 0x80) return false;
      point = (point << 6U) | (next & 0x3FU);
    }
    const bool too_long = (more == 2 && point < 0x800) || (more == 3 && point < 0x10000);
    if (too_long || (point >= 0xD800 && point < 0xE000) || point > 0x10FFFF) return false;
    i += more + 1;
  }
  return true;
}

void AppendVarint(char tag, std::int64_t number, std::string* out) {
  *out += tag;
  auto rest = static_cast<std::uint64_t>(number);
  for (; rest >= 0x80; rest >>= 7U) *out += static_cast<char>((rest & 0x7FU) | 0x80U);
  *out += static_cast<char>(rest);
}

// The tree of a selection; a leaf takes all that is below it.
struct Selection {
  std::map<std::string, Selection, std::less<>> members;
};

constexpr int kDeepestSelection = 20;

// Reads "a,b(c,d/e)" up to the end or a closing bracket. False: it is none.
bool ReadSelection(std::string_view* text, int depth, Selection* to) {
  if (depth > kDeepestSelection) return false;
  while (true) {
    Selection* at = to;
    while (true) {
      const std::size_t end = std::min(text->find_first_of(",()/"), text->size());
      if (end == 0) return false;
      at = &at->members[std::string(text->substr(0, end))];
      text->remove_prefix(end);
      if (!text->starts_with('/')) break;
      text->remove_prefix(1);
    }
    if (text->starts_with('(')) {
      text->remove_prefix(1);
      if (!ReadSelection(text, depth + 1, at) || !text->starts_with(')')) return false;
      text->remove_prefix(1);
    }
    if (!text->starts_with(',')) return true;
    text->remove_prefix(1);
  }
}

Value Selected(const Value& value, const Selection& selection) {
  if (selection.members.empty()) return value;
  if (value.is_list()) {
    Value::List list;
    for (const Value& item : value.AsList()) list.push_back(Selected(item, selection));
    return list;
  }
  Value map = Value::EmptyMap();
  for (const auto& [name, member] : value.AsMap()) {
    auto found = selection.members.find(name);
    if (found == selection.members.end()) found = selection.members.find("*");
    if (found != selection.members.end()) map.Set(name, Selected(member, found->second));
  }
  return map;
}

}  // namespace

ApiError StorageError(int http, std::string_view reason, std::string message) {
  Value::Map error = {{"domain", ReasonOf(http).domain}, {"reason", reason}, {"message", message}};
  if (reason == "conditionNotMet") {
    error["locationType"] = "header";
    error["location"] = "If-Match";
  }
  return {.status = std::string(StatusOfHttp(http)),
          .message = std::move(message),
          .details = {},
          .http = http,
          .errors = {std::move(error)}};
}

ApiError StorageErrorOf(int http, std::string message) {
  return StorageError(http, ReasonOf(http).reason, std::move(message));
}

ApiError StorageInvalid(std::string message) {
  return StorageError(400, "invalid", std::move(message));
}

ApiError StorageRequired(std::string_view what) {
  return StorageError(400, "required", fmt::format("Required parameter: {}", what));
}

ApiError NoSuchBucket() {
  return StorageError(404, "notFound", "The specified bucket does not exist.");
}

ApiError NoSuchObject(std::string_view bucket, std::string_view object) {
  return StorageError(404, "notFound", fmt::format("No such object: {}/{}", bucket, object));
}

Refusal CheckBucketName(std::string_view name) {
  const bool letters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
  const auto is_end = [](char c) { return c != '-' && c != '_' && c != '.'; };
  const std::size_t longest = name.find('.') == std::string_view::npos ? 63 : 222;
  if (letters && name.size() >= 3 && name.size() <= longest && is_end(name.front()) &&
      is_end(name.back()) && name.find("..") == std::string_view::npos &&
      !name.starts_with("goog")) {
    return std::nullopt;
  }
  return StorageInvalid(fmt::format("Invalid bucket name: '{}'", name));
}

Refusal CheckObjectName(std::string_view name) {
  constexpr std::size_t kLongest = 1024;
  if (name.empty()) return StorageError(400, "required", "Required");
  if (name.size() > kLongest) {
    return StorageInvalid(
        "The specified object name is not valid: it is longer than 1024 bytes in UTF-8.");
  }
  const bool reserved =
      name == "." || name == ".." || name.starts_with(".well-known/acme-challenge/");
  if (reserved || !IsUtf8(name) ||
      name.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
    return StorageInvalid(fmt::format("Disallowed unicode characters or name: '{}'", name));
  }
  return std::nullopt;
}

Refusal StorageConditions::Check(std::int64_t live_generation,
                                 std::int64_t its_metageneration) const {
  const bool met = (!generation || *generation == live_generation) &&
                   (!metageneration || *metageneration == its_metageneration);
  if (!met) {
    return StorageError(412, "conditionNotMet",
                        "At least one of the pre-conditions you specified did not hold.");
  }
  const bool missed = (!not_generation || *not_generation != live_generation) &&
                      (!not_metageneration || *not_metageneration != its_metageneration);
  if (missed) return std::nullopt;
  return StorageError(304, "notModified", "Not Modified");
}

Refusal CheckSums(const Value& metadata, std::string_view bytes) {
  struct Sum {
    std::string_view member;
    std::string_view name;
    std::string (*of)(std::string_view);
  };
  constexpr std::array<Sum, 2> kSums = {
      {{"crc32c", "CRC32C", Crc32cText}, {"md5Hash", "MD5 hash", Md5Text}}};
  for (const Sum& sum : kSums) {
    const Value* given = metadata.Find(sum.member);
    if (given == nullptr || given->is_null()) continue;
    const std::string found = sum.of(bytes);
    if (given->AsString() == found) continue;
    return StorageInvalid(fmt::format("Provided {} \"{}\" doesn't match calculated {} \"{}\".",
                                      sum.name, given->AsString(), sum.name, found));
  }
  return std::nullopt;
}

Refusal CheckMetadata(const Value& metadata) {
  constexpr std::size_t kLargest = 8192;
  if (!metadata.is_null() && !metadata.is_map()) {
    return StorageInvalid("Invalid value for: metadata");
  }
  std::size_t bytes = 0;
  for (const auto& [key, value] : metadata.AsMap()) {
    if (!value.is_string() && !value.is_null()) {
      return StorageInvalid(fmt::format("Invalid value for: metadata.{} is not a text", key));
    }
    bytes += key.size() + value.AsString().size();
  }
  if (bytes <= kLargest) return std::nullopt;
  return StorageInvalid("The custom metadata is too large: it may hold 8 KiB.");
}

Refusal CheckKmsKey(std::string_view name) {
  constexpr std::array<std::string_view, 4> kWords = {"projects/", "locations/", "keyRings/",
                                                      "cryptoKeys/"};
  std::string_view rest = name;
  for (const std::string_view word : kWords) {
    if (name.empty()) return std::nullopt;
    const bool begins = rest.starts_with(word);
    rest.remove_prefix(begins ? word.size() : 0);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const bool is_last = word == kWords.back();
    if (!begins || slash == 0 || (slash == rest.size()) != is_last) {
      return StorageInvalid(fmt::format("Malformed Cloud KMS crypto key: '{}'", name));
    }
    rest.remove_prefix(std::min(slash + 1, rest.size()));
  }
  return std::nullopt;
}

bool IsWritableOfObject(std::string_view member) {
  constexpr std::array<std::string_view, 9> kWritable = {
      "metadata",        "contentType", "cacheControl",  "contentDisposition", "contentEncoding",
      "contentLanguage", "customTime",  "temporaryHold", "eventBasedHold"};
  return std::find(kWritable.begin(), kWritable.end(), member) != kWritable.end();
}

void MergePatch(const Value& change, Value* target) {
  for (const auto& [name, value] : change.AsMap()) {
    if (value.is_null()) {
      target->Erase(name);
    } else if (value.is_map()) {
      Value member = (*target)[name];
      if (!member.is_map()) member = Value::EmptyMap();
      MergePatch(value, &member);
      target->Set(name, std::move(member));
    } else {
      target->Set(name, value);
    }
  }
}

std::string StorageEtag(std::int64_t generation, std::int64_t metageneration) {
  std::string bytes;
  AppendVarint('\x08', generation, &bytes);
  AppendVarint('\x10', metageneration, &bytes);
  return Base64Text(bytes);
}

std::string PathPart(std::string_view name) {
  std::string part;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    part += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return part;
}

std::optional<Value> SelectFields(const Value& answer, std::string_view fields) {
  Selection selection;
  if (!ReadSelection(&fields, 0, &selection) || !fields.empty()) return std::nullopt;
  return Selected(answer, selection);
}

}  // namespace podctl::emulator
