#include "plans/spec/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "providers/base/text.h"
#include "providers/gcp/available_types.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

bool IsRegion(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos || text.rfind('-') != dash) return false;
  return gcp::IsLocation(text) && IsDigit(text.back());
}

namespace {

// "europe-west4-a": words, the last one of the region with a number, and a letter; some zones have
// more behind their dash ("us-south1-ai1b"). New ones come, so what looks like one may be one.
bool LooksLikeZone(std::string_view text) {
  const auto last = text.rfind('-');
  if (!gcp::IsLocation(text) || last == std::string_view::npos) return false;
  std::string_view suffix = text.substr(last + 1);
  if (suffix.starts_with("ai") && suffix.size() > 3 && IsDigit(suffix[2])) suffix.remove_prefix(3);
  if (suffix.size() != 1 || IsDigit(suffix[0])) return false;
  const std::string_view region = text.substr(0, last);
  const auto words = region.find_last_not_of("0123456789");
  if (words == std::string_view::npos || words + 1 == region.size()) return false;
  const std::string_view name = region.substr(0, words + 1);
  return name.find('-') != std::string_view::npos && !name.ends_with('-') &&
         name.find("--") == std::string_view::npos &&
         std::none_of(name.begin(), name.end(), IsDigit);
}

// Of a zone that is not known: what else its region has, or the zone that may be meant.
std::string OtherZone(std::string_view zone, const std::vector<std::string>& known) {
  const std::string region(zone.substr(0, zone.rfind('-') + 1));
  std::string listed;
  for (const std::string& each : known) {
    if (each.starts_with(region)) listed += fmt::format("{}`{}`", listed.empty() ? "" : ", ", each);
  }
  if (!listed.empty()) return "known there: " + listed;
  // By letters `eu-west4-a` is nearer to `us-west4-a` than to what it means.
  constexpr std::string_view kShort = "eu-";
  const std::string meant = zone.starts_with(kShort)
                                ? fmt::format("europe-{}", zone.substr(kShort.size()))
                                : std::string(zone);
  const std::string near = NearestWord(meant, known);
  return near.empty() ? "" : fmt::format("did you mean `{}`?", near);
}

}  // namespace

std::optional<ZoneProblem> JudgeZone(std::string_view zone) {
  if (gcp::IsLocation(zone) && IsRegion(zone)) {
    return ZoneProblem{true, fmt::format("`{}` is a region, not a zone", zone),
                       fmt::format("such as `{}-a`", zone)};
  }
  static const std::vector<std::string> known = gcp::KnownZones();
  if (std::binary_search(known.begin(), known.end(), zone)) return std::nullopt;
  if (LooksLikeZone(zone)) {
    return ZoneProblem{false, fmt::format("`{}` is no zone that podctl knows TPUs in", zone),
                       OtherZone(zone, known)};
  }
  const std::string near = SuggestWord(zone, known);
  return ZoneProblem{
      true, fmt::format("`{}` is no zone", zone),
      near.empty() ? "such as `europe-west4-a`" : fmt::format("did you mean `{}`?", near)};
}

Shape ZoneShape() {
  return shape::Text().Like(kZonePattern).Such(gcp::KnownZones()).Named("zone");
}

bool CheckZone(ValueReader& reader, const YamlNode& at, const Slot& slot, std::string_view zone) {
  const auto problem = JudgeZone(zone);
  if (!problem) return true;
  if (problem->is_error) {
    reader.Error(at, slot, problem->summary, problem->suggestion);
  } else {
    reader.Warn(at, slot, problem->summary, problem->suggestion);
  }
  return !problem->is_error;
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
