#include "plans/kinds/pod/record.h"

#include <algorithm>
#include <utility>

#include "providers/base/text.h"
#include "providers/gcp/operation_name.h"
#include "providers/gcp/tpu_schema.h"
#include "state/record_codec.h"
#include "state/state_json.h"

namespace podctl {

// Found by ObjectWriter.
static void PutMembers(const SshSettings& ssh, ObjectWriter& out) {
  if (ssh.external_address) out.Member("external_address", *ssh.external_address);
  if (ssh.iap) out.Member("iap", *ssh.iap);
  out.Spare("identity_file", ssh.identity_file);
  out.Spare("internal_address", ssh.internal_address);
  if (ssh.os_login_user) out.Member("os_login_user", *ssh.os_login_user);
  if (ssh.port != SshSettings().port) out.Member("port", ssh.port);
  if (ssh.proxy_jump) out.Member("proxy_jump", *ssh.proxy_jump);
  out.Spare("strict_host_keys", ssh.strict_host_keys);
  if (ssh.transport) out.Member("transport", *ssh.transport);
  out.Spare("user", ssh.user);
  if (ssh.withhold_key) out.Member("withhold_key", *ssh.withhold_key);
}

static void PutMembers(const QueuedRecord& queued, ObjectWriter& out) {
  out.Member("slices", queued.slices);
  out.Member("state", queued.state);
  out.Member("terms", queued.terms);
}

static void PutMembers(const CopiedCode& code, ObjectWriter& out) {
  out.Spare("commit", code.commit);
  out.Member("digest", code.digest);
}

static void PutMembers(const WantedJob& job, ObjectWriter& out) {
  out.Spare("arguments", job.arguments);
  out.Member("attempt", job.attempt);
  out.Spare("begins", job.begins);
  out.Spare("by", job.by);
  out.Spare("code", job.code);
  out.Member("since", job.since);
  out.Member("start", job.start);
  out.Spare("uid", job.uid);
  out.Spare("workers", job.workers);
}

namespace {

// The first version of the format in which a pod may have jobs that are to come back.
constexpr int kFormatOfJobs = 7;

// Members that say something only where they are true.
std::optional<bool> SpareTrue(ObjectReader& in, std::string_view key) {
  const Value* flag = in.Optional(key);
  if (flag == nullptr) return std::nullopt;
  if (*flag != Value(true)) in.Fail(fmt::format("has a `{}` that is not true", key));
  return true;
}

SshSettings ReadSsh(ObjectReader in) {
  SshSettings ssh;
  ssh.user = in.SpareText("user");
  if (in.IsThere("port")) ssh.port = static_cast<int>(in.Number("port", 1, 65535));
  ssh.identity_file = in.SpareText("identity_file");
  ssh.internal_address = in.SpareFlag("internal_address");
  ssh.strict_host_keys = in.SpareFlag("strict_host_keys");
  if (const Value* transport = in.Optional("transport")) {
    if (*transport != Value("openssh")) in.Fail("names a transport that is not `openssh`");
    ssh.transport = "openssh";
  }
  if (in.IsThere("proxy_jump")) ssh.proxy_jump = in.Text("proxy_jump");
  ssh.iap = SpareTrue(in, "iap");
  if (in.IsThere("os_login_user")) ssh.os_login_user = in.Text("os_login_user");
  ssh.external_address = SpareTrue(in, "external_address");
  ssh.withhold_key = SpareTrue(in, "withhold_key");
  in.RefuseUnknownMembers();
  return ssh;
}

// Its id is the locator of the auxiliary object.
QueuedRecord ReadQueued(ObjectReader in, const Record& record, bool with_id) {
  QueuedRecord queued;
  if (with_id) in.Text("id");
  if (record.auxiliary.size() == 1) queued.id = record.auxiliary.front().locator;
  queued.slices = static_cast<int>(in.Number("slices", 1, kMostQueuedSlices));
  queued.state = in.Text("state");
  queued.terms = in.Any("terms");
  if (!queued.terms.is_map()) in.Fail("has `terms` that are not an object");
  in.RefuseUnknownMembers();
  return queued;
}

CopiedCode ReadCode(ObjectReader in) {
  CopiedCode code{in.Text("digest"), in.SpareText("commit")};
  in.RefuseUnknownMembers();
  return code;
}

WantedJob ReadWantedJob(ObjectReader in) {
  WantedJob job;
  job.start = in.Text("start");
  job.uid = in.SpareText("uid");
  job.begins = in.SpareFlag("begins");
  job.attempt = static_cast<int>(in.Number("attempt", 1, kMostAttemptsOfJobs));
  job.since = in.Text("since");
  job.by = in.SpareText("by");
  job.workers = in.SpareText("workers");
  job.arguments = in.SpareTexts("arguments");
  if (in.IsThere("code")) {
    for (Value& each : in.List("code")) job.code.push_back(ReadCode(in.Inner(each, "code")));
  }
  in.RefuseUnknownMembers();
  return job;
}

// No spec could have led to another: of such a name the service would say that there is nothing,
// and it would look as if the node were gone.
void CheckNames(ObjectReader& in, const PodRecord& pod) {
  const auto check = [&](std::string_view what, const std::string& name,
                         bool (*is_name)(std::string_view)) {
    if (!name.empty() && !is_name(name))
      in.Fail(fmt::format("has a {} that is none, `{}`", what, name));
  };
  // Of one that is not there yet an older podctl may have known less.
  const bool nameless = pod.project.empty() || pod.zone.empty() || pod.current.locator.empty();
  if (pod.exists() && nameless) in.Fail("has a node without a name, or without a project or zone");
  check("project", pod.project, gcp::IsProjectId);
  check("zone", pod.zone, gcp::IsLocation);
  check("node", pod.current.locator, gcp::IsNodeId);
  for (const Object& deposed : pod.deposed) check("node", deposed.locator, gcp::IsNodeId);
  for (const Object& one : pod.auxiliary) check("queued resource", one.locator, gcp::IsNodeId);
}

class PodCodec final : public RecordCodecOf<PodRecord> {
 public:
  std::string_view noun() const override { return "pod"; }
  std::string_view form() const override { return "pod.NAME"; }

