#include "plans/spec/yaml_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "plans/spec/yaml_events.h"

namespace podctl {
namespace {

constexpr std::string_view kMergeKey = "<<";
constexpr int kMostDuplicates = 200;  // reported for one file
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kFewKeys = 16;  // of a map: to be searched without an index

// Why there will be no tree. Thrown to leave the row of events; never leaves this file.
struct Refused {
  std::string summary;
  std::size_t offset = 0;
  std::string suggestion;
};

void Report(const SourceFile& file, const Refused& problem, Diagnostics& diagnostics) {
  Diagnostic diagnostic;
  diagnostic.summary = problem.summary;
  diagnostic.place = file.PlaceAt(problem.offset);
  diagnostic.source_line = file.ShownLine(diagnostic.place.line);
  diagnostic.suggestion = problem.suggestion;
  diagnostics.Add(std::move(diagnostic));
}

// How many bytes of the source a scalar takes on its first line.
std::size_t ScalarLength(const SourceFile& file, std::size_t offset, const std::string& text) {
  const std::string_view source = file.text();
  if (offset >= source.size()) return 1;
  if (source.substr(offset, text.size()) == text && !text.empty()) {
    return std::min(text.size(), text.find('\n'));
  }
  const char quote = source[offset];
  if (quote != '"' && quote != '\'') return 1;
  for (std::size_t i = offset + 1; i < source.size() && source[i] != '\n'; ++i) {
    if (quote == '"' && source[i] == '\\') {
      ++i;
    } else if (source[i] == quote) {
      return i - offset + 1;
    }
  }
  return 1;
}

bool IsNull(const YamlEvent& event) {
  constexpr std::array<std::string_view, 5> kNulls = {"", "~", "null", "Null", "NULL"};
  return event.plain_style && event.tag.empty() &&
         std::find(kNulls.begin(), kNulls.end(), event.text) != kNulls.end();
}

class TreeBuilder {
 public:
  TreeBuilder(const SourceFile& file, std::size_t skipped, const YamlLimits& limits,
              Diagnostics& diagnostics)
      : file_(file), skipped_(skipped), limits_(limits), diagnostics_(diagnostics) {}

  YamlNodePtr Take() { return std::move(root_); }

  void Add(YamlEvent event) {
    switch (event.kind) {
      case YamlEvent::Kind::kDocument:
        if (++documents_ > 1) {
          throw Refused{"a second document in one file", Offset(event),
                        "one file holds one document"};
        }
        return;
      case YamlEvent::Kind::kAlias:
        return AddAlias(event);
      case YamlEvent::Kind::kScalar:
        return IsNull(event) ? Place(Make(YamlNode::Kind::kNull, event), event.anchor)
                             : AddScalar(std::move(event));
      case YamlEvent::Kind::kListStart:
        return Open(YamlNode::Kind::kList, event);
      case YamlEvent::Kind::kMapStart:
        return Open(YamlNode::Kind::kMap, event);
      case YamlEvent::Kind::kEnd:
        return Close();
      case YamlEvent::Kind::kStreamEnd:
        return;
    }
  }

 private:
  struct Frame {
    std::shared_ptr<YamlNode> node;
    std::string anchor;
    YamlNodePtr key;  // of a map: read, its value not yet
    // Key -> entry, once there are more than a few. The texts are those of the entries' keys.
    std::unordered_map<std::string_view, std::size_t> index;
    std::vector<YamlEntry> merges;
  };

  std::size_t Offset(const YamlEvent& event) const { return event.offset + skipped_; }

  void AddAlias(const YamlEvent& event) {
    const auto it = anchors_.find(event.anchor);
    if (it == anchors_.end()) {
      throw Refused{"not valid YAML: the referenced anchor is not defined", Offset(event),
                    "a text that begins with `*` needs quotes"};
    }
    if (it->second == nullptr) {
      throw Refused{"an alias inside of what it names", Offset(event), "it would never end"};
    }
    CheckSize(it->second->size, Offset(event));
    if (frames_.size() + it->second->height > limits_.max_depth) RefuseDepth(Offset(event));
    Put(it->second);
  }

