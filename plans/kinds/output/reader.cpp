#include "plans/kinds/output/reader.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "plans/spec/value_reader.h"
#include "state/thing_name.h"

namespace podctl {
namespace {

class OutputReader {
 public:
  OutputReader(const YamlEntry& entry, const Section& section)
      : entry_(entry), reader_(section.reader), slot_{section.key, entry.key->text} {
    output_.name = entry.key->text;
  }

  OutputSpec Read() {
    const YamlNode& key = *entry_.key;
    if (!IsThingName(key.text)) {
      reader_.Error(key, slot_, fmt::format("{} is no name for an output", FoundWords(key)),
                    "letters, digits, - and _");
    }
    if (entry_.value->is_map()) {
      ReadMembers();
    } else {
      ReadValue(*entry_.value, slot_);
    }
    if (holds_secret_ && !output_.sensitive) RefuseSecret();
    output_.sensitive = output_.sensitive || holds_secret_;
    return std::move(output_);
  }

 private:
  void ReadMembers() {
    const auto read_value = [&](const YamlNode& value, const Slot& at) { ReadValue(value, at); };
    const auto read_sensitive = [&](const YamlNode& value, const Slot& at) {
      output_.sensitive = reader_.ReadBool(value, at).value_or(false);
    };
    const auto read_description = [&](const YamlNode& value, const Slot& at) {
      output_.description = reader_.ReadPlain(value, at).value_or("");
    };
    reader_.ReadMap(
        *entry_.value, slot_, OutputShape(),
        {{"value", read_value}, {"sensitive", read_sensitive}, {"description", read_description}});
    if (entry_.value->Find("value") != nullptr) return;
    reader_.Error(*entry_.key, slot_, "the output has no `value`");
  }

  void ReadValue(const YamlNode& node, const Slot& slot) {
    const auto text = reader_.ReadText(node, slot, {.pods = true, .things = true, .secrets = true});
    if (!text) return;
    output_.text = text->text;
    holds_secret_ = text->sensitive;
  }

  // As terraform has it: who lets a secret out says so.
  void RefuseSecret() {
    reader_.Error(*entry_.key, slot_,
                  fmt::format("the output `{}` would show a sensitive variable", output_.name),
                  "write {value: …, sensitive: true}");
  }

  const YamlEntry& entry_;
  ValueReader& reader_;
  const Slot slot_;
  OutputSpec output_;
  bool holds_secret_ = false;
};

}  // namespace

const Shape& OutputShape() {
  static const Shape output =
      shape::Map({shape::Required("value", "The text, which may refer to what is made.",
                                  shape::ThingText()),
                  {"sensitive", "Whether it is never shown, but by `--raw`.", shape::Bool()},
                  {"description", "What it is for.", shape::Text()}})
          .Named("output");
  return output;
}

OutputSpec ReadOutput(const YamlEntry& entry, const Section& section) {
  return OutputReader(entry, section).Read();
}

}  // namespace podctl
