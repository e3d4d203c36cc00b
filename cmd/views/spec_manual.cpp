// podctl.yaml(5), in manual.h: of each key what its table says.
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/views/manual.h"
#include "cmd/views/roff.h"
#include "plans/spec/shape.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

struct ManualExpression {
  std::string_view form;
  std::string_view means;
};

constexpr ManualExpression kExpressions[] = {
    {"${var.NAME}", "a variable of the spec"},
    {"${env.NAME}", "a variable of the environment, but for those that log in somewhere"},
    {"${pod.NAME.PATH}", "a value of a node: `networkEndpoints[0].ipAddress`"},
    {"${trainingJob.NAME.PATH}", "`id`, `state`, `project` or `region` of a training job"},
    {"${state.NAME.outputs.OUTPUT}", "an output of a state under `stateOf`"},
    {"$${", "a literal `${`"},
};

constexpr std::string_view kSpecExample =
    "project: my-project\n"
    "zone: europe-west4-a\n"
    "\n"
    "pods:\n"
    "  research:\n"
    "    acceleratorType: v3-32\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
    "    networkConfig: {enableExternalIps: true}\n"
    "    libtpuFlags: {xla_jf_conv_full_precision: true}\n"
    "    bootstrap:\n"
    "      - name: packages\n"
    "        run: pip3 install --user matplotlib scipy\n";

// "`a`, `b`": in bold, as one types them.
std::string Typed(const std::vector<std::string>& words) {
  std::vector<std::string> typed;
  for (const std::string& word : words) typed.push_back(fmt::format("`{}`", word));
  return Join(typed, ", ");
}

std::string ValueWords(const Shape& shape, std::string_view many);

std::string AnyOf(const std::vector<Shape>& choices, std::string_view many) {
  std::vector<std::string> words;
  for (const Shape& choice : choices) words.push_back(ValueWords(choice, many));
  return Join(words, " or ");
}

std::string Numbers(const Shape& shape) {
  // What has no limit but that of its type.
  constexpr std::int64_t kNoLimit = std::numeric_limits<std::int32_t>::max();
  const bool limited = shape.form == Shape::Form::kNumber && shape.max < kNoLimit;
  return fmt::format(" from {}{}", shape.min, limited ? fmt::format(" to {}", shape.max) : "");
}

// What there may be, `many` an "s" where it is told of several.
std::string ValueWords(const Shape& shape, std::string_view many) {
  const std::string among = shape.of.empty() ? "" : " of " + AnyOf(shape.of, "s");
  switch (shape.form) {
    case Shape::Form::kText:
      if (shape.regex == kDurationPattern.regex) return fmt::format("duration{}", many);
      return fmt::format("text{}", many) + (shape.regex.empty() || shape.regex_words == "text"
                                                ? ""
                                                : fmt::format(" ({})", shape.regex_words));
    case Shape::Form::kBool:
      return "`true` or `false`";
    case Shape::Form::kNumber:
    case Shape::Form::kReal:
      return fmt::format("number{}{}", many, Numbers(shape));
    case Shape::Form::kWord:
      return Typed(shape.words);
    case Shape::Form::kMap:
      return fmt::format("map{}{}", many, among) +
             (shape.regex.empty() ? "" : fmt::format(" (names: {})", shape.regex_words));
    case Shape::Form::kList:
      return fmt::format("list{}{}", many, among);
    case Shape::Form::kEither:
      return AnyOf(shape.of, many);
    case Shape::Form::kNull:
      break;
  }
  return "nothing";
}

std::string SizeWords(const Shape& shape) {
  return (shape.least > 0 ? ", not empty" : "") +
         (shape.most > 0 ? fmt::format(", at most {}", shape.most) : "") +
         (shape.most > 0 && !shape.keys.empty() ? " of its keys" : "");
}

