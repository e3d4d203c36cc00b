#include "plans/kinds/pod/published_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "plans/kinds/pod/diff.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/spec.h"
#include "providers/base/encoding.h"
#include "providers/base/ssh_key_lines.h"
#include "providers/base/text.h"
#include "providers/slices.h"
#include "providers/ssh/keys/wire.h"

namespace podctl {
namespace {

constexpr std::string_view kPath = "metadata.ssh-keys";

const std::string& TextIn(const Value& metadata) {
  return metadata[kSshKeys].AsString();
}

// Where the spec writes the entry, it is a metadata entry like any other; under OS Login the
// workers do not read it.
bool PublishesOn(const PodSpec& pod) {
  return !pod.metadata.contains(kSshKeys) && !pod.ssh.os_login_user && !IsIgnored(pod, kPath);
}

bool HoldsOneOf(const std::vector<std::string>& lines, std::string_view line) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& each) { return HoldsSshKey(each, line); });
}

// The line of `own` that `text` holds; any lets its owner in.
std::string KeyIn(const std::string& text, const std::vector<std::string>& own) {
  for (const std::string& line : own) {
    if (HoldsSshKey(text, line)) return line;
  }
  return {};
}

std::vector<std::string> ToAdd(const PodSpec& pod, const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : pod.team_keys) {
    if (!HoldsSshKey(text, line) && !HoldsOneOf(lines, line)) lines.push_back(line);
  }
  for (const auto* own : {&pod.own_keys, &pod.applier_keys}) {
    const bool let_in = std::any_of(own->begin(), own->end(), [&](const std::string& line) {
      return HoldsSshKey(text, line) || HoldsOneOf(lines, line);
    });
    if (!let_in && !own->empty()) lines.push_back(own->front());
  }
  return lines;
}

std::vector<std::string> ToRemove(const PodSpec& pod, const PodRecord* record,
                                  const std::string& text) {
  std::vector<std::string> lines;
  if (record == nullptr) return lines;
  const auto judge = [&](const std::string& line) {
    const bool wanted = HoldsOneOf(pod.team_keys, line) || HoldsOneOf(pod.own_keys, line) ||
                        HoldsOneOf(pod.applier_keys, line);
    if (!wanted && HoldsSshKey(text, line) && !HoldsOneOf(lines, line)) lines.push_back(line);
  };
  for (const std::string& line : record->team_keys) judge(line);
  // The spec wrote the whole entry until now.
  const auto whole = record->metadata.find(kSshKeys);
  if (whole != record->metadata.end() && !IsRememberedDigest(whole->second)) {
    for (const std::string& line : SplitSshKeyLines(whole->second)) judge(line);
  }
  return lines;
}

// A user with several keys in one list is told apart by them.
std::vector<AttributeChange> Lines(const std::vector<std::string>& gone,
                                   const std::vector<std::string>& added) {
  std::vector<AttributeChange> changes;
  std::set<std::string> paths;
  const auto add = [&](const std::string& line, bool is_new) {
    AttributeChange change;
    change.path = fmt::format("{}[{}]", kPath, KeyUser(line));
    const std::string words = KeyWords(line);
    if (!paths.insert(change.path).second) {
      const std::vector<std::string> parts = SplitWords(words);  // none, where it is no key
      change.path.insert(change.path.size() - 1, " " + (parts.size() > 1 ? parts[1] : line));
    }
    (is_new ? change.after : change.before) = Value(words);
    changes.push_back(std::move(change));
  };
  for (const std::string& line : gone) add(line, false);
  for (const std::string& line : added) add(line, true);
  return changes;
}

}  // namespace

std::string KeysAtCreate(const PodSpec& pod) {
  std::string text;
  if (pod.metadata.contains(kSshKeys) || pod.ssh.os_login_user) return text;
  for (const std::string& line : ToAdd(pod, text)) text = WithSshKey(std::move(text), line);
  return text;
}

std::vector<AttributeChange> DiffKeys(const PodSpec& pod, const PodRecord* record,
                                      const Value& observed) {
  if (!PublishesOn(pod)) return {};
  const std::string& text = TextIn(observed["metadata"]);
  return Lines(ToRemove(pod, record, text), ToAdd(pod, text));
}