  std::string_view old_locator() const override { return "node_id"; }

  int VersionOf(const AnyRecord& any) const override {
    return any.As<PodRecord>().jobs.empty() ? since_version() : kFormatOfJobs;
  }

  std::string Remark(const AnyRecord& any) const override {
    const PodRecord& record = any.As<PodRecord>();
    std::vector<std::string> words;
    const std::string& state = record.observed["state"].AsString();
    if (record.exists() && !state.empty() && state != "READY") words.push_back(state);
    if (const auto recovery = record.recovery()) words.push_back(RecoveryStory(*recovery));
    constexpr const char* kPending[] = {"being created", "being changed", "being deleted"};
    if (const auto pending = record.pending()) {
      words.emplace_back(kPending[static_cast<std::size_t>(pending->kind)]);
    }
    if (!record.capacity_since().empty()) {
      words.push_back(fmt::format("waits for capacity since {}", record.capacity_since()));
    }
    return Join(words, ", ");
  }

  std::vector<NamedObject> Named(const AnyRecord& any) const override {
    const PodRecord& record = any.As<PodRecord>();
    const std::string parent = fmt::format("projects/{}/locations/{}", record.project, record.zone);
    const auto name = [&](const Object& object) {
      return fmt::format("{}/nodes/{}", parent, object.locator);
    };
    std::vector<NamedObject> named = {
        {name(record.current), record.current, record.queued ? record.queued->slices : 1}};
    for (const Object& one : record.deposed) named.push_back({name(one), one});
    // Not its queued resource, which has no uid: one that is remembered and long gone could not be
    // told from its successor.
    return named;
  }

