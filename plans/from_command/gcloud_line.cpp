// Declared in from_command.h.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <iterator>
#include <map>

#include "plans/from_command/from_command.h"
#include "plans/spec/runtime_flags.h"
#include "plans/spec/spec_writer.h"
#include "providers/base/text.h"
#include "providers/base/value.h"

namespace podctl {
namespace {

enum class Meaning {
  kText,     // of the node's field `target`
  kLower,    // likewise, in lower case
  kNumber,   // of the node's field
  kList,     // of the node's field
  kOn,       // a truth value: true is set in the node's field
  kQueueOn,  // likewise, in a field of the queued resource
  kOwn,      // GcloudLine::TakeOwn knows it
};

struct GcloudFlag {
  FlagRule rule;
  Meaning meaning = Meaning::kOwn;
  std::string_view target = {};
  bool queued = false;  // belongs to queued resources
  bool alpha = false;   // only v2alpha1 has it
};

constexpr GcloudFlag kGcloudFlags[] = {
    {{"accelerator-type"}},
    {{"type"}},
    {{"topology"}, Meaning::kLower, "acceleratorConfig.topology"},
    {{"version"}, Meaning::kText, "runtimeVersion"},
    {{"runtime-version"}, Meaning::kText, "runtimeVersion"},
    {{"description"}, Meaning::kText, "description"},
    {{"network"}, Meaning::kText, "networkConfig.network"},
    {{"subnetwork"}, Meaning::kText, "networkConfig.subnetwork"},
    {{"internal-ips", kSwitch}},
    {{"queue-count"}, Meaning::kNumber, "networkConfig.queueCount"},
    {{"preemptible", kSwitch}, Meaning::kOn, "schedulingConfig.preemptible"},
    {{"spot", kSwitch}},
    {{"reserved", kSwitch}},
    {{"range"}, Meaning::kText, "cidrBlock"},
    {{"service-account"}, Meaning::kText, "serviceAccount.email"},
    {{"scopes"}, Meaning::kList, "serviceAccount.scope"},
    {{"labels"}},
    {{"metadata"}},
    {{"metadata-from-file"}},
    {{"tags"}, Meaning::kList, "tags"},
    {{"data-disk"}},
    {{"shielded-secure-boot", kSwitch}, Meaning::kOn, "shieldedInstanceConfig.enableSecureBoot"},
    {{"boot-disk"}, Meaning::kOwn, "", false, true},
    {{"autocheckpoint-enabled", kSwitch}, Meaning::kOn, "autocheckpointEnabled", false, true},
    {{"reservation"}},
    {{"provisioning-model"}},
    {{"zone"}},
    {Aside("async",
           "apply waits; Ctrl-C leaves the rest to the next run, --no-wait leaves a request in the "
           "queue",
           kSwitch)},
    {Aside("use-service-networking", "it belongs to TPU nodes of old, which are gone", kSwitch)},
    // queued-resources
    {{"node-id"}, Meaning::kOwn, "", true},
    {{"node-count"}, Meaning::kNumber, "slices", true},
    {{"node-prefix"}, Meaning::kOwn, "", true},
    {{"workload-type"}, Meaning::kOwn, "", true, true},
    {{"best-effort", kSwitch}, Meaning::kQueueOn, "bestEffort", true, true},
    {{"guaranteed", kSwitch}, Meaning::kOwn, "", true},
    {{"max-run-duration"}, Meaning::kOwn, "", true, true},
    {{"min-duration"}, Meaning::kOwn, "", true},
    {{"valid-after-duration"}, Meaning::kOwn, "", true},
    {{"valid-after-time"}, Meaning::kOwn, "", true},
    {{"valid-until-duration"}, Meaning::kOwn, "", true},
    {{"valid-until-time"}, Meaning::kOwn, "", true},
    {{"reservation-host-project"}, Meaning::kOwn, "", true},
    {{"reservation-host-folder"}, Meaning::kOwn, "", true},
    {{"reservation-host-organization"}, Meaning::kOwn, "", true},
    {{"network-config"}},
    // Of every gcloud command.
    {{"project"}},
    {Aside("format", "`--json` prints what podctl knows")},
    {Aside("quiet", "`podctl apply --auto-approve` does not ask", kSwitch, 'q')},
    {Aside("verbosity", "podctl has no levels of talk")},
    {Aside("account", "podctl finds credentials as Google's libraries do: `podctl auth status`")},
    {Aside("impersonate-service-account",
           "podctl takes credentials with impersonation: `podctl auth status`")},
    {Aside("billing-project", "the quota project comes with the credentials")},
    {Aside("configuration", "podctl reads gcloud's active configuration only")},
    {Aside("log-http", "podctl has no log of requests", kSwitch)},
    {Aside("user-output-enabled", "podctl always says what it does", kSwitch)},
    {Aside("access-token-file", "set CLOUDSDK_AUTH_ACCESS_TOKEN_FILE")},
    {Aside("trace-token", "podctl sends none")},
    {Aside("flatten", "it is about gcloud's output")},
};

// From when on, or until when, a queued resource waits for capacity.
struct QueueBound {
  std::string duration;  // GcloudDuration's, from now on
  std::optional<std::chrono::sys_seconds> moment;

