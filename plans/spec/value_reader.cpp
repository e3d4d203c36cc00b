#include "plans/spec/value_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "plans/spec/names.h"
#include "plans/spec/references.h"
#include "providers/base/error.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr std::string_view kStateTarget = "state";
constexpr std::size_t kLongestText = 4u << 20;  // bytes, expressions put in
constexpr std::size_t kMostParts = 2000;        // of one text: expressions and what is between

bool HasExpression(const YamlNode& node) {
  return node.text.find("${") != std::string::npos;
}

// The place of the `occurrence`-th (from 0) time that `needle` stands in a scalar. Escapes and
// folding make offsets in the value differ from those in the file, so it is looked up there.
SourcePlace PlaceWithin(const YamlNode& node, const std::string& needle, int occurrence) {
  const std::string& source = node.file->text();
  std::size_t at = node.offset;
  for (int i = 0; i <= occurrence; ++i) {
    at = source.find(needle, i == 0 ? at : at + 1);
    if (at == std::string::npos) return node.Place();
  }
  return node.file->PlaceAt(at, needle.size());
}

int CountBefore(const std::string& text, const std::string& needle, std::size_t end) {
  int count = 0;
  for (auto at = text.find(needle); at < end; at = text.find(needle, at + 1)) ++count;
  return count;
}

bool LogsPodctlIn(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames = {"GOOGLE_OAUTH_ACCESS_TOKEN",
                                                       "CLOUDSDK_AUTH_ACCESS_TOKEN",
                                                       "AWS_SECRET_ACCESS_KEY",
                                                       "AWS_SESSION_TOKEN",
                                                       "TF_HTTP_USERNAME",
                                                       "TF_HTTP_PASSWORD",
                                                       "TF_HTTP_CLIENT_PRIVATE_KEY_PEM",
                                                       "ETCDCTL_USER",
                                                       "ETCDCTL_PASSWORD",
                                                       "ETCDCTL_KEY"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// By which a job of GitHub or GitLab shows who it is, and what pipelines of podctl's template are
// given: who plans a pull request would hand them to its author.
bool IsOfPipeline(std::string_view name) {
  constexpr std::array<std::string_view, 27> kNames = {"ACTIONS_ID_TOKEN_REQUEST_TOKEN",
                                                       "ACTIONS_ID_TOKEN_REQUEST_URL",
                                                       "ACTIONS_RUNTIME_TOKEN",
                                                       "ACTIONS_RUNTIME_URL",
                                                       "ACTIONS_CACHE_URL",
                                                       "ACTIONS_RESULTS_URL",
                                                       "GITHUB_TOKEN",
                                                       "GH_TOKEN",
                                                       "GITEA_TOKEN",
                                                       "GITLAB_TOKEN",
                                                       "PODCTL_FORGE_TOKEN",
                                                       "FORGEJO_TOKEN",
                                                       "GH_ENTERPRISE_TOKEN",
                                                       "GITHUB_ENTERPRISE_TOKEN",
                                                       "GITLAB_PRIVATE_TOKEN",
                                                       "SYSTEM_ACCESSTOKEN",
                                                       "VAULT_TOKEN",
                                                       "INPUT_TOKEN",
                                                       "INPUT_GITHUB-TOKEN",
                                                       "CI_JOB_TOKEN",
                                                       "CI_BUILD_TOKEN",
                                                       "CI_REGISTRY_PASSWORD",
                                                       "CI_DEPENDENCY_PROXY_PASSWORD",
                                                       "CI_DEPLOY_PASSWORD",
                                                       "CI_REPOSITORY_URL",
                                                       "GOOGLE_TOKEN",
                                                       "SSH_KEY"};
  // Of Atlantis a spec may read what it says of the pull request, which has no such prefix.
  // An index of packages is mostly named with its password.
  return name.starts_with("CI_JOB_JWT") || name.starts_with("ATLANTIS_") ||
         name.starts_with("PIP_") || name == "COMMENT_TOKEN" ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::string Backquoted(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& word : words) quoted.push_back("`" + word + "`");
  return Join(quoted, ", ");
}

}  // namespace

const WithheldFiles& ValueReader::withheld() const {
  static const WithheldFiles none_named{};
  return withheld_ == nullptr ? none_named : *withheld_;
}

std::string WhyNotReadable(const std::string& name, bool is_set) {
  // By its own name what is sensitive stays so.
  constexpr std::string_view kVariable = "PODCTL_VAR_";
  if (name.starts_with(kVariable)) {
    return fmt::format(
        "the environment variable `{}` is the value of a variable: write `${{var.{}}}`", name,
        name.substr(kVariable.size()));
  }
  if (LogsPodctlIn(name)) {
    return fmt::format(
        "the environment variable `{}` is what podctl logs in with: a spec cannot "
        "read it",
        name);
  }
  if (IsOfPipeline(name)) {
    return fmt::format(
        "the environment variable `{}` is what a pipeline's job logs in with: a spec cannot read "
        "it",
        name);
  }
  return is_set ? "" : fmt::format("the environment variable `{}` is not set", name);
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = SuggestWord(word, known);
  return near.empty() ? "" : fmt::format("did you mean `{}`?", near);
}

std::string FoundWords(const YamlNode& node) {
  constexpr std::size_t kLongest = 40;
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kScalar:
      break;
  }
  if (node.text.empty()) return "an empty text";
  if (node.text.size() > kLongest || node.text.find('\n') != std::string::npos)
    return "a long text";
  return "`" + node.text + "`";
}

