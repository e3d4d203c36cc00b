#include "plans/spec/yaml_events.h"

#include <yaml.h>

#include <algorithm>

#include "providers/base/error.h"

namespace podctl {
namespace {

constexpr std::size_t kStep = 64;  // characters

bool BeginsCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

std::string TextOf(const yaml_char_t* text) {
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

struct OwnedEvent {
  OwnedEvent() = default;
  ~OwnedEvent() { yaml_event_delete(&event); }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;
  yaml_event_t event{};
};

}  // namespace

struct YamlEvents::Parser {
  Parser() { PODCTL_CHECK(yaml_parser_initialize(&parser) == 1); }  // else out of memory
  ~Parser() { yaml_parser_delete(&parser); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  yaml_parser_t parser{};
};

YamlEvents::YamlEvents(std::string_view text) : text_(text), parser_(std::make_unique<Parser>()) {
  yaml_parser_set_encoding(&parser_->parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser_->parser,
                               reinterpret_cast<const unsigned char*>(text.data()), text.size());
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return;
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (BeginsCharacter(text[i]) && characters++ % kStep == 0) steps_.push_back(i);
  }
}

YamlEvents::~YamlEvents() = default;

std::size_t YamlEvents::ByteOf(std::size_t character) const {
  if (steps_.empty()) return std::min(character, text_.size());
  if (character / kStep >= steps_.size()) return text_.size();
  std::size_t byte = steps_[character / kStep];
  for (std::size_t left = character % kStep; left > 0 && byte < text_.size(); --left) {
    ++byte;
    while (byte < text_.size() && !BeginsCharacter(text_[byte])) ++byte;
  }
  return byte;
}

void YamlEvents::TakeError() {
  const yaml_parser_t& parser = parser_->parser;
  error_.problem = parser.problem == nullptr ? "out of memory" : parser.problem;
  if (parser.error == YAML_READER_ERROR) {
    error_.offset = std::min(parser.problem_offset, text_.size());
    return;
  }
  error_.offset = ByteOf(parser.problem_mark.index);
  if (parser.context != nullptr) {
    error_.context = parser.context;
    error_.context_offset = ByteOf(parser.context_mark.index);
  }
}

std::optional<YamlEvent> YamlEvents::Next() {
  OwnedEvent owned;
  while (true) {
    if (yaml_parser_parse(&parser_->parser, &owned.event) != 1) {
      TakeError();
      return std::nullopt;
    }
    // What carries nothing.
    if (owned.event.type != YAML_STREAM_START_EVENT &&
        owned.event.type != YAML_DOCUMENT_END_EVENT) {
      break;
    }
    yaml_event_delete(&owned.event);
  }
  const yaml_event_t& from = owned.event;
  YamlEvent to;
  to.offset = ByteOf(from.start_mark.index);
  switch (from.type) {
    case YAML_DOCUMENT_START_EVENT:
      to.kind = YamlEvent::Kind::kDocument;
      break;
    case YAML_ALIAS_EVENT:
      to.kind = YamlEvent::Kind::kAlias;
      to.anchor = TextOf(from.data.alias.anchor);
      break;
    case YAML_SCALAR_EVENT:
      to.kind = YamlEvent::Kind::kScalar;
      to.anchor = TextOf(from.data.scalar.anchor);
      to.tag = TextOf(from.data.scalar.tag);
      to.text.assign(reinterpret_cast<const char*>(from.data.scalar.value),
                     from.data.scalar.length);
      to.plain_style = from.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
      break;
    case YAML_SEQUENCE_START_EVENT:
      to.kind = YamlEvent::Kind::kListStart;
      to.anchor = TextOf(from.data.sequence_start.anchor);
      to.tag = TextOf(from.data.sequence_start.tag);
      break;
    case YAML_MAPPING_START_EVENT:
      to.kind = YamlEvent::Kind::kMapStart;
      to.anchor = TextOf(from.data.mapping_start.anchor);
      to.tag = TextOf(from.data.mapping_start.tag);
      break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      to.kind = YamlEvent::Kind::kEnd;
      break;
    default:
      to.kind = YamlEvent::Kind::kStreamEnd;
      break;
  }
  return to;
}

}  // namespace podctl
