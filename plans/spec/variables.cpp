#include "plans/spec/variables.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "plans/spec/references.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

class VariableResolver {
 public:
  VariableResolver(const VariableSources& sources, Problems& problems)
      : sources_(sources), reader_(none_, sources.environment, problems), problems_(problems) {}

  Variables Resolve(const std::vector<YamlEntry>& declarations) {
    std::map<std::string, const YamlNode*> seen;
    for (const YamlEntry& entry : declarations) {
      const std::string& name = entry.key->text;
      const auto [it, is_new] = seen.emplace(name, entry.key.get());
      if (!is_new) {
        reader_.Conflict(*entry.key, {"variables", name},
                         fmt::format("the variable `{}` is declared twice", name), *it->second,
                         "first declared here");
        continue;
      }
      Declare(entry);
    }
    ReportUndeclared();
    return std::move(variables_);
  }

 private:
  void Declare(const YamlEntry& entry) {
    const std::string& name = entry.key->text;
    const Slot slot{"variables", name};
    if (!IsEnvironmentName(name)) {
      reader_.Error(*entry.key, slot,
                    fmt::format("{} is no name for a variable", FoundWords(*entry.key)),
                    "letters, digits and _");
      return;
    }
    Variable variable;
    std::optional<std::string> fallback;
    bool is_broken = false;
    const auto read_default = [&](const YamlNode& value, const Slot& at) {
      fallback = Literal(value, at);
      is_broken = is_broken || !fallback;
    };
    const auto read_description = [&](const YamlNode& value, const Slot& at) {
      if (!value.is_scalar()) Literal(value, at);
    };
    const auto read_sensitive = [&](const YamlNode& value, const Slot& at) {
      variable.sensitive = reader_.ReadBool(value, at).value_or(false);
    };
    if (entry.value->is_scalar()) {
      reader_.Error(*entry.value, slot,
                    fmt::format("`{}` must be a map, found {}", name, FoundWords(*entry.value)),
                    "write {default: …}");
      is_broken = true;
    } else if (!entry.value->is_null()) {
      is_broken = !reader_.ReadMap(*entry.value, slot, VariableShape(),
                                   {{"default", read_default},
                                    {"description", read_description},
                                    {"sensitive", read_sensitive}}) ||
                  is_broken;
    }
    variable.value = Given(name);
    if (!variable.value) variable.value = fallback;
    if (!variable.value && !is_broken) {
      reader_.Error(*entry.key, slot, fmt::format("the variable `{}` has no value", name),
                    fmt::format("give --var {}=VALUE", name),
                    fmt::format("Or set PODCTL_VAR_{}, or a `default` here.", name));
    }
    variables_.emplace(name, std::move(variable));
  }

  std::optional<std::string> Literal(const YamlNode& node, const Slot& slot) {
    if (node.is_scalar()) {
      for (const TemplatePart& part : SplitTemplate(node.text)) {
        if (!part.is_expression()) continue;
        reader_.Error(node, slot, fmt::format("`{}` cannot hold an expression", slot.key),
                      "write `$${` for the text itself");
        return std::nullopt;
      }
    }
    return reader_.ReadPlain(node, slot);
  }

  std::optional<std::string> Given(const std::string& name) {
    if (const auto it = sources_.options.find(name); it != sources_.options.end()) {
      return it->second;
    }
    if (auto value = sources_.environment.Get("PODCTL_VAR_" + name)) return value;
    for (auto file = sources_.files.rbegin(); file != sources_.files.rend(); ++file) {
      const YamlEntry* entry = (*file)->Find(name);
      if (entry == nullptr) continue;
      if (entry->value->is_scalar()) return entry->value->text;
      reader_.ReadPlain(*entry->value, {"", name});  // reports what it is instead of text
    }
    return std::nullopt;
  }

  void ReportUndeclared() {
    std::vector<std::string> names;
    for (const auto& [name, variable] : variables_) names.push_back(name);
    for (const auto& [name, value] : sources_.options) {
      if (variables_.count(name) > 0) continue;
      problems_.AddForFile("", fmt::format("--var {}: the spec has no variable `{}`", name, name),
                           DidYouMean(name, names));
    }
    for (const YamlNodePtr& file : sources_.files) {
      for (const YamlEntry& entry : file->entries) {
        const std::string& name = entry.key->text;
        if (variables_.count(name) > 0) continue;
        reader_.Warn(*entry.key, {"", name}, fmt::format("the spec has no variable `{}`", name),
                     DidYouMean(name, names));
      }
    }
  }

  const VariableSources& sources_;
  const Variables none_;
  ValueReader reader_;
  Problems& problems_;
  Variables variables_;
};

}  // namespace

const Shape& VariableShape() {
  static const Shape variable = shape::Map(
      {{"default", "Its value where none is given.", shape::Text().With(Expressions::kNone)},
       {"description", "What it is for.",
        shape::Text().Like({"[\\s\\S]*", "text", "number boolean"})},
       {"sensitive", "Whether it is never shown or stored.", shape::Bool()}});
  return variable;
}

Variables ResolveVariables(const std::vector<YamlEntry>& declarations,
                           const VariableSources& sources, Problems& problems) {
  return VariableResolver(sources, problems).Resolve(declarations);
}

}  // namespace podctl
