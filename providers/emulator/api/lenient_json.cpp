// The second part of schema.h: JSON that is nearly right.

#include "providers/base/json.h"
#include "providers/emulator/api/schema.h"

namespace podctl::emulator {
namespace {

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool StartsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

bool ContinuesName(char c) {
  return StartsName(c) || (c >= '0' && c <= '9') || c == '-';
}

std::size_t SkipBlanks(std::string_view text, std::size_t at) {
  while (at < text.size() && IsBlank(text[at])) ++at;
  return at;
}

// Copies the string that opens at `at` (either quote) in double quotes; returns the place after it.
std::size_t CopyString(std::string_view text, std::size_t at, std::string* out) {
  const char quote = text[at++];
  out->push_back('"');
  while (at < text.size() && text[at] != quote) {
    const char c = text[at++];
    if (c == '\\' && at < text.size()) {
      const char escaped = text[at++];
      if (escaped != '\'') out->push_back('\\');  // JSON has no \' escape
      out->push_back(escaped);
    } else {
      if (c == '"') out->push_back('\\');
      out->push_back(c);
    }
  }
  if (at < text.size()) {  // an open end stays open, so that the strict reader refuses it
    out->push_back('"');
    ++at;
  }
  return at;
}

// A bare word: a key when a colon follows, else one of true, false, null.
std::size_t CopyWord(std::string_view text, std::size_t at, std::string* out) {
  std::size_t end = at;
  while (end < text.size() && ContinuesName(text[end])) ++end;
  const std::size_t next = SkipBlanks(text, end);
  const bool is_key = next < text.size() && text[next] == ':';
  if (is_key) out->push_back('"');
  out->append(text.substr(at, end - at));
  if (is_key) out->push_back('"');
  return end;
}

// The same document in strict JSON, as far as the text can be understood; never fails.
std::string StrictJson(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = CopyString(text, at, &out);
    } else if (StartsName(c)) {
      at = CopyWord(text, at, &out);
    } else if (c == ',') {
      const std::size_t next = SkipBlanks(text, at + 1);
      const bool last = next < text.size() && (text[next] == '}' || text[next] == ']');
      if (!last) out.push_back(',');
      ++at;
    } else {
      // Numbers are copied whole, so that the e of 1e5 is not taken for a word.
      std::size_t end = at + 1;
      if (c == '-' || (c >= '0' && c <= '9')) {
        while (end < text.size() &&
               (ContinuesName(text[end]) || text[end] == '.' || text[end] == '+')) {
          ++end;
        }
      }
      out.append(text.substr(at, end - at));
      at = end;
    }
  }
  return out;
}

}  // namespace

Result<Value> ParseLenientJson(std::string_view text) {
  if (SkipBlanks(text, 0) == text.size()) return Value::EmptyMap();
  Result<Value> strict = ParseJson(text);
  if (strict.has_value()) return strict;
  return ParseJson(StrictJson(text));
}

}  // namespace podctl::emulator
