// Reads the `bootstrap` steps of a pod.
#pragma once

#include <string>
#include <vector>

#include "plans/kinds/pod/reader/node_fields.h"
#include "plans/kinds/step/spec.h"
#include "plans/spec/value_reader.h"
#include "providers/base/worker_selection.h"
#include "providers/os/file_system.h"

namespace podctl {

class StepReader {
 public:
  StepReader(ValueReader& reader, FileSystem& files) : reader_(reader), files_(files) {}

  std::vector<StepSpec> Read(const YamlEntry& bootstrap, const Slot& slot);

 private:
  std::optional<StepSpec> ReadStep(const YamlNode& step, const Slot& slot);
  void ReadKey(const YamlEntry& entry, const Slot& slot, StepSpec& step);
  void ReadWorkers(const YamlNode& node, const Slot& slot, StepSpec& step);
  bool ReadWorkerItem(const YamlNode& item, const Slot& slot, WorkerSelection& selection);
  void ReadVariables(const YamlNode& node, const Slot& slot, StepSpec& step);
  void ReadXrtVersion(const YamlNode& node, const Slot& slot, StepSpec& step);
  void ReadFiles(const YamlNode& node, const Slot& slot, StepSpec& step);

  ValueReader& reader_;
  FileSystem& files_;
};

}  // namespace podctl