void ValueReader::Report(Severity severity, const YamlNode& at, const SourcePlace& place,
                         const Slot& slot, std::string summary, std::string suggestion,
                         std::string detail) {
  Diagnostic diagnostic = DiagnosticAt(at, place, std::move(summary));
  diagnostic.severity = severity;
  diagnostic.context = slot.context;
  diagnostic.suggestion = std::move(suggestion);
  diagnostic.detail = std::move(detail);
  if (hide_source_) diagnostic.source_line.clear();
  problems_.Add(std::move(diagnostic));
}

void ValueReader::Error(const YamlNode& at, const Slot& slot, std::string summary,
                        std::string suggestion, std::string detail) {
  Report(Severity::kError, at, at.Place(), slot, std::move(summary), std::move(suggestion),
         std::move(detail));
}

void ValueReader::Warn(const YamlNode& at, const Slot& slot, std::string summary,
                       std::string suggestion, std::string detail) {
  Report(Severity::kWarning, at, at.Place(), slot, std::move(summary), std::move(suggestion),
         std::move(detail));
}

void ValueReader::Conflict(const YamlNode& at, const Slot& slot, std::string summary,
                           const YamlNode& other, std::string note) {
  Diagnostic diagnostic = DiagnosticAt(at, at.Place(), std::move(summary));
  diagnostic.context = slot.context;
  const SourcePlace place = other.Place();
  diagnostic.related.push_back({place, other.file->ShownLine(place.line), std::move(note)});
  problems_.Add(std::move(diagnostic));
}

void ValueReader::UnknownKey(const YamlNode& key, const std::string& context,
                             const std::vector<std::string>& known) {
  constexpr std::size_t kFew = 12;
  std::string suggestion = has_enough() ? "" : DidYouMean(key.text, known);
  if (suggestion.empty() && known.size() <= kFew) suggestion = "known here: " + Backquoted(known);
  Error(key, {context, key.text}, fmt::format("unknown key {}", FoundWords(key)),
        std::move(suggestion));
}

const Key* ValueReader::KnownKey(const YamlNode& key, const std::string& context,
                                 const Shape& map) {
  const Key* known = map.Find(key.text);
  if (known == nullptr) UnknownKey(key, context, map.Names());
  return known;
}

