// The bodies in which a training job is asked for: of Vertex AI's custom jobs today
// (aiplatform.googleapis.com v1, projects.locations.customJobs), and of AI Platform's jobs before
// (ml.googleapis.com v1, projects.jobs, ended on 2025-01-31). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plans/kinds/training_job/spec.h"
#include "providers/base/value.h"

namespace podctl {

// The label by which podctl finds a job again whose creation it has not heard of.
inline constexpr std::string_view kRequestLabel = "podctl-request";

// The body of customJobs.create, without podctl's own label: a master pool, and with a TPU a pool
// of the machine `cloud-tpu`, which runs the same image with the same arguments.
Value CustomJobBody(const TrainingJobSpec& job);

// The body that Caliban sent. `time` is its stamp, "20250131_120000".
Value LegacyJobBody(const TrainingJobSpec& job, const std::string& time);
inline constexpr std::string_view kLegacyEnd =
    "AI Platform Training ended on 2025-01-31: nobody answers this request any more.";

// A label's key or value as both services take it: lower case, letters, digits, - and _, at most 63
// characters; a key begins with a letter.
std::string SanitizedLabelKey(std::string_view key);
std::string SanitizedLabelValue(std::string_view value);

// ---- Caliban's grammar of accelerators, and its tables of what goes together: counts, machines,
// regions. The tables are those of its `cloud` command (google/caliban,
// caliban/platform/cloud/types.py). Pure; knows no files and no service.

enum class AcceleratorKind { kGpu, kTpu };

// What is wrong, and what would be right; for a diagnostic.
struct AcceleratorProblem {
  std::string summary;
  std::string suggestion;
  std::string detail;  // where the valid combinations are documented
};

inline constexpr std::string_view kDefaultRegion = "us-central1";
inline constexpr std::string_view kDefaultGpuMachine = "n1-standard-8";
inline constexpr std::string_view kDefaultCpuMachine = "n1-highcpu-32";
inline constexpr std::string_view kDefaultGpuType = "P100";  // one of them

// COUNTxTYPE: parted by exactly one lower-case x; the count is what Python's int() takes; the type
// is looked up in upper case. A TPU's count is checked here, a GPU's with its machine.
std::variant<AcceleratorSpec, AcceleratorProblem> ParseAcceleratorSpec(std::string_view text,
                                                                       AcceleratorKind kind);

// What Python's int() makes of a text: blanks around it, a sign, single underscores between digits.
// nullopt: a ValueError there. What is too large is INT64_MAX.
std::optional<std::int64_t> PythonInt(std::string_view text);

// A GPU without a machine, no accelerator at all, a TPU alone: fills in what Caliban would.
// `no_gpu`: it was said that there is to be none (--nogpu).
void FillInMaster(bool no_gpu, TrainingJobSpec* job);

// The name of a machine for the master; nullopt: it is one.
std::optional<AcceleratorProblem> CheckMachine(std::string_view machine);
// Whether that many fit the machine. Of a machine that is one.
std::optional<AcceleratorProblem> CheckGpuOnMachine(const AcceleratorSpec& gpu,
                                                    std::string_view machine);
// Whether a region has that accelerator.
std::optional<AcceleratorProblem> CheckRegionOf(const AcceleratorSpec& accelerator,
                                                AcceleratorKind kind, std::string_view region);

std::vector<std::string> MasterMachines();

}  // namespace podctl
