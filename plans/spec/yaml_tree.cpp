#include "plans/spec/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <future>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "plans/spec/spec_writer.h"
#include "plans/spec/yaml_strictness.h"
#include "providers/base/foreign_text.h"

namespace podctl {
namespace {

constexpr std::string_view kMergeKey = "<<";
constexpr std::string_view kPodsKey = "pods";
constexpr int kMostDuplicates = 200;  // reported for one file
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Thrown through yaml-cpp's own frames to stop it; never leaves this file.
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

// Builds the tree from yaml-cpp's events. yaml-cpp's parser calls back at every level it descends
// to, so refusing a level here also bounds its recursion.
class TreeBuilder final : public YAML::EventHandler {
 public:
  // `shift`: where in the file the first byte stands that yaml-cpp is given; `end`: where the last
  // one ends.
  TreeBuilder(const SourceFile& file, std::ptrdiff_t shift, std::size_t end,
              const YamlLimits& limits, Diagnostics& diagnostics)
      : file_(file), shift_(shift), end_(end), limits_(limits), diagnostics_(diagnostics) {}

  YamlNodePtr Take() { return std::move(root_); }
  std::size_t values() const { return values_; }
  std::size_t aliased() const { return aliased_; }

  std::size_t Offset(const YAML::Mark& mark) const {
    if (mark.is_null()) return 0;
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, mark.pos + shift_));
  }