  void AddScalar(YamlEvent event) {
    auto node = Make(YamlNode::Kind::kScalar, event);
    CheckTag(event.tag, Offset(event));
    node->offset = SkipProperties(node->offset);
    node->plain = event.plain_style && event.tag.empty();
    const std::string_view source = file_.text();
    const char first = node->offset < source.size() ? source[node->offset] : '\0';
    node->block = !node->plain && (first == '|' || first == '>');
    node->length = node->block ? 1 : ScalarLength(file_, node->offset, event.text);
    node->text = std::move(event.text);
    Place(std::move(node), event.anchor);
  }

  [[noreturn]] void RefuseDepth(std::size_t offset) const {
    throw Refused{fmt::format("nested deeper than {} levels", limits_.max_depth), offset, ""};
  }

  void CheckSize(std::size_t more, std::size_t offset) {
    total_ += more;
    if (total_ > limits_.max_nodes) {
      throw Refused{fmt::format("more than {} values, aliases counted as often as they are used",
                                limits_.max_nodes),
                    offset, "the file is too large"};
    }
  }

  void CheckTag(const std::string& tag, std::size_t offset) const {
    constexpr std::string_view kStandard = "tag:yaml.org,2002:";
    if (tag.empty() || tag == "!") return;
    for (std::string_view known : {"str", "int", "bool", "float", "map", "seq"}) {
      if (tag == std::string(kStandard) + std::string(known)) return;
    }
    throw Refused{fmt::format("the YAML tag `{}` has no meaning here", tag), offset,
                  "leave it out"};
  }

  // An event begins at its anchor or tag; the value stands behind them.
  std::size_t SkipProperties(std::size_t offset) const {
    const std::string_view source = file_.text();
    constexpr int kMostProperties = 2;
    for (int i = 0; i < kMostProperties && offset < source.size(); ++i) {
      if (source[offset] != '&' && source[offset] != '!') break;
      const auto end = source.find_first_of(" \t\r\n", offset);
      const auto next = source.find_first_not_of(" \t\r\n", end);
      if (end == std::string_view::npos || next == std::string_view::npos) break;
      offset = next;
    }
    return offset;
  }

  std::shared_ptr<YamlNode> Make(YamlNode::Kind kind, const YamlEvent& event) {
    CheckSize(1, Offset(event));
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->file = &file_;
    node->offset = Offset(event);
    return node;
  }

  void Open(YamlNode::Kind kind, const YamlEvent& event) {
    if (frames_.size() >= limits_.max_depth) RefuseDepth(Offset(event));
    CheckTag(event.tag, Offset(event));
    Frame frame;
    frame.node = Make(kind, event);
    frame.anchor = event.anchor;
    if (!event.anchor.empty()) anchors_[event.anchor] = nullptr;
    frames_.push_back(std::move(frame));
  }

  void Close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (const YamlEntry& merge : frame.merges) Merge(frame, merge);
    for (const YamlEntry& entry : frame.node->entries) Count(*frame.node, *entry.value, 2);
    for (const YamlNodePtr& item : frame.node->items) Count(*frame.node, *item, 1);
    Place(std::move(frame.node), frame.anchor);
  }

  static void Count(YamlNode& parent, const YamlNode& child, std::size_t own) {
    parent.size += child.size + own - 1;
    parent.height = std::max(parent.height, child.height + 1);
  }

  void Place(std::shared_ptr<YamlNode> node, const std::string& anchor) {
    if (!anchor.empty()) anchors_[anchor] = node;
    Put(std::move(node));
  }