std::nullopt_t ValueReader::Refuse(const Expression& expression, std::string summary,
                                   std::string suggestion) {
  Report(Severity::kError, expression.node, expression.place, expression.slot, std::move(summary),
         std::move(suggestion), "");
  return std::nullopt;
}

std::optional<std::string> ValueReader::VariableIn(const Expression& expression, bool& sensitive) {
  const std::string& name = expression.part.name;
  const auto it = variables_.find(name);
  if (it == variables_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, variable] : variables_) names.push_back(known);
    const std::string near = SuggestWord(name, names);
    return Refuse(expression, fmt::format("there is no variable `{}`", name),
                  near.empty() ? "declare it under `variables`"
                               : fmt::format("did you mean `${{var.{}}}`?", near));
  }
  if (it->second.sensitive && !expression.rules.secrets) {
    return Refuse(expression, fmt::format("the sensitive variable `{}` would be shown here", name),
                  "only metadata and bootstrap steps take it");
  }
  sensitive = sensitive || it->second.sensitive;
  return it->second.value;
}

std::optional<std::string> ValueReader::OtherOutputIn(const Expression& expression) {
  const TemplatePart& part = expression.part;
  if (!expression.rules.pods) {
    return Refuse(expression,
                  fmt::format("`{}` cannot refer to another state", expression.slot.key),
                  "it is needed before any state is read");
  }
  if (!states_.contains(part.name)) {
    const std::string near = DidYouMean(part.name, {states_.begin(), states_.end()});
    return Refuse(expression, fmt::format("there is no state `{}`", part.name),
                  near.empty() ? "name it under `stateOf`" : near);
  }
  constexpr std::string_view kMember = "outputs.";
  const std::string name =
      part.path.starts_with(kMember) ? part.path.substr(kMember.size()) : std::string();
  if (name.empty() || name.find_first_of(".[") != std::string::npos) {
    return Refuse(expression, fmt::format("`{}` names no output", part.text),
                  fmt::format("write `${{state.{}.outputs.NAME}}`", part.name));
  }
  if (other_outputs_ == nullptr) return part.text;
  const auto& outputs = other_outputs_->at(part.name);
  const auto output = outputs.find(name);
  if (output == outputs.end()) {
    std::vector<std::string> names;
    for (const auto& [known, value] : outputs) names.push_back(known);
    const std::string near = SuggestWord(name, names);
    return Refuse(expression, fmt::format("the state `{}` has no output `{}`", part.name, name),
                  near.empty()
                      ? ""
                      : fmt::format("did you mean `${{state.{}.outputs.{}}}`?", part.name, near));
  }
  if (output->second.sensitive) {
    return Refuse(expression,
                  fmt::format("the output `{}` of the state `{}` is sensitive", name, part.name),
                  "no state holds the value of one: give it as a variable");
  }
  const std::string& value = output->second.value;
  if (const auto unfit = WhyUnfit(part, value, expression.rules.use)) {
    return Refuse(expression, "it refers to " + unfit->words, unfit->hint);
  }
  return value;
}

std::optional<std::string> ValueReader::ReferenceIn(const Expression& expression) {
  const TemplatePart& part = expression.part;
  if (part.target == kStateTarget) return OtherOutputIn(expression);
  if (std::find(targets_.begin(), targets_.end(), part.target) == targets_.end()) {
    const TemplatePart unknown = AsUnknown(part, targets_);
    return Refuse(expression, unknown.problem, unknown.suggestion);
  }
  const std::string& key = expression.slot.key;
  if (part.target == "pod" && !expression.rules.pods) {
    return Refuse(expression, fmt::format("`{}` cannot refer to another pod", key),
                  "it is needed before any pod exists");
  }
  if (part.target != "pod" && !expression.rules.things) {
    return Refuse(expression, fmt::format("`{}` cannot refer to a `{}`", key, part.target),
                  "it is needed before there is one");
  }
  Diagnostic at = DiagnosticAt(expression.node, expression.place, "");
  at.context = expression.slot.context;
  references_.push_back({Address(part.target, part.name), part.path, std::move(at)});
  return part.text;
}