 private:
  void Read(ObjectReader& in, int version, PodRecord* pod) const override {
    pod->project = in.Text("project");
    pod->zone = in.Text("zone");
    CheckNames(in, *pod);
    pod->applied = in.Any("applied");
    pod->metadata = in.SpareTextMap("metadata");
    pod->sensitive_keys = in.SpareTexts("sensitive_keys");
    pod->secrets = in.SpareTextMap("secrets");
    pod->team_keys = in.SpareTexts("team_keys");
    pod->own_keys = in.SpareTexts("own_keys");
    pod->observed = in.Any("observed");
    if (in.IsThere("host_keys")) {
      for (auto& [worker, keys] : in.Map("host_keys")) {
        pod->host_keys[in.Worker(worker)] = in.TextList(keys, "`host_keys`");
      }
    }
    pod->host_keys_source = in.SpareText("host_keys_source");
    if (Value* ssh = in.Optional("ssh")) pod->ssh = ReadSsh(in.Inner(*ssh, "ssh"));
    pod->exec_env = in.SpareTextMap("exec_env");
    pod->depends_on = in.SpareAddresses("depends_on");
    pod->prevent_destroy = in.SpareFlag("prevent_destroy");
    pod->wanted_node_id = in.SpareText("wanted_node_id");
    if (const Value* name = in.Optional("api_version")) {
      const auto spoken = ParseApiVersion(name->AsString());
      if (!spoken) in.Fail("has an unknown `api_version`");
      pod->api_version = spoken.value_or(ApiVersion::kV2);
    }
    if (Value* queued = in.Optional("queued")) {
      pod->queued = ReadQueued(in.Inner(*queued, "queued"), *pod, version < kFormatOfObjects);
    }
    if (pod->auxiliary.size() != (pod->queued ? 1U : 0U)) {
      in.Fail("has auxiliary objects that are not its queued resource");
    }
    if (in.IsThere("jobs")) {
      for (auto& [name, job] : in.Map("jobs")) {
        pod->jobs.emplace(name, ReadWantedJob(in.Inner(job, "jobs." + name)));
      }
    }
    for (auto& [worker, name] : in.SpareTextMap("vm_names")) {
      pod->vm_names[in.Worker(worker)] = name;
    }
    ForgetOddOperations(pod);
  }

  // An earlier podctl wrote down whatever the service called an operation. One that nobody can ask
  // for is as an answer that was lost: every command looks for what was begun.
  static void ForgetOddOperations(PodRecord* pod) {
    const auto mend = [&](auto& life) {
      if constexpr (requires { life.intent; }) {
        std::string& name = life.intent.operation;
        if (!gcp::IsOperationOf(name, pod->project, pod->zone)) name.clear();
      }
    };
    std::visit(mend, pod->current.life);
    for (Object& object : pod->deposed) std::visit(mend, object.life);
    for (Object& object : pod->auxiliary) std::visit(mend, object.life);
  }

  void Write(const PodRecord& pod, ObjectWriter& out) const override {
    if (pod.api_version != ApiVersion::kV2) {
      out.Member("api_version", ApiVersionName(pod.api_version));
    }
    out.Member("applied", pod.applied);
    out.Spare("depends_on", pod.depends_on);
    out.Spare("exec_env", pod.exec_env);
    out.Spare("host_keys", pod.host_keys);
    out.Spare("host_keys_source", pod.host_keys_source);
    out.Spare("jobs", pod.jobs);
    out.Spare("metadata", pod.metadata);
    out.Member("observed", pod.observed);
    out.Spare("own_keys", pod.own_keys);
    out.Spare("prevent_destroy", pod.prevent_destroy);
    out.Member("project", pod.project);
    if (pod.queued) out.Member("queued", *pod.queued);
    out.Spare("secrets", pod.secrets);
    out.Spare("sensitive_keys", pod.sensitive_keys);
    out.Spare("ssh", pod.ssh);
    out.Spare("team_keys", pod.team_keys);
    out.Spare("vm_names", pod.vm_names);
    out.Spare("wanted_node_id", pod.wanted_node_id);
    out.Member("zone", pod.zone);
  }
};

}  // namespace

const RecordCodec& PodRecord::Codec() {
  static const PodCodec codec;
  return codec;
}

bool IsSensitive(const PodRecord& record, const std::string& key) {
  return std::count(record.sensitive_keys.begin(), record.sensitive_keys.end(), key) > 0;
}

Address PodAddress(const std::string& pod) {
  return {std::string(kPodKind), pod};
}

}  // namespace podctl
