#include "plans/spec/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "providers/base/text.h"

namespace podctl {
namespace {

enum class FieldKind {
  kText,
  kNumber,       // whole, 0 or more
  kPositive,     // whole, 1 or more
  kReal,         // 0 or more
  kSwitch,       // true or false
  kInput,        // per_host_input_for_training: a switch, or a word of InputPipelineConfig
  kEvalInput,    // eval_training_input_configuration: one of two of these words
  kNumberLists,  // input_partition_dims
  kObject,       // of a program: not for a file
};

struct Field {
  std::string_view name;
  FieldKind kind;
};

constexpr Field kFields[] = {
    // TPUConfig
    {"iterations_per_loop", FieldKind::kPositive},
    {"num_shards", FieldKind::kPositive},
    {"num_cores_per_replica", FieldKind::kPositive},
    {"per_host_input_for_training", FieldKind::kInput},
    {"tpu_job_name", FieldKind::kText},
    {"initial_infeed_sleep_secs", FieldKind::kNumber},
    {"input_partition_dims", FieldKind::kNumberLists},
    {"eval_training_input_configuration", FieldKind::kEvalInput},
    {"experimental_host_call_every_n_steps", FieldKind::kPositive},
    {"experimental_allow_per_host_v2_parallel_get_next", FieldKind::kSwitch},
    {"experimental_feed_hook", FieldKind::kObject},
    // RunConfig
    {"model_dir", FieldKind::kText},
    {"tf_random_seed", FieldKind::kNumber},
    {"save_summary_steps", FieldKind::kPositive},
    {"save_checkpoints_steps", FieldKind::kPositive},
    {"save_checkpoints_secs", FieldKind::kPositive},
    {"keep_checkpoint_max", FieldKind::kNumber},
    {"keep_checkpoint_every_n_hours", FieldKind::kReal},
    {"log_step_count_steps", FieldKind::kPositive},
    {"protocol", FieldKind::kText},
    {"experimental_max_worker_delay_secs", FieldKind::kNumber},
    {"session_creation_timeout_secs", FieldKind::kPositive},
    {"checkpoint_save_graph_def", FieldKind::kSwitch},
    {"master", FieldKind::kText},
    {"evaluation_master", FieldKind::kText},
    {"session_config", FieldKind::kObject},
    {"train_distribute", FieldKind::kObject},
    {"eval_distribute", FieldKind::kObject},
    {"experimental_distribute", FieldKind::kObject},
    {"device_fn", FieldKind::kObject},
    {"cluster", FieldKind::kObject},
    {"tpu_config", FieldKind::kObject},
};

// Their numbers are their places, from 1 (tensorflow_estimator/python/estimator/tpu/tpu_config.py):
// TensorFlow compares numbers, takes no word, and says nothing when it is given one.
const std::vector<std::string>& InputWords() {
  static const std::vector<std::string> words = {"PER_SHARD_V1", "PER_HOST_V1", "PER_HOST_V2",
                                                 "BROADCAST", "SLICED"};
  return words;
}

std::int64_t NumberOf(const std::string& word) {
  const auto& words = InputWords();
  return std::find(words.begin(), words.end(), word) - words.begin() + 1;
}

const Field* FindField(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kFields), std::end(kFields),
                                         [&](const Field& field) { return field.name == name; });
  return found == std::end(kFields) ? nullptr : found;
}

// per_host_input_for_training knows all of them but the last one.
std::vector<std::string> WordsForTraining() {
  return {InputWords().begin(), InputWords().end() - 1};
}

constexpr std::size_t kMostNumbers = 1000;

// Of one that is no object of a program.
Shape ShapeOfField(FieldKind kind) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  switch (kind) {
    case FieldKind::kText:
    case FieldKind::kObject:
      break;
    case FieldKind::kNumber:
      return shape::Number(0, kMost);
    case FieldKind::kPositive:
      return shape::Number(1, kMost);
    case FieldKind::kReal:
      return shape::Real();
    case FieldKind::kSwitch:
      return shape::Bool();
    case FieldKind::kInput:
      return shape::Either({shape::Bool(), shape::Word(WordsForTraining())});
    case FieldKind::kEvalInput:
      return shape::Word({"PER_HOST_V1", "SLICED"});
    case FieldKind::kNumberLists: {
      const Shape numbers = shape::ListOf(shape::Number(1, std::numeric_limits<int>::max()));
      return shape::ListOf(shape::Either({shape::Null(), numbers})).Within(0, kMostNumbers);
    }
  }
  return shape::Text();
}

std::optional<Value> ReadReal(ValueReader& reader, const YamlNode& node, const Slot& slot) {
  if (node.is_scalar()) {
    const auto text = reader.ReadPlain(node, slot);
    if (!text) return std::nullopt;
    const auto number = ParseNumber<double>(*text);
    if (number && *number >= 0) return Value(*number);
  }
  reader.Error(node, slot,
               fmt::format("`{}` must be a number of hours, found {}", slot.key, FoundWords(node)));
  return std::nullopt;
}

std::optional<Value> ReadInput(ValueReader& reader, const YamlNode& node, const Slot& slot) {
  if (node.is_scalar() && node.plain && (node.text == "true" || node.text == "false")) {
    return Value(node.text == "true");
  }
  const auto word = reader.ReadWord(node, slot, WordsForTraining());
  if (!word) return std::nullopt;
  return Value(NumberOf(*word));
}

