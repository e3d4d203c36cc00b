#include "plans/spec/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "providers/base/text.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// "europe-west4", which has zones but is none.
bool IsRegion(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos || text.rfind('-') != dash) return false;
  return !text.empty() && IsDigit(text.back());
}

}  // namespace

bool IsThingName(std::string_view name) {
  constexpr std::size_t kLongest = 63;
  return !name.empty() && name.size() <= kLongest && name[0] != '-' &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

bool CheckZone(ValueReader& reader, const YamlNode& at, const Slot& slot, std::string_view zone) {
  if (gcp::IsLocation(zone) && !IsRegion(zone)) return true;
  reader.Error(at, slot,
               fmt::format("`{}` is {}", zone, IsRegion(zone) ? "a region, not a zone" : "no zone"),
               IsRegion(zone) ? fmt::format("such as `{}-a`", zone) : "such as `europe-west4-a`");
  return false;
}

bool CheckProject(ValueReader& reader, const YamlNode& at, const Slot& slot,
                  std::string_view project) {
  if (gcp::IsProjectId(project)) return true;
  reader.Error(at, slot, fmt::format("`{}` is no project id", project),
               "lower-case letters, digits and -");
  return false;
}

namespace {

constexpr std::size_t kShortestWord = 3;  // below, everything is near everything

// "zoen" and "zone".
bool HasTwoExchanged(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin());
  const auto at = static_cast<std::size_t>(in_a - a.begin());
  return at + 1 < a.size() && a[at] == b[at + 1] && a[at + 1] == b[at] &&
         a.substr(at + 2) == b.substr(at + 2);
}

std::string OnlyByPrefix(const std::string& word, const std::vector<std::string>& known) {
  std::string found;
  for (const std::string& candidate : known) {
    const std::string bare = BareWord(candidate);
    const bool is_prefix =
        bare.starts_with(word) || (bare.size() > kShortestWord && word.starts_with(bare));
    if (!is_prefix) continue;
    if (!found.empty()) return {};
    found = candidate;
  }
  return found;
}

}  // namespace

std::string BareWord(std::string_view word) {
  std::string bare;
  for (char c : word) {
    if (c != '_' && c != '-') {
      bare += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return bare;
}

std::string SuggestWord(std::string_view word, const std::vector<std::string>& known) {
  const std::string bare = BareWord(word);
  for (const std::string& candidate : known) {
    if (!bare.empty() && BareWord(candidate) == bare) return candidate;
  }
  if (bare.size() < kShortestWord) return {};
  for (const std::string& candidate : known) {
    if (HasTwoExchanged(bare, BareWord(candidate))) return candidate;
  }
  const std::string near = NearestWord(word, known);
  return near.empty() ? OnlyByPrefix(bare, known) : near;
}

}  // namespace podctl