std::vector<AttributeChange> DriftOfKeys(const PodSpec& pod, const PodRecord& record,
                                         const Value& observed) {
  if (record.ssh.os_login_user || IsIgnored(pod, kPath)) return {};
  const std::string& text = TextIn(observed["metadata"]);
  std::vector<std::string> gone;
  for (const auto* lines : {&record.team_keys, &record.own_keys}) {
    for (const std::string& line : *lines) {
      if (!HoldsSshKey(text, line)) gone.push_back(line);
    }
  }
  return Lines(gone, {});
}

std::vector<int> SlicesWithoutKeys(const PodRecord& record, const Value& observed) {
  std::vector<int> slices;
  for (const auto& [slice, keys] : observed[kSliceKeys].AsMap()) {
    const auto& text = keys.AsString();
    const auto lacks = [&](const std::vector<std::string>& lines) {
      return std::any_of(lines.begin(), lines.end(),
                         [&](const std::string& line) { return !HoldsSshKey(text, line); });
    };
    if (lacks(record.team_keys) || lacks(record.own_keys)) slices.push_back(std::stoi(slice));
  }
  std::sort(slices.begin(), slices.end());
  return slices;
}

bool IsKeyPath(std::string_view path) {
  return path.starts_with(kPath) && path.substr(kPath.size()).starts_with('[');
}

void MergeKeys(const PodSpec& pod, const PodRecord& record, Value* metadata) {
  if (!PublishesOn(pod)) return;
  std::string text = TextIn(*metadata);
  for (const std::string& line : ToRemove(pod, &record, text)) text = WithoutSshKey(text, line);
  for (const std::string& line : ToAdd(pod, text)) text = WithSshKey(std::move(text), line);
  if (text == TextIn(*metadata)) return;
  if (text.empty()) {
    metadata->Erase(kSshKeys);
  } else {
    metadata->Set(kSshKeys, text);
  }
}

void RememberKeys(const PodSpec& pod, const Value& metadata, PodRecord* record) {
  if (pod.metadata.contains(kSshKeys)) {
    record->team_keys.clear();
    record->own_keys.clear();
    return;
  }
  if (!PublishesOn(pod)) return;
  const std::string& text = TextIn(metadata);
  record->team_keys = pod.team_keys;
  std::vector<std::string> own;
  const auto keep = [&](const std::string& line) {
    const bool known = HoldsOneOf(pod.team_keys, line) || HoldsOneOf(own, line);
    if (!line.empty() && !known && HoldsSshKey(text, line)) own.push_back(line);
  };
  if (pod.publish_ssh_key) {
    for (const std::string& line : record->own_keys) keep(line);
  }
  keep(KeyIn(text, pod.own_keys));
  keep(KeyIn(text, pod.applier_keys));
  record->own_keys = std::move(own);
}

void ForgetKey(const AttributeChange& attribute, PodRecord* record) {
  if (!attribute.before) return;
  const std::string& words = attribute.before->AsString();
  for (auto* lines : {&record->team_keys, &record->own_keys}) {
    std::erase_if(*lines, [&](const std::string& line) {
      const std::string path = fmt::format("{}[{}", kPath, KeyUser(line));
      return attribute.path.starts_with(path) && KeyWords(line) == words;
    });
  }
}

std::string RememberedKeys(const PodRecord& record) {
  std::string text;
  for (const auto* lines : {&record.team_keys, &record.own_keys}) {
    for (const std::string& line : *lines) text = WithSshKey(std::move(text), line);
  }
  return text;
}

std::vector<AttributeChange> KeyAttributes(std::string_view text) {
  return Lines({}, SplitSshKeyLines(text));
}

std::string KeyUser(std::string_view line) {
  const auto parsed = ParseSshKeyLine(line);
  return parsed ? parsed->user : std::string();
}

namespace {

std::string WordsOfKey(std::string_view line) {
  const auto parsed = ParseSshKeyLine(line);
  if (!parsed) return {};
  const auto blob = Base64Decode(parsed->blob);
  std::string words = fmt::format("{} {}", parsed->type, ssh::Fingerprint(blob.value_or("")));
  return parsed->comment.empty() ? words : words + " " + parsed->comment;
}

}  // namespace

std::string KeyWords(std::string_view line) {
  // The pods of a spec mostly publish one key: its digest is made once, not five thousand times.
  thread_local std::string last_line;
  thread_local std::string last_words;
  if (line != last_line) {
    last_words = WordsOfKey(line);
    last_line = line;
  }
  return last_words;
}

}  // namespace podctl
