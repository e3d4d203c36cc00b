#include "plans/spec/schema.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "plans/spec/job_reader.h"
#include "plans/spec/moves_reader.h"
#include "plans/spec/names.h"
#include "plans/spec/prices_reader.h"
#include "plans/spec/variables.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// What of a text is no expression: no `$`, one before anything but a brace, or an escaped one.
constexpr std::string_view kLiteral = R"([^$]|\$(?!\{)|\$\$\{)";
constexpr std::string_view kInput = R"(\$\{ *(?:var|env)\.[A-Za-z0-9_-]+ *\})";
constexpr std::string_view kThing =
    R"(\$\{ *(?:(?:var|env)\.[A-Za-z0-9_-]+|[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[^}\n]+?) *\})";

constexpr const char* kExpression = "expression";
constexpr const char* kText = "text";
constexpr const char* kThingText = "textOfThings";

// A text of literals and of the expressions that may stand in it.
std::string TextRegex(Expressions expressions) {
  switch (expressions) {
    case Expressions::kNone:
      return fmt::format("(?:{})*", kLiteral);
    case Expressions::kInputs:
      return fmt::format("(?:{}|{})*", kLiteral, kInput);
    case Expressions::kThings:
      break;
  }
  return fmt::format("(?:{}|{})*", kLiteral, kThing);
}

std::string_view ExpressionWords(Expressions expressions) {
  switch (expressions) {
    case Expressions::kNone:
      return "no expression can stand here; write $${ for the text itself";
    case Expressions::kInputs:
      return "here ${ begins ${var.NAME} or ${env.NAME}; write $${ for the text itself";
    case Expressions::kThings:
      break;
  }
  return "${ begins ${var.NAME}, ${env.NAME} or a reference such as ${pod.NAME.PATH}; write $${ "
         "for "
         "the text itself";
}

// One that holds an expression: what it becomes is not known here.
std::string WithExpression(Expressions expressions) {
  return R"(^(?=[\s\S]*\$\{))" + TextRegex(expressions) + "$";
}

Value Texts(const std::vector<std::string>& words) {
  Value::List list;
  for (const std::string& word : words) list.emplace_back(word);
  return list;
}

Value RefTo(std::string_view name) {
  return Value::Map{{"$ref", fmt::format("#/definitions/{}", name)}};
}

class SchemaWriter {
 public:
  Value Write(const Shape& shape) {
    if (shape.name.empty()) return Body(shape);
    if (definitions_.Find(shape.name) == nullptr) {
      definitions_.Set(shape.name, Value::EmptyMap());  // it may hold itself
      definitions_.Set(shape.name, Body(shape));
    }
    return RefTo(shape.name);
  }

  // What those that were written refer to.
  Value TakeDefinitions() {
    definitions_.Set(kExpression, Value::Map{{"type", "string"},
                                             {"pattern", WithExpression(Expressions::kInputs)},
                                             {"description", "${var.NAME} or ${env.NAME}"}});
    definitions_.Set(kText, PlainText(Expressions::kInputs));
    definitions_.Set(kThingText, PlainText(Expressions::kThings));
    return std::move(definitions_);
  }

 private:
  static Value ScalarTypes() { return Texts({"string", "number", "boolean"}); }

  static Value TypesOf(const Shape& text) {
    if (text.scalars.empty()) return "string";
    std::vector<std::string> types = SplitWords(text.scalars);
    types.insert(types.begin(), "string");
    return Texts(types);
  }

  static Value PlainText(Expressions expressions) {
    return Value::Map{{"type", ScalarTypes()},
                      {"pattern", "^" + TextRegex(expressions) + "$"},
                      {"patternErrorMessage", ExpressionWords(expressions)},
                      {"errorMessage", "this has to be a text"}};  // and is a map, a list, nothing
  }

  Value Body(const Shape& shape) {
    switch (shape.form) {
      case Shape::Form::kText:
        return Text(shape);
      case Shape::Form::kBool:
        return OrExpression(Value::Map{{"type", "boolean"}});
      case Shape::Form::kNumber:
        return OrExpression(Number(shape));
      case Shape::Form::kReal:
        return OrExpression(Value::Map{{"type", "number"}, {"minimum", shape.min}});
      case Shape::Form::kWord:
        return OrExpression(Value::Map{{"enum", Texts(shape.words)}});
      case Shape::Form::kMap:
        return Map(shape);
      case Shape::Form::kList:
        return List(shape);
      case Shape::Form::kEither: {
        Value::List choices;
        for (const Shape& choice : shape.of) choices.push_back(Write(choice));
        return Value::Map{{"anyOf", std::move(choices)}};
      }
      case Shape::Form::kNull:
        break;
    }
    return Value::Map{{"type", "null"}};
  }

