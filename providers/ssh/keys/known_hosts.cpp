#include "providers/ssh/keys/known_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "providers/base/digest.h"
#include "providers/base/encoding.h"
#include "providers/base/text.h"
#include "providers/ssh/keys/host_key.h"
#include "providers/ssh/keys/wire.h"

namespace podctl::ssh {
namespace {

constexpr std::size_t kMostLines = std::size_t{64} * 1024;
constexpr std::uint64_t kLargestFile = 16U << 20;  // bytes
constexpr std::size_t kHashSize = 20;              // SHA-1
constexpr std::string_view kHashMark = "|1|";

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// Cuts the first word off.
std::string_view TakeWord(std::string_view& text) {
  text = TrimBlanks(text);
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

// "|1|salt|hash": the hash is HMAC-SHA1 of the name under the salt.
bool MatchesHash(std::string_view field, std::string_view name) {
  field.remove_prefix(kHashMark.size());
  const std::size_t bar = field.find('|');
  if (bar == std::string_view::npos) return false;
  const auto salt = Base64Decode(field.substr(0, bar));
  const auto hash = Base64Decode(field.substr(bar + 1));
  if (!salt || !hash || salt->size() != kHashSize || hash->size() != kHashSize) return false;
  return *hash == HmacSha1(*salt, name);
}

// * stands for any text, ? for one character. One pass that goes back to the last * on a misfit, so
// that no pattern takes longer than pattern times name.
bool MatchesPattern(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t after_star = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// `name`, which begins with the alias "tpu.<node id>-<worker>", is that, or, where the API showed
// gcloud the key, that and "-" and the key's last 6 letters.
bool IsAlias(std::string_view name, std::string_view alias, std::string_view key) {
  constexpr std::size_t kLetters = 6;
  const std::string_view rest = name.substr(alias.size());
  return rest.empty() || (rest.size() == kLetters + 1 && rest[0] == '-' &&
                          LowerCase(key).ends_with(rest.substr(1)));
}

}  // namespace

std::string KnownHostsName(std::string_view host, int port) {
  constexpr int kUsualPort = 22;
  return port == kUsualPort ? std::string(host) : fmt::format("[{}]:{}", host, port);
}

std::optional<KnownHosts::Line> KnownHosts::ReadLine(std::string_view text, std::string place) {
  Line line{Marker::kNone, {}, {}, std::move(place)};
  std::string_view word = TakeWord(text);
  if (word.empty() || word[0] == '#') return std::nullopt;
  if (word[0] == '@') {
    if (word != "@revoked" && word != "@cert-authority") return std::nullopt;
    line.marker = word == "@revoked" ? Marker::kRevoked : Marker::kAuthority;
    word = TakeWord(text);
  }
  line.hosts = word.starts_with(kHashMark) ? std::string(word) : LowerCase(word);
  const auto key = ParseHostKey(text);
  if (!key || line.hosts.empty()) return std::nullopt;
  line.key = FormatHostKey(key->blob);
  return line;
}

void KnownHosts::Add(std::string_view text, std::string_view label) {
  for (std::size_t number = 1; !text.empty() && lines_.size() < kMostLines; ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    auto line = ReadLine(text.substr(0, end), fmt::format("{}:{}", label, number));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line) continue;
    const bool plain =
        line->marker == Marker::kNone && line->hosts.find_first_of("*?!,|") == std::string::npos;
    if (plain) {
      by_name_.emplace(line->hosts, lines_.size());
    } else {
      others_.push_back(lines_.size());
    }
    lines_.push_back(*std::move(line));
  }
}

bool KnownHosts::Matches(std::string_view hosts, std::string_view name) {
  if (hosts.starts_with(kHashMark)) return MatchesHash(hosts, name);
  bool matches = false;
  while (!hosts.empty()) {
    std::string_view pattern = hosts.substr(0, hosts.find(','));
    hosts.remove_prefix(std::min(pattern.size() + 1, hosts.size()));
    const bool negated = pattern.starts_with('!');
    if (negated) pattern.remove_prefix(1);
    if (!MatchesPattern(pattern, name)) continue;
    if (negated) return false;
    matches = true;
  }
  return matches;
}

void KnownHosts::Note(const Line& line, Found& found) {
  switch (line.marker) {
    case Marker::kRevoked:
      found.revoked.push_back(line.key);
      return;
    case Marker::kAuthority:
      if (found.authority.empty()) found.authority = line.place;
      return;
    case Marker::kNone:
      if (found.keys.empty()) found.place = line.place;
      if (std::find(found.keys.begin(), found.keys.end(), line.key) == found.keys.end()) {
        found.keys.push_back(line.key);
      }
  }
}

KnownHosts::Found KnownHosts::Find(std::string_view name, std::string_view gcloud_alias) const {
  Found found;
  const std::string wanted = LowerCase(name);
  std::vector<std::size_t> hits;
  const auto [first, last] = by_name_.equal_range(wanted);
  for (auto it = first; it != last; ++it) hits.push_back(it->second);
  const std::string alias = LowerCase(gcloud_alias);
  for (auto it = by_name_.lower_bound(alias);
       !alias.empty() && it != by_name_.end() && it->first.starts_with(alias); ++it) {
    if (IsAlias(it->first, alias, lines_[it->second].key)) hits.push_back(it->second);
  }
  for (const std::size_t index : others_) {
    if (Matches(lines_[index].hosts, wanted)) hits.push_back(index);
  }
  std::sort(hits.begin(), hits.end());
  for (const std::size_t index : hits) Note(lines_[index], found);
  return found;
}

void KnownHostsFiles::Load() {
  std::vector<std::pair<std::string, std::string>> paths;  // path, label
  const auto home = environment_.Get("HOME");
  for (const char* name : {".ssh/known_hosts", ".ssh/google_compute_known_hosts"}) {
    if (home && !home->empty()) {
      paths.emplace_back(fmt::format("{}/{}", *home, name), fmt::format("~/{}", name));
    }
  }
  paths.emplace_back("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts");
  for (const auto& [path, label] : paths) {
    const Result<std::string> text = files_.Read(path, kLargestFile);
    if (text) {
      known_.Add(*text, label);
    } else if (text.error().code != ErrorCode::kNotFound && unreadable_.empty()) {
      unreadable_ = fmt::format("{}, and it may revoke keys", text.error().message);
    }
  }
}

void KnownHostsFiles::Consult(WorkerAccess& worker) {
  const std::lock_guard lock(mutex_);
  if (!loaded_) Load();
  loaded_ = true;
  // ssh reads the files itself, and can check what a certificate authority has signed.
  const bool own = !worker.use_openssh;
  if (own && worker.distrust.empty()) worker.distrust = unreadable_;
  KnownHosts::Found found =
      known_.Find(KnownHostsName(worker.host, worker.port), worker.gcloud_alias);
  if (worker.revoked_keys.empty()) worker.revoked_keys = std::move(found.revoked);
  if (!worker.host_keys.empty()) return;
  worker.host_keys = std::move(found.keys);
  worker.host_keys_from = found.place;
  if (own && worker.host_keys.empty() && !found.authority.empty() && worker.distrust.empty()) {
    worker.distrust = fmt::format(
        "{} has a certificate authority for it, and podctl's own SSH cannot check host "
        "certificates: write `ssh: {{transport: openssh}}`",
        found.authority);
  }
}

}  // namespace podctl::ssh
