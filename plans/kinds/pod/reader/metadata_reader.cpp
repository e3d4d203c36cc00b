#include "plans/kinds/pod/reader/metadata_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "plans/spec/local_files.h"
#include "plans/spec/references.h"
#include "plans/spec/runtime_flags.h"

namespace podctl {
namespace {

constexpr TextRules kGuestText{.pods = true, .secrets = true};

const std::vector<std::string>& SourceKeys() {
  static const std::vector<std::string> keys = {"value", "file", "env", "sensitive"};
  return keys;
}

bool IsMetadataKey(std::string_view key) {
  constexpr std::size_t kLongest = 128;  // Compute Engine: [a-zA-Z0-9-_]{1,128}
  return !key.empty() && key.size() <= kLongest &&
         std::all_of(key.begin(), key.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
}

}  // namespace

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
  std::optional<TextValue> value;
  if (entry.value->is_map()) {
    value = ReadSource(*entry.value, slot);
  } else if (entry.value->is_scalar()) {
    value = reader_.ReadText(*entry.value, slot, kGuestText);
  } else {
    reader_.Error(*entry.value, slot,
                  fmt::format("`{}` must be text, found {}", key, FoundWords(*entry.value)),
                  "or {file: PATH}, or {env: NAME}");
  }
  if (value) {
    pod_.metadata[key] = {std::move(value->text), value->sensitive, entry.key->Place()};
  }
}

// {value: text}, {file: path} or {env: NAME}, each with `sensitive`.
std::optional<TextValue> MetadataReader::ReadSource(const YamlNode& map, const Slot& slot) {
  bool sensitive = false;
  const YamlEntry* source = nullptr;
  bool ok = true;
  for (const YamlEntry& entry : map.entries) {
    const std::string& key = entry.key->text;
    const auto& known = SourceKeys();
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      reader_.UnknownKey(*entry.key, slot.Path(), known);
      ok = false;
    } else if (key == "sensitive") {
      sensitive = reader_.ReadBool(*entry.value, slot.Below(key)).value_or(true);
    } else if (source != nullptr) {
      reader_.Conflict(*entry.key, slot.Below(key),
                       fmt::format("`{}` and `{}` exclude each other", source->key->text, key),
                       *source->key, fmt::format("`{}` is set here", source->key->text));
      ok = false;
    } else {
      source = &entry;
    }
  }
  if (source == nullptr && ok) {
    reader_.Error(map, slot, fmt::format("`{}` has no value", slot.key),
                  "one of `value`, `file`, `env`");
  }
  if (source == nullptr || !ok) return std::nullopt;

  const Slot below = slot.Below(source->key->text);
  if (source->key->text == "value") {
    reader_.HideSource(sensitive);
    auto value = reader_.ReadText(*source->value, below, kGuestText);
    reader_.HideSource(false);
    if (value) value->sensitive = value->sensitive || sensitive;
    return value;
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
  return TextValue{EscapeTemplate(*text), sensitive};
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

}  // namespace podctl