std::optional<std::string> ValueReader::ValueOf(const Expression& expression, bool& sensitive) {
  const TemplatePart& part = expression.part;
  switch (part.kind) {
    case TemplatePart::Kind::kLiteral:
      return part.text;
    case TemplatePart::Kind::kVariable:
      return VariableIn(expression, sensitive);
    case TemplatePart::Kind::kEnvironment: {
      auto value = environment_.Get(part.name);
      const std::string wrong = WhyNotReadable(part.name, value.has_value());
      return wrong.empty() ? value : Refuse(expression, wrong, "");
    }
    case TemplatePart::Kind::kReference:
      return ReferenceIn(expression);
    case TemplatePart::Kind::kBad:
      return Refuse(expression, part.problem, part.suggestion);
  }
  return std::nullopt;
}

std::optional<TextValue> ValueReader::ReadText(const YamlNode& node, const Slot& slot,
                                               TextRules rules) {
  if (!node.is_scalar()) {
    Error(node, slot, fmt::format("`{}` must be text, found {}", slot.key, FoundWords(node)),
          node.is_null() ? "give it a value" : "");
    return std::nullopt;
  }
  if (node.text.find('\0') != std::string::npos) {
    Error(node, slot, fmt::format("`{}` holds a NUL character", slot.key));
    return std::nullopt;
  }
  if (!HasExpression(node)) return TextValue{node.text, false};
  TextValue result;
  bool ok = true;
  std::size_t expressions = 0;
  for (const TemplatePart& part : SplitTemplate(node.text)) {
    if (result.text.size() > kLongestText || ++expressions > kMostParts) {
      Error(node, slot, fmt::format("`{}` grows too long", slot.key));
      return std::nullopt;
    }
    if (!part.is_expression()) {
      result.text += rules.pods ? EscapeTemplate(part.text) : part.text;
      continue;
    }
    const int before = CountBefore(node.text, part.text, part.offset);
    const auto value =
        ValueOf({part, node, PlaceWithin(node, part.text, before), slot, rules}, result.sensitive);
    ok = ok && value.has_value();
    if (!value) continue;
    // The value of another state's output is put in as a variable's is.
    const bool is_template = part.kind == TemplatePart::Kind::kReference &&
                             (part.target != kStateTarget || other_outputs_ == nullptr);
    result.text += rules.pods && !is_template ? EscapeTemplate(*value) : *value;
  }
  if (!ok) return std::nullopt;
  return result;
}

std::optional<std::string> ValueReader::ReadPlain(const YamlNode& node, const Slot& slot) {
  auto value = ReadText(node, slot, {});
  if (!value) return std::nullopt;
  return std::move(value->text);
}

std::optional<bool> ValueReader::ReadBool(const YamlNode& node, const Slot& slot) {
  std::string suggestion;
  if (node.is_scalar()) {
    const auto text = ReadPlain(node, slot);
    if (!text) return std::nullopt;
    if (node.plain || HasExpression(node)) {
      if (*text == "true") return true;
      if (*text == "false") return false;
    }
    const std::string bare = BareWord(*text);
    if (bare == "yes" || bare == "on" || bare == "true" || bare == "y" || bare == "1") {
      suggestion = "write `true`";
    } else if (bare == "no" || bare == "off" || bare == "false" || bare == "n" || bare == "0") {
      suggestion = "write `false`";
    }
  }
  const bool is_quoted = node.is_scalar() && !node.plain;
  Error(node, slot,
        fmt::format("`{}` must be true or false, found {}{}", slot.key,
                    is_quoted ? "the text " : "", FoundWords(node)),
        std::move(suggestion));
  return std::nullopt;
}

