#include "plans/spec/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "providers/base/text.h"

namespace podctl {
namespace {

enum class Kind {
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
  Kind kind;
};

constexpr Field kFields[] = {
    // TPUConfig
    {"iterations_per_loop", Kind::kPositive},
    {"num_shards", Kind::kPositive},
    {"num_cores_per_replica", Kind::kPositive},
    {"per_host_input_for_training", Kind::kInput},
    {"tpu_job_name", Kind::kText},
    {"initial_infeed_sleep_secs", Kind::kNumber},
    {"input_partition_dims", Kind::kNumberLists},
    {"eval_training_input_configuration", Kind::kEvalInput},
    {"experimental_host_call_every_n_steps", Kind::kPositive},
    {"experimental_allow_per_host_v2_parallel_get_next", Kind::kSwitch},
    {"experimental_feed_hook", Kind::kObject},
    // RunConfig
    {"model_dir", Kind::kText},
    {"tf_random_seed", Kind::kNumber},
    {"save_summary_steps", Kind::kPositive},
    {"save_checkpoints_steps", Kind::kPositive},
    {"save_checkpoints_secs", Kind::kPositive},
    {"keep_checkpoint_max", Kind::kNumber},
    {"keep_checkpoint_every_n_hours", Kind::kReal},
    {"log_step_count_steps", Kind::kPositive},
    {"protocol", Kind::kText},
    {"experimental_max_worker_delay_secs", Kind::kNumber},
    {"session_creation_timeout_secs", Kind::kPositive},
    {"checkpoint_save_graph_def", Kind::kSwitch},
    {"master", Kind::kText},
    {"evaluation_master", Kind::kText},
    {"session_config", Kind::kObject},
    {"train_distribute", Kind::kObject},
    {"eval_distribute", Kind::kObject},
    {"experimental_distribute", Kind::kObject},
    {"device_fn", Kind::kObject},
    {"cluster", Kind::kObject},
    {"tpu_config", Kind::kObject},
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

std::vector<std::string> PlainFields() {
  std::vector<std::string> names;
  for (const Field& field : kFields) {
    if (field.kind != Kind::kObject) names.emplace_back(field.name);
  }
  return names;
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
  static const std::vector<std::string> for_training(InputWords().begin(), InputWords().end() - 1);
  const auto word = reader.ReadWord(node, slot, for_training);
  if (!word) return std::nullopt;
  return Value(NumberOf(*word));
}

std::optional<Value> ReadEvalInput(ValueReader& reader, const YamlNode& node, const Slot& slot) {
  const auto word = reader.ReadWord(node, slot, {"PER_HOST_V1", "SLICED"});
  if (!word) return std::nullopt;
  return Value(NumberOf(*word));
}

// [[1, 2, 1, 1], null]: an entry for each input, null where it is not cut.
std::optional<Value> ReadNumberLists(ValueReader& reader, const YamlNode& node, const Slot& slot) {
  constexpr std::size_t kMostNumbers = 1000;
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

std::optional<Value> ReadField(ValueReader& reader, Kind kind, const YamlNode& node,
                               const Slot& slot) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto as_value = [](auto read) -> std::optional<Value> {
    if (!read) return std::nullopt;
    return Value(*std::move(read));
  };
  switch (kind) {
    case Kind::kText:
      return as_value(reader.ReadPlain(node, slot));
    case Kind::kNumber:
      return as_value(reader.ReadInt(node, slot, 0, kMost));
    case Kind::kPositive:
      return as_value(reader.ReadInt(node, slot, 1, kMost));
    case Kind::kSwitch:
      return as_value(reader.ReadBool(node, slot));
    case Kind::kReal:
      return ReadReal(reader, node, slot);
    case Kind::kInput:
      return ReadInput(reader, node, slot);
    case Kind::kEvalInput:
      return ReadEvalInput(reader, node, slot);
    case Kind::kNumberLists:
      return ReadNumberLists(reader, node, slot);
    case Kind::kObject:
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
      reader.UnknownKey(*entry.key, slot.Path(), PlainFields());
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
