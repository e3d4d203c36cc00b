// Reads `trainingJobs`: jobs in the manner of Caliban, checked against its grammar and its tables
// (plans/kinds/training_job/requests.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plans/kinds/training_job/spec.h"
#include "plans/spec/value_reader.h"

namespace podctl {

class TrainingJobReader {
 public:
  // `project`: of jobs that name none; nullopt: there is none.
  TrainingJobReader(ValueReader& reader, std::optional<std::string> project)
      : reader_(reader), project_(std::move(project)) {}

  // One job. What is wrong is reported, and the rest read all the same.
  TrainingJobSpec Read(const YamlNode& key, const YamlNode& job);

 private:
  void ReadKey(const YamlEntry& entry, const Slot& slot);
  void ReadSpec(const YamlNode& node, const Slot& slot);
  void ReadArgs(const YamlNode& node, const Slot& slot);
  void ReadLabels(const YamlNode& node, const Slot& slot);
  void Check(const YamlNode& key, const YamlNode& job, const Slot& slot);
  void CheckRegion(const YamlNode& key, const YamlNode& job, const Slot& slot);

  ValueReader& reader_;
  const std::optional<std::string> project_;
  TrainingJobSpec job_;
  bool no_gpu_ = false;  // `gpuSpec: none`
  bool bad_spec_ = false;
};

}  // namespace podctl
