#include "plans/spec/spec_editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "plans/spec/yaml_tree.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::size_t kUsualIndent = 2;

bool IsSame(const YamlNode& a, const YamlNode& b) {
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size() ||
      a.entries.size() != b.entries.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!IsSame(*a.items[i], *b.items[i])) return false;
  }
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    if (a.entries[i].key->text != b.entries[i].key->text ||
        !IsSame(*a.entries[i].value, *b.entries[i].value)) {
      return false;
    }
  }
  return true;
}

// Whether `after` is `before` with these pods more, the last ones.
bool HasJustGrown(const YamlNode& before, const YamlNode& after,
                  const std::vector<PodDraft>& drafts) {
  YamlNode shrunk = after;
  for (YamlEntry& entry : shrunk.entries) {
    if (entry.key->text != "pods" || !entry.value->is_map()) continue;
    YamlNode pods = *entry.value;
    if (pods.entries.size() < drafts.size()) return false;
    const auto grown = pods.entries.end() - static_cast<std::ptrdiff_t>(drafts.size());
    const bool is_named = std::equal(
        grown, pods.entries.end(), drafts.begin(),
        [](const YamlEntry& pod, const PodDraft& draft) { return pod.key->text == draft.name; });
    if (!is_named) return false;
    pods.entries.erase(grown, pods.entries.end());
    entry.value = std::make_shared<YamlNode>(std::move(pods));
  }
  return IsSame(before, shrunk);
}

class Editor {
 public:
  Editor(const std::string& name, const std::string& text, const std::vector<PodDraft>& drafts)
      : file_(name, text), drafts_(drafts) {}

  Result<std::string> Run() {
    Diagnostics problems;
    const YamlNodePtr root = ParseYaml(file_, problems);
    if (problems.has_errors() || root == nullptr || !root->is_map()) {
      return Refused("it is no spec that could be read");
    }
    const YamlEntry* pods = root->Find("pods");
    if (pods == nullptr) {
      const std::string& text = file_.text();
      const std::string break_line = text.find("\r\n") == std::string::npos ? "\n" : "\r\n";
      const std::string end = text.ends_with('\n') ? "" : break_line;
      return Editor(file_.name(), text + end + break_line + "pods: {}" + break_line, drafts_).Run();
    }
    if (!pods->value->is_map()) return Refused("`pods` is no map");
    auto edited = pods->value->entries.empty() ? FillEmpty(*pods) : Append(*root, *pods);
    if (!edited) return edited;
    const SourceFile after(file_.name(), *edited);
    Diagnostics after_problems;
    const YamlNodePtr grown = ParseYaml(after, after_problems);
    if (after_problems.has_errors() || grown == nullptr || !grown->is_map() ||
        !HasJustGrown(*root, *grown, drafts_)) {
      return Refused("it is laid out in a way that podctl does not know how to add to");
    }
    return edited;
  }

 private:
  Error Refused(const std::string& why) const {
    return MakeError(ErrorCode::kFailedPrecondition,
                     fmt::format("the {} cannot be added to {} safely: {}",
                                 drafts_.size() == 1 ? "pod" : "pods", file_.name(), why),
                     "leave out --write-spec, and put what is printed into the file by hand");
  }

  std::string Pods(std::size_t indent) const {
    std::string pods;
    for (const PodDraft& draft : drafts_) pods += WritePod(draft, indent);
    if (file_.text().find("\r\n") == std::string::npos) return pods;
    std::string with_returns;
    for (const char c : pods) {
      if (c == '\n') with_returns += '\r';
      with_returns += c;
    }
    return with_returns;
  }

  // Puts the pods at `offset`, the start of a line or the end of the text.
  std::string Insert(std::size_t offset, std::size_t indent) const {
    std::string text = file_.text();
    std::string pods = Pods(indent);
    if (offset > 0 && text[offset - 1] != '\n') {
      pods.insert(0, text.find("\r\n") == std::string::npos ? "\n" : "\r\n");
    }
    return text.insert(offset, pods);
  }

  // `pods: {}`: the braces go, and the pods stand below.
  Result<std::string> FillEmpty(const YamlEntry& pods) const {
    const std::string& text = file_.text();
    const std::size_t open = pods.value->offset;
    const std::size_t close = text.find_first_not_of(" \t", open + 1);
    if (open >= text.size() || text[open] != '{' || close == std::string::npos ||
        text[close] != '}') {
      return Refused("`pods` is empty in an unusual way");
    }
    std::size_t start = open;
    while (start > 0 && text[start - 1] == ' ') --start;  // no blank is left behind the colon
    std::string rest = text.substr(close + 1);
    std::string edited = text.substr(0, start) + rest;
    std::size_t line_end = edited.find('\n', start);
    line_end = line_end == std::string::npos ? edited.size() : line_end + 1;
    const Editor next(file_.name(), edited, drafts_);
    return next.Insert(line_end, kUsualIndent);
  }

  Result<std::string> Append(const YamlNode& root, const YamlEntry& pods) const {
    const std::string& text = file_.text();
    const YamlNode& first = *pods.value->entries.front().key;
    const std::size_t line_start = file_.LineStart(first.Place().line);
    const std::size_t indent = first.offset - line_start;
    const bool is_block =
        first.offset > pods.key->offset && indent > 0 &&
        text.substr(line_start, indent).find_first_not_of(' ') == std::string::npos;
    if (!is_block) return Refused("its pods stand in braces, or elsewhere in the file");
    return Insert(EndOfPods(root, *pods.key), indent);
  }

  // The start of the line after the last one that belongs to the pods: comments and blank lines
  // before the next key at the left margin are that key's.
  std::size_t EndOfPods(const YamlNode& root, const YamlNode& pods) const {
    std::size_t end = file_.text().size();
    for (const YamlEntry& entry : root.entries) {
      if (entry.key->offset > pods.offset) end = std::min(end, entry.key->offset);
    }
    const std::string& text = file_.text();
    while (end > 0) {
      const std::size_t newline = end >= 2 ? text.rfind('\n', end - 2) : std::string::npos;
      const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
      const std::string_view line = std::string_view(text).substr(start, end - start);
      const bool is_others = TrimBlanks(line).empty() || line.front() == '#';
      if (!is_others) return end;
      end = start;
    }
    return end;
  }

  SourceFile file_;
  const std::vector<PodDraft>& drafts_;
};

}  // namespace

Result<std::string> AppendPods(const std::string& file, const std::string& text,
                               const std::vector<PodDraft>& drafts) {
  return Editor(file, text, drafts).Run();
}

}  // namespace podctl