  static Value OrExpression(Value schema) {
    return Value::Map{{"anyOf", Value::List{std::move(schema), RefTo(kExpression)}}};
  }

  static Value Number(const Shape& shape) {
    // Beyond it not every reader of JSON tells one number from the next.
    constexpr std::int64_t kLargest = std::int64_t{1} << 53;
    Value schema = Value::Map{{"type", "integer"}, {"minimum", shape.min}};
    if (shape.max <= kLargest) schema.Set("maximum", shape.max);
    return schema;
  }

  static Value Text(const Shape& shape) {
    Value schema;
    if (shape.regex.empty()) {
      schema = shape.expressions == Expressions::kNone     ? PlainText(Expressions::kNone)
               : shape.expressions == Expressions::kInputs ? RefTo(kText)
                                                           : RefTo(kThingText);
      if (shape.least > 0 || !shape.examples.empty()) {
        schema = Value::Map{{"allOf", Value::List{std::move(schema)}}};
      }
    } else {
      schema = Value::Map{
          {"type", TypesOf(shape)},
          {"pattern", fmt::format("^(?:{})$|{}", shape.regex, WithExpression(shape.expressions))},
          {"patternErrorMessage", "this has to be " + shape.regex_words}};
      // Of a number or the like in its place.
      if (shape.scalars.empty()) schema.Set("errorMessage", "this has to be " + shape.regex_words);
      if (shape.max > 0) schema.Set("minimum", shape.min);
      if (shape.max > 0) schema.Set("maximum", shape.max);
    }
    if (shape.least > 0) schema.Set("minLength", static_cast<std::int64_t>(shape.least));
    if (!shape.examples.empty()) schema.Set("defaultSnippets", Snippets(shape.examples));
    return schema;
  }

  // Offered while one types. As `examples` they would fill the screen when the mouse is on the key:
  // there are hundreds of accelerator types.
  static Value Snippets(const std::vector<std::string>& texts) {
    Value::List snippets;
    for (const std::string& text : texts) {
      snippets.push_back(Value::Map{{"label", text}, {"body", text}});
    }
    return snippets;
  }

  Value List(const Shape& shape) {
    Value schema = Value::Map{{"type", "array"}, {"items", Write(shape.of.front())}};
    if (shape.least > 0) schema.Set("minItems", static_cast<std::int64_t>(shape.least));
    if (shape.most > 0) schema.Set("maxItems", static_cast<std::int64_t>(shape.most));
    return schema;
  }

  Value Map(const Shape& shape) {
    Value schema = Value::Map{{"type", "object"}};
    if (shape.least > 0) schema.Set("minProperties", static_cast<std::int64_t>(shape.least));
    if (shape.most > 0) schema.Set("maxProperties", static_cast<std::int64_t>(shape.most));
    if (!shape.regex.empty()) {
      schema.Set("propertyNames",
                 Value::Map{{"pattern", fmt::format("^(?:{})$", shape.regex)},
                            {"patternErrorMessage", "a name here is " + shape.regex_words}});
    }
    if (shape.keys.empty()) {
      schema.Set("additionalProperties", shape.of.empty() ? Value(false) : Write(shape.of.front()));
      return schema;
    }
    Value members = Value::EmptyMap();
    Value::List required;
    for (const Key& key : shape.keys) {
      members.Set(key.name, Member(key));
      if (key.required) required.emplace_back(key.name);
    }
    schema.Set("properties", std::move(members));
    schema.Set("additionalProperties", false);
    if (!required.empty()) schema.Set("required", std::move(required));
    if (!shape.exclusive.empty()) schema.Set("dependencies", Exclusions(shape));
    if (!shape.needs_one_of.empty()) {
      Value::List choices;
      for (const std::string& name : shape.needs_one_of) {
        choices.push_back(Value::Map{{"required", Texts({name})}});
      }
      schema.Set("anyOf", std::move(choices));
    }
    return schema;
  }