std::optional<std::int64_t> ValueReader::ReadInt(const YamlNode& node, const Slot& slot,
                                                 std::int64_t min, std::int64_t max) {
  std::string found = FoundWords(node);
  if (node.is_scalar()) {
    const auto text = ReadPlain(node, slot);
    if (!text) return std::nullopt;
    const auto number = ParseNumber<std::int64_t>(*text);
    const bool may_be_number = node.plain || HasExpression(node);
    if (may_be_number && number && *number >= min && *number <= max) return number;
    if (!node.plain) found = "the text " + found;
  }
  Error(node, slot,
        fmt::format("`{}` must be a number from {} to {}, found {}", slot.key, min, max, found));
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> ValueReader::ReadDuration(const YamlNode& node,
                                                                   const Slot& slot) {
  std::string suggestion = "such as `90s`, `10m` or `1h30m`";
  if (node.is_scalar()) {
    const auto text = ReadPlain(node, slot);
    if (!text) return std::nullopt;
    if (const auto duration = ParseDuration(*text)) return duration;
    const bool is_number = !text->empty() && text->size() < 9 &&
                           std::all_of(text->begin(), text->end(),
                                       [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_number) suggestion = fmt::format("did you mean `{}s`?", *text);
  }
  Error(node, slot, fmt::format("`{}` must be a duration, found {}", slot.key, FoundWords(node)),
        std::move(suggestion));
  return std::nullopt;
}

std::optional<std::string> ValueReader::ReadWord(const YamlNode& node, const Slot& slot,
                                                 const std::vector<std::string>& words) {
  std::string suggestion;
  if (node.is_scalar()) {
    auto text = ReadPlain(node, slot);
    if (!text) return std::nullopt;
    if (std::find(words.begin(), words.end(), *text) != words.end()) return text;
    suggestion = DidYouMean(*text, words);
  }
  if (suggestion.empty()) suggestion = "one of " + Backquoted(words);
  Error(node, slot, fmt::format("`{}` cannot be {}", slot.key, FoundWords(node)),
        std::move(suggestion));
  return std::nullopt;
}

bool ValueReader::ReadMap(const YamlNode& node, const Slot& slot, const Shape& map,
                          const std::vector<std::pair<std::string, KeyReader>>& readers) {
  PODCTL_CHECK(readers.size() == map.keys.size());
  if (!ExpectMap(node, slot)) return false;
  for (const YamlEntry& entry : node.entries) {
    const std::string& key = entry.key->text;
    if (KnownKey(*entry.key, slot.Path(), map) == nullptr) continue;
    const auto found = std::find_if(readers.begin(), readers.end(),
                                    [&](const auto& reader) { return reader.first == key; });
    PODCTL_CHECK(found != readers.end());
    found->second(*entry.value, slot.Below(key));
  }
  return true;
}

bool ValueReader::ExpectMap(const YamlNode& node, const Slot& slot) {
  if (node.is_map()) return true;
  Error(node, slot, fmt::format("`{}` must be a map, found {}", slot.key, FoundWords(node)),
        node.is_null()   ? "write {} for an empty one"
        : node.is_list() ? "write each item as `name: …`, without a dash"
                         : "");
  return false;
}

bool ValueReader::ExpectList(const YamlNode& node, const Slot& slot) {
  if (node.is_list()) return true;
  Error(node, slot, fmt::format("`{}` must be a list, found {}", slot.key, FoundWords(node)),
        node.is_map() ? "begin each item with `- `"
        : node.is_scalar() && !HasExpression(node) && node.text.size() < 40
            ? fmt::format("write [{}]", node.text)
            : "");
  return false;
}

void ValueReader::Report(const FoundReference& reference, std::string summary,
                         std::string suggestion) {
  Diagnostic diagnostic = reference.at;
  diagnostic.summary = std::move(summary);
  diagnostic.suggestion = std::move(suggestion);
  problems_.Add(std::move(diagnostic));
}

std::vector<FoundReference> ValueReader::TakeReferences() {
  std::vector<FoundReference> all = std::exchange(added_, {});
  std::move(references_.begin(), references_.end(), std::back_inserter(all));
  references_.clear();
  return all;
}

}  // namespace podctl