  // Hands a finished node to the map or list it stands in.
  void Put(YamlNodePtr node) {
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node->is_list()) {
      frame.node->items.push_back(std::move(node));
    } else if (frame.key == nullptr) {
      if (!node->is_scalar()) {
        throw Refused{node->is_null() ? "a key is missing" : "a key must be plain text",
                      node->offset, ""};
      }
      frame.key = std::move(node);
    } else if (node->is_null() && frame.key->text != kMergeKey) {
      // What is not there has no place of its own.
      auto null = std::make_shared<YamlNode>(*node);
      null->offset = frame.key->offset;
      null->length = frame.key->length;
      AddEntry(frame, {std::exchange(frame.key, nullptr), std::move(null)});
    } else if (frame.key->plain && frame.key->text == kMergeKey) {
      frame.merges.push_back({std::exchange(frame.key, nullptr), std::move(node)});
    } else {
      AddEntry(frame, {std::exchange(frame.key, nullptr), std::move(node)});
    }
  }

  // Where the map has this key already; nullptr: nowhere, and it is added.
  static const YamlNode* FindOrAdd(Frame& frame, YamlEntry entry) {
    std::vector<YamlEntry>& entries = frame.node->entries;
    if (entries.size() < kFewKeys) {
      if (const YamlEntry* known = frame.node->Find(entry.key->text)) return known->key.get();
    } else {
      if (frame.index.empty()) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
          frame.index.emplace(entries[i].key->text, i);
        }
      }
      const auto [it, is_new] = frame.index.emplace(entry.key->text, entries.size());
      if (!is_new) return entries[it->second].key.get();
    }
    entries.push_back(std::move(entry));
    return nullptr;
  }

  void AddEntry(Frame& frame, const YamlEntry& entry) {
    const YamlNode* first = FindOrAdd(frame, entry);
    if (first == nullptr) return;
    if (++duplicates_ > kMostDuplicates) return;
    Diagnostic diagnostic;
    diagnostic.summary = fmt::format("the key `{}` stands here twice", entry.key->text);
    diagnostic.place = entry.key->Place();
    diagnostic.source_line = file_.ShownLine(diagnostic.place.line);
    RelatedPlace related{first->Place(), "", "first defined here"};
    related.source_line = file_.ShownLine(related.place.line);
    diagnostic.related.push_back(std::move(related));
    diagnostics_.Add(std::move(diagnostic));
  }

  // What the map says itself goes before what it merges, and an earlier merge before a later one.
  void Merge(Frame& frame, const YamlEntry& merge) {
    std::vector<YamlNodePtr> sources;
    if (merge.value->is_list()) {
      sources = merge.value->items;
    } else {
      sources.push_back(merge.value);
    }
    for (const YamlNodePtr& source : sources) {
      if (!source->is_map()) {
        Report(file_, {"`<<` takes a map or a list of maps", merge.key->offset, ""}, diagnostics_);
        continue;
      }
      for (const YamlEntry& entry : source->entries) {
        FindOrAdd(frame, entry);
      }
    }
  }

  const SourceFile& file_;
  std::size_t skipped_;  // bytes before the text of the events
  const YamlLimits& limits_;
  Diagnostics& diagnostics_;
  std::vector<Frame> frames_;
  std::unordered_map<std::string, YamlNodePtr> anchors_;  // nullptr: of what is not complete
  YamlNodePtr root_;
  std::size_t total_ = 0;
  int documents_ = 0;
  int duplicates_ = 0;
};

// What is no text, told before YAML has to be spoken of.
std::optional<Refused> CheckBytes(const SourceFile& file, std::size_t start,
                                  const YamlLimits& limits) {
  const std::string& text = file.text();
  if (text.size() > limits.max_bytes) {
    return Refused{fmt::format("the file is larger than {} MiB", limits.max_bytes >> 20), 0, ""};
  }
  for (std::size_t i = start; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      return Refused{c == 0 ? "a NUL byte: this is no text file"
                            : fmt::format("the control character 0x{:02x} is not allowed", c),
                     i, c == 0 ? "save it as UTF-8" : ""};
    }
  }
  const std::size_t invalid = FindInvalidUtf8(std::string_view(text).substr(start));
  if (invalid != std::string_view::npos) {
    return Refused{"this is not UTF-8 text", start + invalid, "save the file as UTF-8"};
  }
  return std::nullopt;
}