  bool given() const { return !duration.empty() || moment; }
};

std::string MomentText(std::chrono::sys_seconds moment) {  // "2026-11-22T08:00:00Z"
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(moment)));
}

// The members of queueingPolicy. One bound is sent as it is; of two gcloud makes an interval, and
// counts durations from `now`, which must be known then.
std::map<std::string, std::string> QueueingPolicy(const QueueBound& after, const QueueBound& until,
                                                  std::optional<std::chrono::sys_seconds> now) {
  const auto moment = [&](const QueueBound& bound) {
    if (bound.moment) return MomentText(*bound.moment);
    const auto span = ParseDuration(bound.duration).value_or(std::chrono::milliseconds(0));
    return MomentText(now.value_or(std::chrono::sys_seconds()) +
                      std::chrono::duration_cast<std::chrono::seconds>(span));
  };
  if (after.given() && until.given()) {
    return {{"validInterval.startTime", moment(after)}, {"validInterval.endTime", moment(until)}};
  }
  std::map<std::string, std::string> policy;
  for (const auto& [bound, name] : {std::pair(&after, "After"), std::pair(&until, "Until")}) {
    if (bound->moment) policy[fmt::format("valid{}Time", name)] = moment(*bound);
    if (!bound->duration.empty()) policy[fmt::format("valid{}Duration", name)] = bound->duration;
  }
  return policy;
}

// `gcloud [alpha|beta] compute tpus {tpu-vm|queued-resources} create`, and `compute tpus create` of
// old, as a pod. Flags and what they send are those of gcloud 528.

enum class Command { kTpuVm, kQueued, kOld };

// A word as the API writes it: "flex-start" -> "FLEX_START".
std::string ApiWord(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return word;
}

class GcloudLine : ToolLine {
 public:
  GcloudLine(FlagWords words, const LineWorld& world) : words_(std::move(words)), world_(world) {}

  Result<FromCommand> Convert() {
    if (auto found = FindCommand(); !found) return found.error();
    node_ = Value::EmptyMap();
    node_.SetPath("networkConfig.enableExternalIps", true);  // gcloud's default
    if (command_ == Command::kQueued) queued_ = Value::EmptyMap();
    for (const GivenFlag& flag : words_.flags) Take(flag);
    for (const std::string& word : words_.command) Refuse(word, "podctl does not know it");
    Finish();
    if (auto refused = Refused()) return *std::move(refused);
    made_.text = Write();
    return std::move(made_);
  }

