#include "plans/kinds/file/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "plans/kinds/file/record.h"
#include "plans/spec/local_files.h"
#include "plans/spec/value_reader.h"
#include "providers/base/text.h"
#include "state/thing_name.h"

namespace podctl {
namespace {

constexpr int kUsualMode = 0644;
constexpr int kSensitiveMode = 0600;
constexpr int kOthers = 0077;

constexpr Pattern kMode{"0?[4-7][0-7]{2}", "three octal digits, such as 0644", "integer"};

// Whether one of its parts is "..", or it names no file.
bool LeadsAway(const std::string& path) {
  return ("/" + path + "/").find("/../") != std::string::npos;
}
bool NamesNoFile(const std::string& path) {
  const bool other_home = path.starts_with('~') && !path.starts_with("~/");
  return other_home || path.empty() || path.ends_with('/') || path == "." || path.ends_with("/.") ||
         path == ".." || path.ends_with("/..");
}

void ReadPath(const YamlNode& node, const Slot& slot, ValueReader& reader, FileSpec* file) {
  const auto text = reader.ReadPlain(node, slot);
  if (!text) return;
  if (VisibleControls(*text) != *text || text->find('\t') != std::string::npos) {
    return reader.Error(node, slot, "a control character in the name of a file",
                        "write the path without it");
  }
  if (NamesNoFile(*text)) {
    return reader.Error(node, slot, fmt::format("{} names no file", FoundWords(node)));
  }
  const bool is_absolute = text->starts_with('/') || text->starts_with("~/");
  if (!is_absolute && LeadsAway(*text)) {
    return reader.Error(node, slot,
                        fmt::format("{} leads out of the spec's folder", FoundWords(node)),
                        "write an absolute path");
  }
  if (("/" + *text).find("/podctl.state.json") != std::string::npos) {
    return reader.Error(node, slot, fmt::format("{} is podctl's own", FoundWords(node)),
                        "the state, its lock and its history are no place for a file");
  }
  // What is written there git runs, or podctl believes.
  for (const char* folder : {".git", ".podctl"}) {
    if (("/" + *text).find(fmt::format("/{}/", folder)) == std::string::npos) continue;
    return reader.Error(node, slot,
                        fmt::format("{} is below a folder `{}`", FoundWords(node), folder),
                        "that is git's own, or podctl's: write the file elsewhere");
  }
  file->path = PathFromSpec(node, *text);
  file->written = file->path;
  if (is_absolute) return;
  file->folder = FolderOf(PathFromSpec(node, "x"));
  file->written = file->folder == "." ? file->path : file->path.substr(file->folder.size() + 1);
}

void ReadContent(const YamlNode& node, const Slot& slot, ValueReader& reader, FileSpec* file) {
  const auto content = reader.ReadText(node, slot, {.pods = true, .things = true, .secrets = true});
  if (!content) return;
  file->content = content->text;
  file->sensitive = content->sensitive;
}

std::optional<int> ReadMode(const YamlNode& node, const Slot& slot, ValueReader& reader) {
  const auto text = reader.ReadPlain(node, slot);
  if (!text) return std::nullopt;
  constexpr std::size_t kFewest = 3;
  constexpr std::size_t kMost = 4;
  const bool is_octal =
      std::all_of(text->begin(), text->end(), [](char c) { return c >= '0' && c <= '7'; });
  const bool is_mode = is_octal && text->size() >= kFewest && text->size() <= kMost &&
                       (text->size() == kFewest || text->front() == '0');
  constexpr int kOwnerReads = 0400;
  if (is_mode && (std::stoi(*text, nullptr, 8) & kOwnerReads) == 0) {
    reader.Error(node, slot,
                 fmt::format("with {} podctl could not read its own file", FoundWords(node)),
                 "let the owner read it: `0600`");
    return std::nullopt;
  }
  if (!is_mode) {
    reader.Error(node, slot, fmt::format("{} is no mode of a file", FoundWords(node)),
                 "three octal digits, such as `0644`");
    return std::nullopt;
  }
  return std::stoi(*text, nullptr, 8);
}

}  // namespace

const Shape& FileShape() {
  static const Shape file =
      shape::Map(
          {shape::Required("path",
                           "Where it is written. A relative one starts at the spec's folder "
                           "and cannot leave it.",
                           shape::Text().Within(1, 0)),
           shape::Required("content", "The text, which may refer to what is made.",
                           shape::ThingText()),
           {"mode",
            "Three octal digits: `0644` unless given, `0600` where the content is sensitive.",
            shape::Text().Like(kMode)}})
          .Named("file");
  return file;
}

FileSpec ReadFile(const YamlEntry& entry, const Section& section) {
  ValueReader& reader = section.reader;
  const YamlNode& key = *entry.key;
  const YamlNode& node = *entry.value;
  const Slot slot{section.key, key.text};
  FileSpec file;
  file.name = key.text;
  if (!IsThingName(key.text)) {
    reader.Error(key, slot, fmt::format("{} is no name for a file", FoundWords(key)),
                 "letters, digits, - and _");
  }
  if (!reader.ExpectMap(node, slot)) return file;
  std::optional<int> mode;
  const YamlNode* mode_node = nullptr;
  for (const YamlEntry& member : node.entries) {
    const Slot below = slot.Below(member.key->text);
    if (reader.KnownKey(*member.key, slot.Path(), FileShape()) == nullptr) continue;
    if (member.key->text == "path") {
      ReadPath(*member.value, below, reader, &file);
    } else if (member.key->text == "content") {
      ReadContent(*member.value, below, reader, &file);
    } else {
      mode_node = member.value.get();
      mode = ReadMode(*mode_node, below, reader);
    }
  }
  for (const Key& needed : FileShape().keys) {
    if (!needed.required || node.Find(needed.name) != nullptr) continue;
    reader.Error(key, slot, fmt::format("the file has no `{}`", needed.name));
  }
  if (mode && file.sensitive && (*mode & kOthers) != 0) {
    reader.Error(*mode_node, slot.Below("mode"),
                 "the content is sensitive, and others could read it", "write `0600`, or no mode");
  }
  file.mode = mode.value_or(file.sensitive ? kSensitiveMode : kUsualMode);
  return file;
}

}  // namespace podctl
