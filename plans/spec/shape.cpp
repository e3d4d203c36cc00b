#include "plans/spec/shape.h"

#include <algorithm>
#include <utility>

#include "providers/base/error.h"

namespace podctl {

const Key* Shape::Find(std::string_view key) const {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const Key& known) { return known.name == key; });
  return found == keys.end() ? nullptr : &*found;
}

const Shape& Shape::At(std::string_view key) const {
  const Key* found = Find(key);
  PODCTL_CHECK(found != nullptr);
  return found->shape;
}

std::vector<std::string> Shape::Names() const {
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const Key& key : keys) names.push_back(key.name);
  return names;
}

Shape Shape::Named(std::string_view schema_name) const {
  Shape copy = *this;
  copy.name = schema_name;
  return copy;
}

Shape Shape::Like(const Pattern& pattern) const {
  Shape copy = *this;
  copy.regex = pattern.regex;
  copy.regex_words = pattern.words;
  copy.scalars = pattern.scalars;
  return copy;
}

Shape Shape::Between(std::int64_t fewest, std::int64_t greatest) const {
  Shape copy = *this;
  copy.min = fewest;
  copy.max = greatest;
  return copy;
}

Shape Shape::With(Expressions expressions_allowed) const {
  Shape copy = *this;
  copy.expressions = expressions_allowed;
  return copy;
}

Shape Shape::Such(std::vector<std::string> as) const {
  Shape copy = *this;
  copy.examples = std::move(as);
  return copy;
}

Shape Shape::Within(std::size_t fewest, std::size_t greatest) const {
  Shape copy = *this;
  copy.least = fewest;
  copy.most = greatest;
  return copy;
}

Shape Shape::NotBoth(std::string_view first, std::string_view second) const {
  Shape copy = *this;
  copy.exclusive.emplace_back(first, second);
  return copy;
}

Shape Shape::NeedsOneOf(std::vector<std::string> names) const {
  Shape copy = *this;
  copy.needs_one_of = std::move(names);
  return copy;
}

namespace shape {
namespace {

Shape Of(Shape::Form form) {
  Shape made;
  made.form = form;
  return made;
}

Shape Holding(Shape::Form form, std::vector<Shape> of) {
  Shape made = Of(form);
  made.of = std::move(of);
  return made;
}

}  // namespace

Shape Text() {
  return {};
}

Shape ThingText() {
  return Text().With(Expressions::kThings);
}

Shape Bool() {
  return Of(Shape::Form::kBool);
}

Shape Number(std::int64_t min, std::int64_t max) {
  Shape made = Of(Shape::Form::kNumber);
  made.min = min;
  made.max = max;
  return made;
}

Shape Real() {
  return Of(Shape::Form::kReal);
}

Shape Duration() {
  return Text().Like(kDurationPattern);
}

Shape Workers() {
  constexpr int kLastWorker = 99'999;
  return Text().Like(kWorkersPattern).Between(0, kLastWorker);
}

Shape Word(std::vector<std::string> words) {
  Shape made = Of(Shape::Form::kWord);
  made.words = std::move(words);
  return made;
}

Shape Null() {
  return Of(Shape::Form::kNull);
}

Shape Map(std::vector<Key> keys) {
  Shape made = Of(Shape::Form::kMap);
  made.keys = std::move(keys);
  return made;
}

Shape MapOf(Shape value) {
  return Holding(Shape::Form::kMap, {std::move(value)});
}

Shape MapOf(const Pattern& names, Shape value) {
  return MapOf(std::move(value)).Like(names);
}

Shape ListOf(Shape item) {
  return Holding(Shape::Form::kList, {std::move(item)});
}

Shape Either(std::vector<Shape> choices) {
  return Holding(Shape::Form::kEither, std::move(choices));
}

Key Required(std::string name, std::string doc, Shape value) {
  return {std::move(name), std::move(doc), std::move(value), true};
}

}  // namespace shape

}  // namespace podctl
