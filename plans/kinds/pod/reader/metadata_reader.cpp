#include "plans/kinds/pod/reader/metadata_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "plans/kinds/pod/reader/node_fields.h"
#include "plans/kinds/pod/reader/pod_shape.h"
#include "plans/spec/local_files.h"
#include "plans/spec/references.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/encoding.h"
#include "providers/base/ssh_key_lines.h"
#include "providers/base/text.h"
#include "providers/gcp/secret_name.h"
#include "providers/ssh/keys/wire.h"

namespace podctl {
namespace {

constexpr TextRules kGuestText{.pods = true, .secrets = true};

TextRules RulesOf(const std::string& key) {
  TextRules rules = kGuestText;
  if (IsExecutedByGuest(key)) rules.use = ReferenceUse::kGuestScript;
  if (key == kRuntimeVariablesKey) rules.use = ReferenceUse::kDockerText;
  return rules;
}

bool IsMetadataKey(std::string_view key) {
  constexpr std::size_t kLongest = 128;  // Compute Engine: [a-zA-Z0-9-_]{1,128}
  return !key.empty() && key.size() <= kLongest &&
         std::all_of(key.begin(), key.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

std::optional<MetadataEntry> EntryOf(std::optional<TextValue> value) {
  if (!value) return std::nullopt;
  return MetadataEntry{std::move(value->text), value->sensitive, {}};
}

}  // namespace

bool IsExecutedByGuest(std::string_view key) {
  return key.ends_with("-script") || key == "user-data";
}

void MetadataReader::Read(const YamlNode& pod, const std::string& context) {
  if (const YamlEntry* metadata = pod.Find("metadata")) {
    const Slot slot{context, "metadata"};
    if (reader_.ExpectMap(*metadata->value, slot)) {
      for (const YamlEntry& entry : metadata->value->entries) {
        ReadEntry(entry, slot.Below(entry.key->text));
      }
    }
  }
  if (const YamlEntry* flags = pod.Find("libtpuFlags")) {
    ReadFlags(*flags, {context, "libtpuFlags"});
  }
  if (const YamlEntry* variables = pod.Find("runtimeEnv")) {
    ReadVariables(*variables, {context, "runtimeEnv"}, pod.Find("libtpuFlags") != nullptr);
  }
  Compose(pod, context);
}

void MetadataReader::ReadEntry(const YamlEntry& entry, const Slot& slot) {
  const std::string& key = entry.key->text;
  if (!IsMetadataKey(key)) {
    reader_.Error(*entry.key, slot, fmt::format("{} is no metadata key", FoundWords(*entry.key)),
                  "letters, digits, - and _");
    return;
  }
  std::optional<MetadataEntry> value;
  if (entry.value->is_map()) {
    value = ReadSource(*entry.value, slot);
  } else if (entry.value->is_scalar()) {
    value = EntryOf(reader_.ReadText(*entry.value, slot, RulesOf(key)));
  } else {
    reader_.Error(*entry.value, slot,
                  fmt::format("`{}` must be text, found {}", key, FoundWords(*entry.value)),
                  "or {file: PATH}, {env: NAME}, {secret: projects/P/secrets/S}");
  }
  if (!value) return;
  // What cannot be read of a secret is told at its name.
  if (!value->secret) value->place = entry.key->Place();
  pod_.metadata[key] = *std::move(value);
}

// {value: text}, {file: path} or {env: NAME}, each with `sensitive`, or {secret: name}.
std::optional<MetadataEntry> MetadataReader::ReadSource(const YamlNode& map, const Slot& slot) {
  bool sensitive = false;
  const YamlEntry* source = nullptr;
  const YamlEntry* shown = nullptr;  // `sensitive: false`
  bool ok = true;
  for (const YamlEntry& entry : map.entries) {
    const std::string& key = entry.key->text;
    if (reader_.KnownKey(*entry.key, slot.Path(), MetadataSourceShape()) == nullptr) {
      ok = false;
    } else if (key == "sensitive") {
      sensitive = reader_.ReadBool(*entry.value, slot.Below(key)).value_or(true);
      if (!sensitive) shown = &entry;
    } else if (source != nullptr) {
      ReportExclusive(reader_, entry, slot, *source);
      ok = false;
    } else {
      source = &entry;
    }
  }
  if (source == nullptr && ok) {
    reader_.Error(map, slot, fmt::format("`{}` has no value", slot.key),
                  "one of `value`, `file`, `env`, `secret`");
  }
  if (source == nullptr || !ok) return std::nullopt;

  const Slot below = slot.Below(source->key->text);
  if (source->key->text == "value") {
    reader_.HideSource(sensitive);
    auto value = EntryOf(reader_.ReadText(*source->value, below, RulesOf(slot.key)));
    reader_.HideSource(false);
    if (value) value->sensitive = value->sensitive || sensitive;
    return value;
  }
  if (source->key->text == "secret") {
    if (shown != nullptr) {
      reader_.Error(*shown->value, slot.Below("sensitive"), "a secret is always sensitive",
                    "leave `sensitive` out");
    }
    return ReadSecret(*source->value, below);
  }
  const auto name = reader_.ReadPlain(*source->value, below);
  if (!name) return std::nullopt;
  std::optional<std::string> text;
  if (source->key->text == "file") {
    text =
        ReadTextFile(reader_, files_, *source->value, below, PathFromSpec(*source->value, *name));
  } else {
    text = reader_.environment().Get(*name);
    if (const std::string wrong = WhyNotReadable(*name, text.has_value()); !wrong.empty()) {
      reader_.Error(*source->value, below, wrong);
      return std::nullopt;
    }
  }
  if (!text) return std::nullopt;
  return MetadataEntry{EscapeTemplate(*text), sensitive, {}};
}

// Only its name: what it holds is read when there is a plan to be made of it.
std::optional<MetadataEntry> MetadataReader::ReadSecret(const YamlNode& node, const Slot& slot) {
  const auto text = reader_.ReadPlain(node, slot);
  if (!text) return std::nullopt;
  const auto name = gcp::ParseSecretName(*text);
  if (!name) {
    reader_.Error(node, slot, fmt::format("{} is not the name of a secret", FoundWords(node)),
                  "projects/PROJECT/secrets/SECRET, or with /versions/VERSION behind it: latest, "
                  "an alias, or a number from 1");
    return std::nullopt;
  }
  return MetadataEntry{"", true, node.Place(), name->Text()};
}

void MetadataReader::ReadFlags(const YamlEntry& flags, const Slot& slot) {
  if (!reader_.ExpectMap(*flags.value, slot)) return;
  std::map<std::string, std::string> words;
  for (const YamlEntry& entry : flags.value->entries) {
    std::string name = entry.key->text;
    const Slot below = slot.Below(name);
    if (name.starts_with("--")) name = name.substr(2);
    if (!IsFlagName(name)) {
      reader_.Error(*entry.key, below, fmt::format("{} is no flag's name", FoundWords(*entry.key)),
                    "such as `xla_jf_conv_full_precision`");
      continue;
    }
    const auto value = reader_.ReadText(*entry.value, below, kGuestText);
    if (!value) continue;
    if (value->text.find_first_of(" \t\r\n") != std::string::npos) {
      reader_.Error(*entry.value, below,
                    fmt::format("the flag `{}` has a blank in its value", name), "",
                    "libtpu reads its flags from one line, where blanks separate them.");
      continue;
    }
    runtime_is_sensitive_ = runtime_is_sensitive_ || value->sensitive;
    words[name] = value->text;
  }
  if (!words.empty()) pod_.runtime_env[std::string(kRuntimeFlagsVariable)] = JoinFlags(words);
}

void MetadataReader::ReadVariables(const YamlEntry& variables, const Slot& slot, bool has_flags) {
  if (!reader_.ExpectMap(*variables.value, slot)) return;
  for (const YamlEntry& entry : variables.value->entries) {
    const std::string& name = entry.key->text;
    const Slot below = slot.Below(name);
    if (!IsEnvironmentName(name)) {
      reader_.Error(*entry.key, below,
                    fmt::format("{} is no name for a variable", FoundWords(*entry.key)),
                    "letters, digits and _");
      continue;
    }
    if (name == kRuntimeFlagsVariable && has_flags) {
      reader_.Error(*entry.key, below,
                    fmt::format("`libtpuFlags` and `{}` exclude each other", name),
                    "write its flags under `libtpuFlags`");
      continue;
    }
    const auto value = reader_.ReadText(*entry.value, below, kGuestText);
    if (!value) continue;
    runtime_is_sensitive_ = runtime_is_sensitive_ || value->sensitive;
    pod_.runtime_env[name] = value->text;
  }
}

void MetadataReader::Compose(const YamlNode& pod, const std::string& context) {
  const YamlEntry* from = pod.Find("libtpuFlags");
  if (from == nullptr) from = pod.Find("runtimeEnv");
  if (from == nullptr) return;
  const std::string key(kRuntimeVariablesKey);
  if (const YamlEntry* metadata = pod.Find("metadata")) {
    if (const YamlEntry* written = metadata->value->Find(key)) {
      reader_.Conflict(*written->key, {context + ".metadata", key},
                       fmt::format("`{}` is made of `{}`", key, from->key->text), *from->key,
                       fmt::format("`{}` is set here", from->key->text));
      return;
    }
  }
  if (pod_.runtime_env.empty()) return;
  pod_.metadata[key] = {ComposeRuntimeVariables(pod_.runtime_env), runtime_is_sensitive_,
                        from->key->Place()};
}

namespace {

constexpr std::array<std::string_view, 7> kTypes = {"ssh-ed25519",
                                                    "ssh-rsa",
                                                    "ecdsa-sha2-nistp256",
                                                    "ecdsa-sha2-nistp384",
                                                    "ecdsa-sha2-nistp521",
                                                    "sk-ssh-ed25519@openssh.com",
                                                    "sk-ecdsa-sha2-nistp256@openssh.com"};
constexpr std::string_view kPrivate = "PRIVATE KEY";

bool BeginsWithType(std::string_view text) {
  return std::any_of(kTypes.begin(), kTypes.end(), [&](std::string_view type) {
    return text.starts_with(type) && text.substr(type.size()).starts_with(' ');
  });
}

// Where the key begins in "user:ssh-ed25519 …" and "ssh-ed25519 …"; npos where none does.
std::size_t KeyBegin(std::string_view text) {
  if (BeginsWithType(text)) return 0;
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || !BeginsWithType(text.substr(colon + 1))) {
    return std::string_view::npos;
  }
  return colon + 1;
}

// The blob says its type once more.
bool IsWhole(const SshKeyLine& key) {
  const auto blob = Base64Decode(key.blob);
  if (!blob) return false;
  ssh::WireReader wire(*blob);
  const std::string_view type = wire.String();
  return wire.ok() && type == key.type && !wire.rest().empty();
}

}  // namespace

bool IsUserName(std::string_view name) {
  return !name.empty() && name[0] != '-' && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

void PublishKeysReader::Read(const YamlNode& list, const Slot& slot) {
  if (!reader_.ExpectList(list, slot)) return;
  for (const YamlNodePtr& item : list.items) ReadItem(*item, slot);
}

void PublishKeysReader::Check(const YamlNode& pod, const std::string& context) {
  const YamlEntry* ssh = pod.Find("ssh");
  const YamlEntry* metadata = pod.Find("metadata");
  if (ssh == nullptr || metadata == nullptr) return;
  const YamlEntry* keys = ssh->value->Find("publishKeys");
  const YamlEntry* written = metadata->value->Find(kSshKeys);
  if (keys == nullptr || written == nullptr) return;
  reader_.Conflict(*keys->key, {context + ".ssh", "publishKeys"},
                   "`publishKeys` adds lines to `ssh-keys`, which the spec writes itself",
                   *written->key, "`ssh-keys` is set here");
}

void PublishKeysReader::ReadItem(const YamlNode& item, const Slot& slot) {
  if (item.is_map()) return ReadMap(item, slot);
  // What stands here may be a private key, by mistake.
  reader_.HideSource(item.text.find(kPrivate) != std::string::npos);
  if (const auto text = reader_.ReadPlain(item, slot)) {
    const std::string line(TrimBlanks(*text));
    if (KeyBegin(line) != std::string::npos || line.find(kPrivate) != std::string::npos) {
      TakeKey(item, slot, line, "", "");
    } else {
      ReadFile(item, slot, line, "");
    }
  }
  reader_.HideSource(false);
}

void PublishKeysReader::ReadMap(const YamlNode& map, const Slot& slot) {
  std::optional<std::string> path;
  std::string user;
  const YamlNode* file = nullptr;
  for (const YamlEntry& entry : map.entries) {
    const Slot below = slot.Below(entry.key->text);
    if (reader_.KnownKey(*entry.key, slot.Path(), PublishedKeyShape()) == nullptr) continue;
    if (entry.key->text == "file") {
      file = entry.value.get();
      path = reader_.ReadPlain(*entry.value, below);
    } else {
      user = reader_.ReadPlain(*entry.value, below).value_or("");
      if (!IsUserName(user)) {
        reader_.Error(*entry.value, below,
                      fmt::format("{} is no user's name", FoundWords(*entry.value)),
                      "letters, digits and - _ .");
        return;
      }
    }
  }
  if (file == nullptr) {
    reader_.Error(map, slot, "this entry names no file", "{file: keys/carol.pub, user: carol}");
  } else if (path) {
    ReadFile(*file, slot.Below("file"), *path, user);
  }
}

void PublishKeysReader::ReadFile(const YamlNode& at, const Slot& slot, const std::string& path,
                                 const std::string& user) {
  const auto text = ReadTextFile(reader_, files_, at, slot, PathFromSpec(at, path));
  if (!text) return;
  std::size_t number = 0;
  std::size_t keys = 0;
  for (const std::string& each : SplitLines(*text)) {
    ++number;
    const std::string line(TrimBlanks(each));
    if (line.empty() || line.starts_with('#')) continue;
    if (++keys; text->find(kPrivate) != std::string::npos) {
      reader_.Error(at, slot, fmt::format("{} holds a private key", VisibleControls(path)),
                    fmt::format("{}.pub", VisibleControls(path)));
      return;
    }
    TakeKey(at, slot, line, user, fmt::format("line {} of {}", number, VisibleControls(path)));
  }
  if (keys == 0) {
    reader_.Error(at, slot, fmt::format("{} holds no key", VisibleControls(path)));
  }
}

void PublishKeysReader::TakeKey(const YamlNode& at, const Slot& slot, const std::string& line,
                                const std::string& user, const std::string& where) {
  const std::string what = where.empty() ? "this" : where;
  const auto begin = KeyBegin(line);
  std::string name = begin == 0 || begin == std::string::npos ? user : line.substr(0, begin - 1);
  if (name.empty()) name = pod_.ssh.user;
  const bool printable =
      std::none_of(line.begin(), line.end(), [](unsigned char c) { return std::iscntrl(c) != 0; });
  const auto key = begin == std::string::npos || !printable
                       ? std::nullopt
                       : ParseSshKeyLine("x:" + line.substr(begin));
  if (!key || !IsWhole(*key)) {
    reader_.Error(at, slot, fmt::format("{} is no public key", what),
                  "USER:TYPE BASE64 COMMENT, as a .pub file has it after USER:");
  } else if (name.empty()) {
    reader_.Error(at, slot, fmt::format("{} does not say whose account it opens", what),
                  where.empty() ? "write `USER:` before the key, or set `ssh.user`"
                                : "{file: PATH, user: NAME}, or set `ssh.user`");
  } else if (!IsUserName(name) || (!user.empty() && name != user)) {
    reader_.Error(at, slot,
                  IsUserName(name)
                      ? fmt::format("{} is of `{}`, and `user` says `{}`", what, name, user)
                      : fmt::format("{} begins with no user's name", what),
                  "letters, digits and - _ .");
  } else {
    pod_.team_keys.push_back(name + ":" + line.substr(begin));
  }
}

}  // namespace podctl
