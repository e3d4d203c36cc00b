// `python -m torch_xla.distributed.xla_dist … -- command` as a job, and a pod for it to run on.
#include <fmt/format.h>

#include <map>

#include "plans/from_command/flag_words.h"
#include "plans/from_command/from_command.h"
#include "plans/spec/job_reader.h"
#include "plans/spec/spec_writer.h"
#include "providers/base/text.h"
#include "providers/base/value.h"

namespace podctl {
namespace {

constexpr std::string_view kOwnServer = "podctl starts the server of each worker itself";

constexpr FlagRule kXlaDistFlags[] = {
    {"tpu"},
    Aside("vm", "podctl runs on the TPU's own workers"),
    Aside("docker-container", "podctl starts containers itself: give `docker: {image: …}`"),
    {"docker-image"},
    {"docker-run-flag"},
    {"conda-env"},
    {"env"},
    Aside("restart-tpuvm-pod", kOwnServer, kSwitch),
    Aside("restart-tpuvm-pod-server", kOwnServer, kSwitch),
    Aside("tpuvm-server-port", kOwnServer),
};

class XlaDistLine : ToolLine {
 public:
  XlaDistLine(FlagWords words, const LineWorld& world) : words_(std::move(words)), world_(world) {}

  Result<FromCommand> Convert() {
    made_.tool = "python -m torch_xla.distributed.xla_dist";
    for (const GivenFlag& flag : words_.flags) Take(flag);
    if (words_.command.empty()) {
      return MakeError(ErrorCode::kInvalidArgument, "the line has no command to run",
                       "It follows the flags: … --tpu=NAME -- python train.py");
    }
    if (tpu_.empty()) {
      return MakeError(ErrorCode::kInvalidArgument, "the line names no TPU", "Add --tpu=NAME.");
    }
    if (!conda_.empty() && !docker_.AsMap().empty()) {
      Left("--conda-env", "goes not together with docker, which is what is kept");
      conda_.clear();
    }
    if (HasExpansion(tpu_))
      Left("--tpu", fmt::format("{} is not known here; put the name in", tpu_));
    Left("pods",
         "the line does not say what the TPU is: put in its type, its runtime and its zone, "
         "or take the pod out where another file of the spec has it");
    if (world_.project.empty()) Left("project", kNoProject);
    if (auto refused = Refused()) return *std::move(refused);
    made_.text = Write();
    return std::move(made_);
  }

 private:
  void Take(const GivenFlag& flag) {
    if (!CanBeTaken(flag)) return;
    const std::string value = flag.value.value_or("");
    if (flag.name == "tpu") {
      tpu_ = value;
    } else if (flag.name == "conda-env") {
      conda_ = value;
    } else if (flag.name == "env") {
      TakeEnv(value);
    } else if (flag.name == "docker-image") {
      docker_.Set("image", value);
    } else {
      docker_.MutableMap()["flags"].MutableList().emplace_back(value);
    }
  }

  void TakeEnv(const std::string& pair) {
    const auto equals = pair.find('=');
    const std::string name = pair.substr(0, equals);
    if (equals == std::string::npos) return Refuse("--env " + name, "has no `=`");
    if (IsXlaDistVariable(name)) return Left("--env " + name, "the launcher sets it itself");
    env_[name] = pair.substr(equals + 1);
  }

  std::string Write() const {
    const std::string pod = NameFrom(tpu_);
    YamlText text;
    text.Member("project", world_.project.empty() ? kPlaceholderProject : world_.project);
    text.Member("zone", world_.zone.empty() ? "us-central1-a" : world_.zone);
    text.Blank();
    text.Begin("pods");
    text.Begin(pod);
    if (pod != tpu_ && !HasExpansion(tpu_)) text.Member("nodeId", tpu_);
    text.Member("acceleratorType", "v3-32");
    text.Member("runtimeVersion", "tpu-vm-pt-1.13");
    text.Begin("networkConfig");
    text.Member("enableExternalIps", true);
    text.End();
    text.End();
    text.End();
    text.Blank();
    text.Begin("jobs");
    text.Begin("train");
    text.Member("pod", pod);
    text.Member("launcher", "xla_dist");
    text.Member("command", Value::List(words_.command.begin(), words_.command.end()));
    text.Members("env", env_);
    if (!conda_.empty()) text.Member("condaEnv", conda_);
    if (!docker_.AsMap().empty()) text.Member("docker", docker_);
    return text.text();
  }

  const FlagWords words_;
  const LineWorld& world_;
  std::string tpu_;
  std::string conda_;
  std::map<std::string, std::string> env_;
  Value docker_ = Value::EmptyMap();
};

}  // namespace

Result<FromCommand> FromXlaDist(const std::vector<std::string>& words, const LineWorld& world) {
  return XlaDistLine(ReadFlagWords(words, kXlaDistFlags, Positionals::kEndTheFlags), world)
      .Convert();
}

}  // namespace podctl