// The usual cause of what libyaml says, in our words; "" when there is no usual one.
std::string UsualCause(const SourceFile& file, std::size_t offset, const YamlError& error) {
  const auto says = [&](std::string_view words) {
    return error.problem.find(words) != std::string::npos;
  };
  const SourcePlace place = file.PlaceAt(offset);
  if (says("mapping values are not allowed")) {
    const auto first_colon = file.Line(place.line).find(':');
    const bool is_first = first_colon + 1 == static_cast<std::size_t>(place.column);
    return is_first ? "does the line above lack a `:`?" : "a text that holds `: ` needs quotes";
  }
  if (says("could not find expected ':'")) return "does the line above lack a `:`?";
  if (says("did not find expected key") || says("did not find expected '-' indicator")) {
    return "is it indented like its neighbours?";
  }
  if (says("cannot start any token") && offset < file.text().size()) {
    const auto character = static_cast<unsigned char>(file.text()[offset]);
    if (character > 0x20 && character < 0x7F) {
      return fmt::format("a text that begins with `{}` needs quotes", file.text()[offset]);
    }
  }
  return "";
}

// libyaml's words for an error, with the usual cause in ours. `skipped`: bytes of the file before
// the text it was given.
Refused Explain(const SourceFile& file, std::size_t skipped, const YamlError& error) {
  const std::size_t offset = error.offset + skipped;
  const std::size_t begin = error.context_offset.value_or(error.offset) + skipped;
  if (error.context.find("parsing a flow") != std::string::npos && begin < file.text().size()) {
    return Refused{fmt::format("`{}` is not closed", file.text()[begin]), begin, ""};
  }
  if (error.context.ends_with("scanning a quoted scalar")) {
    const bool ends = error.problem.find("end of stream") != std::string::npos;
    if (ends) return Refused{"a quote is not closed", begin, ""};
  }
  if (error.context.ends_with("scanning an alias")) {
    return Refused{"not valid YAML: " + error.problem, begin,
                   "a text that begins with `*` needs quotes"};
  }
  const SourcePlace place = file.PlaceAt(offset);
  for (int line = place.line; line >= std::max(1, place.line - 1); --line) {
    const std::string_view text = file.Line(line);
    const auto first = text.find_first_not_of(' ');
    if (first == std::string_view::npos || text[first] != '\t') continue;
    if (text.find_first_not_of(" \t") == std::string_view::npos) continue;
    return Refused{"a tab where YAML wants blanks", file.LineStart(line) + first,
                   "indent with blanks"};
  }
  return Refused{"not valid YAML: " + error.problem, offset, UsualCause(file, offset, error)};
}

}  // namespace

const YamlEntry* YamlNode::Find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key->text == key) return &entry;
  }
  return nullptr;
}

YamlNodePtr ParseYaml(const SourceFile& file, Diagnostics& diagnostics, const YamlLimits& limits) {
  const std::size_t start = file.text().starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  if (const auto refused = CheckBytes(file, start, limits)) {
    Report(file, *refused, diagnostics);
    return nullptr;
  }
  TreeBuilder builder(file, start, limits, diagnostics);
  YamlEvents events(std::string_view(file.text()).substr(start));
  try {
    while (auto event = events.Next()) {
      if (event->kind == YamlEvent::Kind::kStreamEnd) return builder.Take();
      builder.Add(*std::move(event));
    }
    throw Explain(file, start, events.error());
  } catch (const Refused& refused) {
    Report(file, refused, diagnostics);
  }
  return nullptr;
}

}  // namespace podctl