std::optional<Value> ReadEvalInput(ValueReader& reader, const YamlNode& node, const Slot& slot) {
  const auto word = reader.ReadWord(node, slot, ShapeOfField(FieldKind::kEvalInput));
  if (!word) return std::nullopt;
  return Value(NumberOf(*word));
}

// [[1, 2, 1, 1], null]: an entry for each input, null where it is not cut.
std::optional<Value> ReadNumberLists(ValueReader& reader, const YamlNode& node, const Slot& slot) {
  if (!reader.ExpectList(node, slot)) return std::nullopt;
  if (node.size > kMostNumbers) {
    reader.Error(node, slot, fmt::format("more than {} numbers", kMostNumbers));
    return std::nullopt;
  }
  Value lists = Value::EmptyList();
  for (const YamlNodePtr& item : node.items) {
    if (item->is_null()) {
      lists.MutableList().emplace_back();
      continue;
    }
    if (!reader.ExpectList(*item, slot)) return std::nullopt;
    Value numbers = Value::EmptyList();
    for (const YamlNodePtr& each : item->items) {
      const auto number = reader.ReadInt(*each, slot, 1, std::numeric_limits<int>::max());
      if (!number) return std::nullopt;
      numbers.MutableList().emplace_back(*number);
    }
    lists.MutableList().push_back(std::move(numbers));
  }
  return lists;
}

std::optional<Value> ReadField(ValueReader& reader, FieldKind kind, const YamlNode& node,
                               const Slot& slot) {
  const auto as_value = [](auto read) -> std::optional<Value> {
    if (!read) return std::nullopt;
    return Value(*std::move(read));
  };
  switch (kind) {
    case FieldKind::kText:
      return as_value(reader.ReadPlain(node, slot));
    case FieldKind::kNumber:
      return as_value(reader.ReadInt(node, slot, ShapeOfField(kind)));
    case FieldKind::kPositive:
      return as_value(reader.ReadInt(node, slot, ShapeOfField(kind)));
    case FieldKind::kSwitch:
      return as_value(reader.ReadBool(node, slot));
    case FieldKind::kReal:
      return ReadReal(reader, node, slot);
    case FieldKind::kInput:
      return ReadInput(reader, node, slot);
    case FieldKind::kEvalInput:
      return ReadEvalInput(reader, node, slot);
    case FieldKind::kNumberLists:
      return ReadNumberLists(reader, node, slot);
    case FieldKind::kObject:
      break;
  }
  reader.Error(node, slot, fmt::format("`{}` is an object of the program", slot.key),
               "set it in the program's own code");
  return std::nullopt;
}

}  // namespace

bool IsTpuConfigField(std::string_view name) {
  const auto* const first_of_run_config = FindField("model_dir");
  const Field* const field = FindField(name);
  return field != nullptr && field < first_of_run_config;
}

const Shape& RunConfigShape() {
  static const Shape config = [] {
    Shape map = shape::Map({});
    for (const Field& field : kFields) {
      if (field.kind == FieldKind::kObject) continue;
      map.keys.push_back({std::string(field.name),
                          fmt::format("A field of TensorFlow's {}.",
                                      IsTpuConfigField(field.name) ? "TPUConfig" : "RunConfig"),
                          ShapeOfField(field.kind)});
    }
    map.keys.push_back({std::string(kRunConfigFlags),
                        "`false`: the fields stand in the files alone, and not behind the command.",
                        shape::Bool()});
    return map.Named("runConfig").NotBoth("save_checkpoints_steps", "save_checkpoints_secs");
  }();
  return config;
}

std::vector<std::pair<std::string, Value>> ReadRunConfig(ValueReader& reader, const YamlNode& node,
                                                         const Slot& slot) {
  std::vector<std::pair<std::string, Value>> config;
  if (!reader.ExpectMap(node, slot)) return config;
  for (const YamlEntry& entry : node.entries) {
    const Slot below = slot.Below(entry.key->text);
    if (entry.key->text == "use_tpu") {
      reader.Error(*entry.key, below, "`use_tpu` is podctl's to set",
                   "it is True on the pod, and False with `podctl run --local`");
      continue;
    }
    if (entry.key->text == kRunConfigFlags) {
      if (const auto flags = reader.ReadBool(*entry.value, below)) {
        config.emplace_back(entry.key->text, *flags);
      }
      continue;
    }
    const Field* field = FindField(entry.key->text);
    if (field == nullptr) {
      reader.UnknownKey(*entry.key, slot.Path(), RunConfigShape().Names());
      continue;
    }
    if (auto value = ReadField(reader, field->kind, *entry.value, below)) {
      config.emplace_back(entry.key->text, *std::move(value));
    }
  }
  const YamlEntry* steps = node.Find("save_checkpoints_steps");
  const YamlEntry* seconds = node.Find("save_checkpoints_secs");
  if (steps != nullptr && seconds != nullptr) {
    reader.Conflict(*seconds->key, slot,
                    "`save_checkpoints_steps` and `save_checkpoints_secs` exclude each other",
                    *steps->key, "the other one is here");
  }
  return config;
}

}  // namespace podctl