  Value Member(const Key& key) {
    Value schema = Write(key.shape);
    schema.Set("description", key.doc);
    if (key.doc.find('`') != std::string::npos) schema.Set("markdownDescription", key.doc);
    return schema;
  }

  // Where the first key is, the second one is not.
  static Value Exclusions(const Shape& shape) {
    Value all = Value::EmptyMap();
    for (const auto& [first, second] : shape.exclusive) {
      Value none = all[first];
      if (none.is_null()) none = Value::Map{{"properties", Value::EmptyMap()}};
      Value members = none["properties"];
      members.Set(second, false);
      none.Set("properties", std::move(members));
      none.Set("errorMessage", fmt::format("`{}` and this exclude each other", first));
      all.Set(first, std::move(none));
    }
    return all;
  }

  Value definitions_ = Value::EmptyMap();
};

Shape VariablesShape() {
  return shape::MapOf(kEnvironmentNamePattern, shape::Either({VariableShape(), shape::Null()}));
}

}  // namespace

Shape SpecShape(Kinds kinds) {
  std::vector<Key> keys = {
      {"project",
       "The Google Cloud project of what names none. Else `--project`, "
       "`PODCTL_PROJECT`, `GOOGLE_CLOUD_PROJECT` or gcloud's setting.",
       shape::Text().Like(kProjectPattern)},
      {"zone",
       "The zone of every pod that names none. Else `--zone`, `PODCTL_ZONE` or gcloud's "
       "setting.",
       ZoneShape()},
      {"state",
       "Where the state lives: a path beside the spec (`podctl.state.json` unless given), "
       "`gs://BUCKET/PREFIX`, `etcd://HOST:2379/PREFIX` or `https://…`.",
       shape::Text()},
      {"variables",
       "Values from outside, put in as `${var.NAME}`. They come from `--var`, "
       "`PODCTL_VAR_NAME`, a file of `--var-file`, or their default.",
       VariablesShape()}};
  std::vector<Key> sections;
  for (const Kind* kind : kinds) {
    if (kind->section().empty()) continue;
    sections.push_back(kind->SectionKey());
    if (!kind->takes_defaults()) continue;
    // A thing may say one of two keys, and its defaults the other.
    if (sections.back().shape.of.empty()) continue;
    Shape under = sections.back().shape.of.front().Named("defaults");
    under.exclusive.clear();
    keys.push_back({"defaults",
                    fmt::format("Keys of a {0}, merged under every {0}: what a {0} says itself "
                                "wins.",
                                kind->codec().noun()),
                    std::move(under)});
  }
  keys.insert(keys.end(), sections.begin(), sections.end());
  keys.push_back({"stateOf",
                  "Other states by name, each a place as `state` takes it. Their outputs are put "
                  "in as `${state.NAME.outputs.OUTPUT}`.",
                  shape::MapOf(kThingNamePattern, shape::Text())});
  keys.push_back({"prices",
                  "A file of what chips cost, by which plans, `status` and `podctl cost` say what "
                  "pods do: a path from the spec.",
                  shape::Text()});
  keys.push_back({"maxCost",
                  "The most that all of the state's pods may cost, in the currency of `prices`: "
                  "`20/hour`, `500/day`, `9000/month` (of 730 hours). What would cost more, or an "
                  "amount that is not known, is refused.",
                  shape::Text().Like(kCostLimitPattern)});
  keys.push_back({"jobs", "What `podctl run NAME` starts on the workers of a pod.",
                  shape::MapOf(kThingNamePattern, JobShape())});
  keys.push_back({"moved", "Other names for things that exist: they are kept, and not made anew.",
                  MovesShape(kinds)});
  return shape::Map(std::move(keys));
}

Value SpecSchema(Kinds kinds) {
  SchemaWriter writer;
  Value schema = writer.Write(SpecShape(kinds));
  schema.Set("$schema", "http://json-schema.org/draft-07/schema#");
  schema.Set("title", "A spec of podctl");
  schema.Set("description",
             "Cloud TPU pods, what runs on them, and what others are to know of them.");
  schema.Set("definitions", writer.TakeDefinitions());
  return schema;
}

std::string SpecSchemaText(Kinds kinds) {
  return ToJson(SpecSchema(kinds), JsonStyle::kIndented) + "\n";
}

}  // namespace podctl