  // Where the innermost bracket stands that is not closed yet, or npos.
  std::size_t OpenBracket() const {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
      const std::size_t offset = frame->node->offset;
      if (offset >= file_.text().size()) continue;
      if (file_.text()[offset] == '{' || file_.text()[offset] == '[') return offset;
    }
    return std::string_view::npos;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      throw Refused{"a second document in one file", Offset(mark), "one file holds one document"};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Place(Make(YamlNode::Kind::kNull, mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) {
      throw Refused{"an alias inside of what it names", Offset(mark), "it would never end"};
    }
    aliased_ += it->second->size;
    if (aliased_ > limits_.max_aliased) {
      throw Refused{
          fmt::format("aliases make more than {} values of this file, counted as often as "
                      "they are used",
                      limits_.max_aliased),
          Offset(mark), ""};
    }
    if (frames_.size() + it->second->height > limits_.max_depth) RefuseDepth(Offset(mark));
    Put(it->second);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = Make(YamlNode::Kind::kScalar, mark);
    node->offset = SkipProperties(node->offset);
    node->plain = tag == "?";
    const std::string_view source = file_.text();
    const char first = node->offset < source.size() ? source[node->offset] : '\0';
    node->block = !node->plain && (first == '|' || first == '>');
    node->length = node->block ? 1 : ScalarLength(file_, node->offset, value);
    node->text = value;
    if (first == '"' || first == '\'') CheckClosed(node->offset);
    if (node->block) {
      const std::size_t comment = CommentAtBlock(source, node->offset);
      if (comment != std::string_view::npos) RefuseComment(comment);
    }
    CheckTag(tag, Offset(mark));
    Place(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor = 0;
    YamlNodePtr key;  // of a map: read, its value not yet
    std::vector<YamlEntry> merges;
    // Key -> entry, once there are more than are quickly looked through.
    std::unordered_map<std::string_view, std::size_t> index;
  };

  // The entry of a map that has this key, or nullptr.
  static const YamlEntry* Find(Frame& frame, const std::string& key) {
    constexpr std::size_t kFew = 12;
    const std::vector<YamlEntry>& entries = frame.node->entries;
    if (entries.size() < kFew) return frame.node->Find(key);
    for (std::size_t i = frame.index.size(); i < entries.size(); ++i) {
      frame.index.emplace(entries[i].key->text, i);
    }
    const auto found = frame.index.find(key);
    return found == frame.index.end() ? nullptr : &entries[found->second];
  }

  [[noreturn]] void RefuseDepth(std::size_t offset) const {
    throw Refused{fmt::format("nested deeper than {} levels", limits_.max_depth), offset, ""};
  }

  void CheckTag(const std::string& tag, std::size_t offset) const {
    constexpr std::string_view kStandard = "tag:yaml.org,2002:";
    if (tag.empty() || tag == "?" || tag == "!") return;
    for (std::string_view known : {"str", "int", "bool", "float", "map", "seq"}) {
      if (tag == std::string(kStandard) + std::string(known)) return;
    }
    throw Refused{fmt::format("the YAML tag `{}` has no meaning here", tag), offset,
                  "leave it out"};
  }

  [[noreturn]] void RefuseComment(std::size_t offset) const {
    throw Refused{"a comment right behind a value", offset, "put a blank before the `#`"};
  }

  // What is within the outermost brackets is looked through once.
  void CheckFlow(std::size_t offset) const {
    const std::string_view source = file_.text();
    if (offset >= source.size() || (source[offset] != '[' && source[offset] != '{')) return;
    if (OpenBracket() != std::string_view::npos) return;
    const std::size_t comment = CommentInFlow(source, offset);
    if (comment != std::string_view::npos) RefuseComment(comment);
  }

  // yaml-cpp takes the end of the file for the end of a quoted text.
  void CheckClosed(std::size_t offset) const {
    const std::string_view source = std::string_view(file_.text()).substr(0, end_);
    const std::size_t behind = BehindQuoted(source, offset);
    if (behind == std::string_view::npos) throw Refused{"a quote is not closed", offset, ""};
    if (behind < source.size() && source[behind] == '#') RefuseComment(behind);
  }

  // yaml-cpp marks a node at its anchor or tag; the value stands behind them.
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

  std::shared_ptr<YamlNode> Make(YamlNode::Kind kind, const YAML::Mark& mark) {
    if (++values_ > limits_.max_values) {
      throw Refused{fmt::format("more than {} values", limits_.max_values), Offset(mark),
                    "the file is too large"};
    }
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->file = &file_;
    node->offset = Offset(mark);
    return node;
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    if (frames_.size() >= limits_.max_depth) RefuseDepth(Offset(mark));
    CheckTag(tag, Offset(mark));
    Frame frame;
    frame.node = Make(kind, mark);
    frame.anchor = anchor;
    CheckFlow(SkipProperties(frame.node->offset));
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

  void Place(std::shared_ptr<YamlNode> node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = node;
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
      const std::string_view source = std::string_view(file_.text()).substr(0, end_);
      if (OpenBracket() == std::string_view::npos &&
          LacksColon(source, frame.key->offset, frame.key->length)) {
        throw Refused{fmt::format("`{}` has no `:`", frame.key->text), frame.key->offset,
                      "a key ends in `:`, and an item of a list begins with `- `"};
      }
      // yaml-cpp marks what is not there at whatever comes next.
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

  void AddEntry(Frame& frame, YamlEntry entry) {
    const YamlEntry* earlier = Find(frame, entry.key->text);
    if (earlier == nullptr) {
      frame.node->entries.push_back(std::move(entry));
      return;
    }
    if (++duplicates_ > kMostDuplicates) return;
    Diagnostic diagnostic;
    diagnostic.summary = fmt::format("the key `{}` stands here twice", entry.key->text);
    diagnostic.place = entry.key->Place();
    diagnostic.source_line = file_.ShownLine(diagnostic.place.line);
    const SourcePlace first = earlier->key->Place();
    diagnostic.related.push_back({first, file_.ShownLine(first.line), "first defined here"});
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
        if (Find(frame, entry.key->text) == nullptr) frame.node->entries.push_back(entry);
      }
    }
  }

  const SourceFile& file_;
  const std::ptrdiff_t shift_;
  const std::size_t end_;
  const YamlLimits& limits_;
  Diagnostics& diagnostics_;
  std::vector<Frame> frames_;
  std::unordered_map<YAML::anchor_t, YamlNodePtr> anchors_;
  YamlNodePtr root_;
  std::size_t values_ = 0;
  std::size_t aliased_ = 0;
  int documents_ = 0;
  int duplicates_ = 0;
};

// What yaml-cpp must not see: it takes byte 4 for the end of the text, and guesses other encodings.
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

// yaml-cpp's words for an error, with the usual cause in ours.
Refused Explain(const SourceFile& file, std::size_t offset, const std::string& message,
                std::size_t open_bracket) {
  if (message.find("flow not found") != std::string::npos &&
      open_bracket != std::string_view::npos) {
    const std::string_view behind = std::string_view(file.text()).substr(open_bracket);
    const bool refers = behind.substr(0, behind.find('\n')).find("${") != std::string_view::npos;
    return Refused{
        fmt::format("`{}` is not closed", file.text()[open_bracket]), open_bracket,
        refers ? R"(between brackets a value with `${` has to be quoted: "${env.NAME}")" : ""};
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
  return Refused{"not valid YAML: " + message, offset, UsualCause(file, offset, message)};
}

// yaml-cpp 0.8 adds the anchor's name, which stands in the source line anyway.
std::string WordsOf(const std::string& message) {
  constexpr std::string_view kUnknown = "the referenced anchor is not defined";
  return std::string(message.starts_with(kUnknown) ? kUnknown : std::string_view(message));
}

struct Part {
  YamlNodePtr root;
  std::size_t values = 0;  // as YamlLimits counts them
  std::size_t aliased = 0;
};

// Reads `text`, whose first byte stands at `shift` in the file.
Part ParsePart(const SourceFile& file, const std::string& text, std::ptrdiff_t shift,
               const YamlLimits& limits, Diagnostics& diagnostics) {
  const auto end = static_cast<std::size_t>(shift + static_cast<std::ptrdiff_t>(text.size()));
  TreeBuilder builder(file, shift, end, limits, diagnostics);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return {builder.Take(), builder.values(), builder.aliased()};
  } catch (const Refused& refused) {
    Report(file, refused, diagnostics);
  } catch (const YAML::Exception& error) {
    Report(file,
           Explain(file, builder.Offset(error.mark), WordsOf(error.msg), builder.OpenBracket()),
           diagnostics);
  } catch (const std::exception& error) {
    Report(file, Refused{std::string("not valid YAML: ") + error.what(), 0, ""}, diagnostics);
  }
  return {};
}

// Whether `more` has a key that is among `entries` already.
bool ShareAKey(const std::vector<YamlEntry>& entries, const std::vector<YamlEntry>& more) {
  std::unordered_set<std::string_view> known;
  for (const YamlEntry& entry : entries) known.insert(entry.key->text);
  return std::any_of(more.begin(), more.end(),
                     [&](const YamlEntry& entry) { return known.contains(entry.key->text); });
}

// The tree of a text whose second half was read below a `pods:` of its own; nullptr when the halves
// do not fit together.
YamlNodePtr JoinHalves(const YamlNode& first, const YamlNode& second) {
  const YamlEntry* pods = first.Find(kPodsKey);
  if (pods == nullptr || !pods->value->is_map() || second.entries.empty() ||
      !second.entries.front().value->is_map()) {
    return nullptr;
  }
  const YamlNode& more = *second.entries.front().value;
  const std::vector<YamlEntry> behind(second.entries.begin() + 1, second.entries.end());
  if (ShareAKey(pods->value->entries, more.entries) || ShareAKey(first.entries, behind)) {
    return nullptr;
  }
  auto all = std::make_shared<YamlNode>(*pods->value);
  all->entries.insert(all->entries.end(), more.entries.begin(), more.entries.end());
  all->size += more.size - 1;
  all->height = std::max(all->height, more.height);
  auto root = std::make_shared<YamlNode>(first);
  root->entries[static_cast<std::size_t>(pods - first.entries.data())].value = std::move(all);
  root->entries.insert(root->entries.end(), behind.begin(), behind.end());
  root->size += second.size - 3;  // less its root, its `pods` and the map below
  root->height = std::max(root->height, second.height);
  return root;
}

// Most of the time that a plan of thousands of pods takes goes into reading their YAML, so a long
// text is read by two threads. Whatever a cut might have broken (a quote or a bracket that is not
// closed before it, an alias of what stands before it, a second document) is an error of one half;
// then, as for every other error, nullptr is returned, and the whole has to be read.
YamlNodePtr ParseHalves(const SourceFile& file, std::size_t start, const YamlLimits& limits) {
  const std::string_view text = std::string_view(file.text()).substr(start);
  const auto cut = FindPodsCut(text);
  if (!cut) return nullptr;
  const std::string heading = std::string(kPodsKey) + ":\n";
  const auto shift = static_cast<std::ptrdiff_t>(start);
  const auto parse = [&](const std::string& text_of_half, std::ptrdiff_t at) -> Part {
    Diagnostics problems;
    Part part = ParsePart(file, text_of_half, at, limits, problems);
    const bool fits = problems.items().empty() && part.root != nullptr && part.root->is_map();
    return fits ? part : Part{};
  };
  try {
    auto second = std::async(std::launch::async, [&] {
      return parse(
          heading + std::string(text.substr(*cut)),
          shift + static_cast<std::ptrdiff_t>(*cut) - static_cast<std::ptrdiff_t>(heading.size()));
    });
    const Part first = parse(std::string(text.substr(0, *cut)), shift);
    const Part rest = second.get();
    if (first.root == nullptr || rest.root == nullptr) return nullptr;
    if (first.values + rest.values > limits.max_values ||
        first.aliased + rest.aliased > limits.max_aliased) {
      return nullptr;
    }
    return JoinHalves(*first.root, *rest.root);
  } catch (const std::system_error&) {
    return nullptr;  // there is no thread to be had
  }
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
  if (file.text().size() >= limits.halves_from) {
    if (auto root = ParseHalves(file, start, limits)) return root;
  }
  return ParsePart(file, file.text().substr(start), static_cast<std::ptrdiff_t>(start), limits,
                   diagnostics)
      .root;
}

}  // namespace podctl