// The maps of known keys that a value is, or holds, and how what is below it is called.
void ForMaps(const Shape& shape, const std::string& path,
             const std::function<void(const Shape& map, const std::string& path)>& use) {
  if (!shape.keys.empty()) return use(shape, path);
  const std::string below = shape.form == Shape::Form::kMap    ? path + ".NAME"
                            : shape.form == Shape::Form::kList ? path + "[]"
                                                               : path;
  for (const Shape& each : shape.of) ForMaps(each, below, use);
}

// All that the table of `map` says of one of its keys.
std::string KeyWords(const Shape& map, const Key& key) {
  std::string text = key.doc;
  const std::string value = ValueWords(key.shape, "") + SizeWords(key.shape);
  if (value != "text" && value != "map") text += fmt::format(" Value: {}.", value);
  std::vector<std::string> others;
  for (const auto& [first, second] : map.exclusive) {
    if (key.name == first) others.push_back(second);
    if (key.name == second) others.push_back(first);
  }
  if (!others.empty()) text += fmt::format(" Not together with {}.", Typed(others));
  ForMaps(key.shape, "", [&](const Shape& held, const std::string&) {
    if (held.needs_one_of.empty()) return;
    text += fmt::format(" A map needs one of {}.", Typed(held.needs_one_of));
  });
  return text;
}

void AppendKey(const Shape& map, const Key& key, const std::string& path, RoffPage* page) {
  page->Item(RoffBold(path) + (key.required ? " (required)" : ""), KeyWords(map, key));
}

void AppendKeys(const Shape& map, const std::string& prefix, RoffPage* page) {
  for (const Key& key : map.keys) {
    AppendKey(map, key, prefix + key.name, page);
    ForMaps(key.shape, prefix + key.name, [&](const Shape& held, const std::string& path) {
      AppendKeys(held, path + ".", page);
    });
  }
}

// A section for what is below each key of a file.
void AppendSections(const Shape& spec, RoffPage* page) {
  for (const Key& key : spec.keys) {
    ForMaps(key.shape, key.name, [&](const Shape& map, const std::string& path) {
      // Which is itself a map of keys: `defaults`, whose keys are told of the things they are for.
      if (path == key.name) return;
      page->Section(fmt::format("\"KEYS OF {}\"", path));
      AppendKeys(map, "", page);
    });
  }
}

}  // namespace

ManualPage SpecPage(std::string_view date, std::string_view source, const Shape& spec) {
  RoffPage page("podctl.yaml", 5, date, source);
  page.Name("podctl.yaml", "pods as podctl is to make them");
  page.Section("DESCRIPTION");
  page.Paragraph(
      "A spec is YAML: `podctl.yaml` in the current folder, or what `podctl -f` names. "
      "`podctl validate` checks it without contacting anything, and tells all that is wrong at "
      "once, each with its place. `podctl init` writes one to begin with.");
  page.Paragraph(
      "Durations are written `90s`, `0.5s`, `10m` or `1h30m`. In the names of keys `NAME` "
      "stands for a name that you give, and `[]` for each of a list. Where no value is told, it is "
      "any text, or a map whose keys come next.");
  page.Section("\"KEYS OF A FILE\"");
  for (const Key& key : spec.keys) AppendKey(spec, key, key.name, &page);
  AppendSections(spec, &page);
  page.Section("EXPRESSIONS");
  for (const ManualExpression& each : kExpressions) page.Item(RoffBold(each.form), each.means);
  page.Section("EXAMPLES");
  page.Paragraph("A pod with flags for libtpu, and a step:");
  page.Verbatim(kSpecExample);
  page.Section("\"SEE ALSO\"");
  page.Line(RoffBold("podctl") + "(1),");
  page.Line(RoffBold("podctl-init") + "(1),");
  page.Line(RoffBold("podctl-schema") + "(1),");
  page.Line(RoffBold("podctl-validate") + "(1)");
  return {"podctl.yaml", 5, page.text()};
}

}  // namespace podctl