 private:
  Result<void> FindCommand() {
    std::vector<std::string>& words = words_.positionals;
    if (!words.empty() && (words[0] == "alpha" || words[0] == "beta")) {
      alpha_ = words[0] == "alpha";
      words.erase(words.begin());
    }
    const std::string said =
        Join({words.begin(),
              words.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(words.size(), 4))},
             " ");
    std::size_t name = 0;
    if (said == "compute tpus tpu-vm create") {
      command_ = Command::kTpuVm;
      name = 4;
    } else if (said == "compute tpus queued-resources create") {
      command_ = Command::kQueued;
      name = 4;
    } else if (said.starts_with("compute tpus create")) {
      command_ = Command::kOld;
      name = 3;
    } else {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("`gcloud {}` creates no TPU", VisibleControls(said)),
                       "Known are `compute tpus tpu-vm create`, `compute tpus queued-resources "
                       "create` and `compute tpus create`.");
    }
    made_.tool =
        fmt::format("gcloud {}{}", alpha_ ? "alpha " : "",
                    Join({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(name)}, " "));
    if (words.size() <= name) {
      return MakeError(ErrorCode::kInvalidArgument, "the line names no TPU",
                       fmt::format("`{} NAME …`", made_.tool));
    }
    id_ = words[name];
    for (std::size_t i = name + 1; i < words.size(); ++i) {
      Refuse(words[i], fmt::format("a second name beside `{}`", VisibleControls(id_)));
    }
    return {};
  }

  void Take(const GivenFlag& given) {
    if (!CanBeTaken(given)) return;
    const GcloudFlag& flag =
        *std::find_if(std::begin(kGcloudFlags), std::end(kGcloudFlags),
                      [&](const GcloudFlag& each) { return each.rule.name == given.name; });
    const std::string shown = Shown(given);
    if (flag.queued && command_ != Command::kQueued) {
      return Refuse(shown, "it belongs to queued resources");
    }
    const std::string value = given.value.value_or("");
    const bool on = LowerCase(value) != "false";
    if (on || flag.rule.takes_value) needs_alpha_ = needs_alpha_ || flag.alpha;
    switch (flag.meaning) {
      case Meaning::kText:
        return node_.SetPath(flag.target, value);
      case Meaning::kLower:
        return node_.SetPath(flag.target, LowerCase(value));
      case Meaning::kNumber:
        return TakeNumber(shown, value, flag.target);
      case Meaning::kList: {
        const auto items = SplitGcloudList(value);
        return node_.SetPath(flag.target, Value::List(items.begin(), items.end()));
      }
      case Meaning::kOn:
        if (on) node_.SetPath(flag.target, true);
        return;
      case Meaning::kQueueOn:
        if (on) queued_.Set(flag.target, true);
        return;
      case Meaning::kOwn:
        if (flag.queued) return TakeQueue(shown, given.name, value, on);
        return TakeOwn(shown, given.name, value, on);
    }
  }

  void TakeOwn(const std::string& shown, const std::string& name, const std::string& value,
               bool on) {
    const bool queued = command_ == Command::kQueued;
    if (name == "accelerator-type") {
      node_.Set("acceleratorType", HasExpansion(value) ? value : LowerCase(value));
    } else if (name == "type") {
      const std::string type = LowerCase(value);
      node_.SetPath("acceleratorConfig.type", type == "v5litepod" ? "V5LITE_POD" : ApiWord(type));
    } else if (name == "zone" || name == "project") {
      // A full name, as gcloud takes one too.
      (name == "zone" ? zone_ : project_) = value.substr(value.rfind('/') + 1);
    } else if (name == "spot") {
      if (on) (queued ? queued_ : node_).SetPath(queued ? "spot" : "schedulingConfig.spot", true);
    } else if (name == "reserved") {
      if (on && !queued) node_.SetPath("schedulingConfig.reserved", true);
      if (on && queued) reservation_ = "-";
      if (on && queued && reservation_flag_.empty()) reservation_flag_ = shown;
    } else if (name == "reservation") {
      reservation_ = value;
      reservation_flag_ = shown;
    } else if (name == "provisioning-model") {
      TakeModel(LowerCase(value));
    } else if (name == "internal-ips") {
      internal_ips_ = on;
      node_.SetPath("networkConfig.enableExternalIps", !on);
    } else if (name == "network-config") {
      TakeNetworkConfig(shown, value);
    } else if (name == "labels") {
      for (const auto& [key, text] : Dict(shown, value)) labels_[key] = text;
    } else if (name == "metadata") {
      for (const auto& [key, text] : Dict(shown, value)) TakeMetadata(key, text);
    } else if (name == "metadata-from-file") {
      for (const auto& [key, path] : Dict(shown, value)) metadata_[key].Set("file", path);
    } else if (name == "data-disk") {
      TakeDisk(shown, value);
    } else {
      TakeBootDisk(shown, value);
    }
  }

  void TakeModel(const std::string& model) {
    if (model == "standard") return;
    needs_alpha_ = true;
    if (command_ == Command::kQueued) return queued_.Set("provisioningModel", ApiWord(model));
    node_.SetPath("schedulingConfig.provisioningModel", ApiWord(model));
  }

  void TakeNumber(const std::string& flag, const std::string& text, std::string_view path) {
    const bool number = !text.empty() && text.size() < 10 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    if (!number) return Refuse(flag, fmt::format("`{}` is no number", VisibleControls(text)));
    node_.SetPath(path, std::stoi(text));
  }

  std::vector<std::pair<std::string, std::string>> Dict(const std::string& shown,
                                                        const std::string& value) {
    std::vector<std::string> odd;
    auto entries = SplitGcloudDict(value, &odd);
    for (const std::string& item : odd) {
      Refuse(shown, fmt::format("`{}` has no `=`", VisibleControls(item)));
    }
    return entries;
  }

  void TakeMetadata(const std::string& key, const std::string& text) {
    if (key == kRuntimeVariablesKey && TakeRuntime(text)) return;
    metadata_[key] = text;
  }

  // `-e NAME=VALUE …`, as docker run takes it. False: it holds something else too.
  bool TakeRuntime(const std::string& text) {
    const Result<ShellLine> split = SplitShellLine(text);
    if (!split || !split->rest.empty()) return false;
    std::map<std::string, std::string> variables;
    const std::vector<std::string>& words = split->words;
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string pair;
      if ((words[i] == "-e" || words[i] == "--env") && i + 1 < words.size()) {
        pair = words[++i];
      } else if (words[i].starts_with("--env=")) {
        pair = words[i].substr(6);
      } else {
        Left(std::string(kRuntimeVariablesKey),
             "is kept as metadata: it holds more than -e NAME=VALUE");
        return false;
      }
      const auto equals = pair.find('=');
      if (equals == std::string::npos || !IsEnvironmentName(pair.substr(0, equals))) return false;
      variables[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
    if (const auto flags = variables.find(std::string(kRuntimeFlagsVariable));
        flags != variables.end() && TakeLibtpuFlags(flags->second)) {
      variables.erase(flags);
    }
    for (const auto& [name, value] : variables) runtime_env_[name] = value;
    return true;
  }

  // "--a=1 --b=2". False: something else.
  bool TakeLibtpuFlags(const std::string& text) {
    Value flags = Value::EmptyMap();
    for (const std::string& word : SplitGcloudList("^ ^" + text)) {
      const auto equals = word.find('=');
      const bool is_flag = word.starts_with("--") && equals != std::string::npos &&
                           IsFlagName(std::string_view(word).substr(2, equals - 2));
      if (!is_flag) return false;
      flags.MutableMap()[word.substr(2, equals - 2)] = word.substr(equals + 1);
    }
    libtpu_flags_ = std::move(flags);
    return true;
  }

  void TakeDisk(const std::string& shown, const std::string& value) {
    Value disk = Value::EmptyMap();
    for (const auto& [key, text] : Dict(shown, value)) {
      if (key == "source") {
        disk.Set("sourceDisk", text);
      } else if (key == "mode") {
        disk.Set("mode", LowerCase(text) == "read-only" ? "READ_ONLY" : "READ_WRITE");
      } else {
        Refuse(shown, fmt::format("`{}` is no part of it", VisibleControls(key)));
      }
    }
    node_.MutableMap()["dataDisks"].MutableList().push_back(std::move(disk));
  }

  void TakeBootDisk(const std::string& shown, const std::string& value) {
    for (const auto& [key, text] : Dict(shown, value)) {
      if (key == "kms-key") {
        node_.SetPath("bootDiskConfig.customerEncryptionKey.kmsKeyName", text);
      } else if (key == "confidential-compute") {
        node_.SetPath("bootDiskConfig.enableConfidentialCompute", LowerCase(text) != "false");
      } else {
        Refuse(shown, fmt::format("`{}` is no part of it", VisibleControls(key)));
      }
    }
  }

  void TakeQueue(const std::string& shown, const std::string& name, const std::string& value,
                 bool on) {
    if (name == "node-id" || name == "node-prefix") {
      node_id_ = value;
    } else if (name == "guaranteed") {
      if (on && queued_.Find("guaranteed") == nullptr) queued_.Set("guaranteed", true);
    } else if (name == "workload-type") {
      queued_.Set("workloadType", ApiWord(value));
    } else if (name == "max-run-duration") {
      TakeDuration(shown, value, "runDuration.maxRunDuration");
    } else if (name == "min-duration") {
      TakeDuration(shown, value, "guaranteed.minDuration");
    } else if (name.starts_with("valid-")) {
      QueueBound& bound = name.starts_with("valid-after-") ? after_ : until_;
      bound = {};
      if (name.ends_with("-duration")) {
        bound.duration = GcloudDuration(value).value_or("");
        if (bound.duration.empty()) RefuseDuration(shown, value);
      } else if (bound.moment = ParseTimestamp(value); !bound.moment) {
        Refuse(shown, fmt::format("`{}` is no moment in full, as 2026-11-22T08:00:00Z is",
                                  VisibleControls(value)));
      }
    } else {
      // --reservation-host-project, -folder and -organization
      host_ = fmt::format("{}s/{}", name.substr(name.rfind('-') + 1), value);
      if (reservation_.empty()) reservation_ = "-";
      reservation_flag_ = shown;
    }
  }

  void TakeBounds() {
    const auto now = ParseTimestamp(world_.now);
    if (after_.given() && until_.given() && (!after_.moment || !until_.moment)) {
      if (!now) return Refuse("--valid-until-duration", "what time it is now is not known");
      Left("--valid-after-…, --valid-until-…",
           fmt::format("are counted from {}, as gcloud does", MomentText(*now)));
    }
    for (const auto& [key, value] : QueueingPolicy(after_, until_, now)) {
      queued_.SetPath("queueingPolicy." + key, value);
    }
  }

  void RefuseDuration(const std::string& shown, const std::string& value) {
    Refuse(shown, fmt::format("`{}` is no duration", VisibleControls(value)));
  }

  void TakeDuration(const std::string& shown, const std::string& value, const std::string& path) {
    const auto duration = GcloudDuration(value);
    if (!duration) return RefuseDuration(shown, value);
    if (path.starts_with("guaranteed.") && queued_["guaranteed"].is_bool()) {
      queued_.Erase("guaranteed");
    }
    queued_.SetPath(path, *duration);
  }

  // Each is an interface of the workers'.
  void TakeNetworkConfig(const std::string& shown, const std::string& value) {
    Value& config = interfaces_.emplace_back(Value::EmptyMap());
    config.Set("enableExternalIps", true);
    for (const auto& [key, text] : Dict(shown, value)) {
      if (key == "network" || key == "subnetwork") {
        config.Set(key, text);
      } else if (key == "external-ips") {
        config.Set("enableExternalIps", LowerCase(text) != "false");
      } else {
        Refuse(shown, fmt::format("`{}` is no part of it", VisibleControls(key)));
      }
    }
  }

  // What hangs together.
  void Finish() {
    TakeReservation();
    TakeBounds();
    TakeInterfaces();
    if (zone_.empty()) zone_ = world_.zone;
    if (project_.empty()) project_ = world_.project;
    if (HasExpansion(zone_)) {
      Left("--zone", fmt::format("{} is not known here; put yours in for us-central1-a", zone_));
      zone_ = "us-central1-a";
    }
    if (HasExpansion(project_)) {
      Left("--project",
           fmt::format("{} is not known here; put yours in for {}", project_, kPlaceholderProject));
      project_ = kPlaceholderProject;
    }
    if (project_.empty()) {
      project_ = kPlaceholderProject;
      Left("project", kNoProject);
    }
    if (HasExpansion(id_) || HasExpansion(node_id_)) {
      Left(id_, "a name must be known; put it in");
    }
    const bool typed =
        node_.Find("acceleratorType") != nullptr || node_.Find("acceleratorConfig") != nullptr;
    if (!typed) {
      node_.Set("acceleratorType", "v2-8");
      Left("--accelerator-type", "was not given; v2-8 is gcloud's default");
    }
    if (node_.Find("runtimeVersion") == nullptr) {
      node_.Set("runtimeVersion", "tpu-ubuntu2204-base");
      Left(command_ == Command::kQueued ? "--runtime-version" : "--version",
           "was not given; put in the version you mean");
    }
    if (command_ == Command::kOld) {
      Left("compute tpus create",
           "made TPU nodes of the first architecture, which are gone; this "
           "is a TPU VM: is the runtime version one of those?");
    }
    if (zone_.empty()) {
      zone_ = "us-central1-a";
      Left("--zone", "was not given; put in yours for us-central1-a");
    }
  }

  void TakeInterfaces() {
    if (interfaces_.empty()) return;
    const Value::Map& plain = node_["networkConfig"].AsMap();
    if (plain.size() > 1 || internal_ips_) {
      Refuse("--network-config",
             "goes not together with flags of the only interface: --network, "
             "--subnetwork, --internal-ips, --queue-count");
    }
    if (interfaces_.size() == 1) {
      node_.Set("networkConfig", interfaces_.front());
    } else {
      node_.Erase("networkConfig");
      node_.Set("networkConfigs", Value(std::move(interfaces_)));
    }
  }

  void TakeReservation() {
    if (reservation_.empty()) return;
    if (command_ != Command::kQueued) {
      node_.SetPath("schedulingConfig.reservationName", reservation_);
      needs_alpha_ = true;
      return;
    }
    if (alpha_ && reservation_ == "-" && host_.empty() && queued_.Find("guaranteed") != nullptr) {
      if (queued_["guaranteed"].is_bool()) queued_.Erase("guaranteed");
      queued_.SetPath("guaranteed.reserved", true);
      needs_alpha_ = true;
      return;
    }
    if (reservation_.find('/') == std::string::npos) {
      const std::string owner = host_.empty() && !project_.empty() ? "projects/" + project_ : host_;
      if (owner.empty() || HasExpansion(owner) || zone_.empty() || HasExpansion(zone_)) {
        return Refuse(reservation_flag_, "--project and --zone must be known, of which it is made");
      }
      reservation_ = fmt::format("{}/locations/{}/reservations/{}", owner, zone_, reservation_);
    }
    queued_.Set("reservationName", reservation_);
  }

  std::string Write() {
    YamlText text;
    text.Member("project", project_);
    text.Member("zone", zone_);
    text.Blank();
    text.Begin("pods");
    const bool known = !HasExpansion(id_) && !HasExpansion(node_id_);
    const std::string node = node_id_.empty() ? id_ : node_id_;
    const std::string name = NameFrom(node);
    text.Begin(name);
    if (known && name != node) text.Member("nodeId", node);
    if (needs_alpha_) text.Member("apiVersion", "v2alpha1");
    for (const char* key : {"acceleratorType", "acceleratorConfig", "runtimeVersion"}) {
      if (const Value* member = node_.Find(key)) text.Member(key, *member);
      node_.Erase(key);
    }
    for (const auto& [key, member] : node_.AsMap()) text.Member(key, member);
    if (queued_.is_map()) {
      if (known && id_ != node) queued_.Set("id", id_);
      text.Member("queuedResource", queued_);
    }
    text.Members("labels", labels_);
    if (!libtpu_flags_.is_null()) text.Member("libtpuFlags", libtpu_flags_);
    text.Members("runtimeEnv", runtime_env_);
    if (!metadata_.empty()) {
      text.Begin("metadata");
      for (const auto& [key, value] : metadata_) text.Member(key, value);
      text.End();
    }
    text.End();
    text.End();
    return text.text();
  }

  FlagWords words_;
  const LineWorld& world_;
  Command command_ = Command::kTpuVm;
  bool alpha_ = false;
  bool needs_alpha_ = false;
  std::string id_;
  std::string node_id_;
  std::string project_;
  std::string zone_;
  std::string reservation_;
  std::string reservation_flag_;  // that asked for it
  std::string host_;              // of the reservation: "projects/p", "folders/1"
  QueueBound after_;
  QueueBound until_;
  Value::List interfaces_;
  bool internal_ips_ = false;
  Value node_;
  Value queued_;
  Value libtpu_flags_;
  std::map<std::string, std::string> labels_;
  std::map<std::string, std::string> runtime_env_;
  std::map<std::string, Value> metadata_;
};

}  // namespace

std::span<const FlagRule> GcloudFlags() {
  static const std::vector<FlagRule> rules = [] {
    std::vector<FlagRule> all;
    for (const GcloudFlag& flag : kGcloudFlags) all.push_back(flag.rule);
    return all;
  }();
  return rules;
}

Result<FromCommand> FromGcloud(const std::vector<std::string>& words, const LineWorld& world) {
  return GcloudLine(ReadFlagWords(words, GcloudFlags(), Positionals::kAnywhere), world).Convert();
}

}  // namespace podctl
