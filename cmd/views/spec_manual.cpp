// podctl.yaml(5), in manual.h. The fields of a node come from the table of the API's client; the
// other keys are told here in a line each, and docs/ has more of them: a test wants the same keys
// here as there.
#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "cmd/views/manual.h"
#include "cmd/views/roff.h"
#include "providers/base/text.h"
#include "providers/gcp/tpu_schema.h"

namespace podctl {
namespace {

struct ToldKey {
  std::string_view name;
  std::string_view means;
};

constexpr ToldKey kFileKeys[] = {
    {"project", "of every pod that does not name its own"},
    {"zone", "likewise"},
    {"state",
     "where the state is: a path beside the spec, `gs://BUCKET/PREFIX`, `etcd://HOST:2379/PREFIX` "
     "or `https://...`; `podctl.state.json` unless given"},
    {"variables",
     "values from outside, by name: `default`, `description`, `sensitive`; `--var` and "
     "`--var-file` give them"},
    {"defaults", "keys of a pod, which are merged under every pod"},
    {"pods", "the pods, by name; the address of `research` is `pod.research`"},
    {"jobs", "what `podctl run` starts on the workers of a pod, by name"},
    {"trainingJobs", "custom jobs of Vertex AI, by name"},
    {"files", "files on the machine that applies, by name: `path`, `content`, `mode`"},
    {"outputs", "what `podctl output` tells other tools and other specs, by name"},
    {"stateOf", "other states, by name, whose outputs the spec uses"},
    {"moved", "other names for things that exist: a list of `{from: ADDRESS, to: ADDRESS}`"},
};

constexpr ToldKey kPodKeys[] = {
    {"libtpuFlags",
     "flags for libtpu, by name; where they change, the runtime of every worker is "
     "restarted"},
    {"runtimeEnv", "likewise variables of the runtime"},
    {"metadata",
     "texts by name, or `{file: PATH}`, `{env: NAME}`, `{secret: projects/P/secrets/S}`; with "
     "`sensitive: true` a value is never shown or stored"},
    {"ssh", "how the workers are reached: below"},
    {"bootstrap", "steps that are run on the workers: below"},
    {"tunnels",
     "what `podctl tunnel` forwards: a list of `remote`, `local`, `worker`, `name`, "
     "`open`"},
    {"lifecycle", "`preventDestroy`, `ignoreChanges`, `createBeforeDestroy`, `replaceTriggeredBy`"},
    {"dependsOn", "addresses of what comes before"},
    {"desiredState", "`STOPPED` or `READY`, of a node of a single host"},
    {"apiVersion", "`v2alpha1`, for the fields that only that version of the API has"},
    {"queuedResource",
     "asks through a queued resource: `spot` or `guaranteed`, `reservationName`, "
     "`queueingPolicy`"},
    {"slices", "so many slices at once, from one queued resource"},
    {"timeouts", "`queue`, `create` and `boot`: how long to wait"},
    {"capacity", "`{retry: 2h, zones: [ZONE]}`: where a zone has no room, wait and try others"},
    {"onPreemption", "`recreate`, by `podctl watch`, or `report`"},
    {"nodeId", "where it is not the pod's name"},
    {"project", "where it is not that of the file"},
    {"zone", "likewise"},
};

constexpr ToldKey kSshKeys[] = {
    {"user", "unless given, the local user's name"},
    {"port", "unless given, `PODCTL_SSH_PORT` or 22"},
    {"identityFile", "the private key to log in with"},
    {"address", "`external` or `internal`"},
    {"hostKeys", "`pinned` or `strict`"},
    {"publishKey", "`false`: the own key is not written to the node"},
    {"publishKeys", "files of public keys that are let in, too"},
    {"transport", "`openssh`: by the program ssh(1), with all that its configuration says"},
    {"proxyJump", "`[USER@]HOST[:PORT]`, through which the workers are reached"},
    {"iap", "`true`: through Google's Identity-Aware Proxy"},
    {"check", "`false`: the workers of a new pod are not looked over"},
};

constexpr ToldKey kStepKeys[] = {
    {"name", "lower-case letters, digits and `-`"},
    {"run", "a script, run by bash with `-e` from the home folder"},
    {"env", "variables for it"},
    {"files", "what is copied before it runs: a list of `{source: PATH, destination: PATH}`"},
    {"workers", "`all`, or numbers and ranges: `[0]`, `\"0,2-3\"`"},
    {"timeout", "of the script on each worker"},
    {"xrtVersion", "in place of `run`: asks for a version of XRT"},
};

constexpr ToldKey kJobKeys[] = {
    {"pod", "on whose workers it runs"},
    {"launcher",
     "how its processes find one another: `pjrt`, `jax`, `torch`, `torchrun`, `ray`, "
     "`tensorflow`, `estimator`, `xla_dist` or `shell`"},
    {"command", "its words, or one text for the shell"},
    {"flags", "what stands behind the command, by name"},
    {"env", "its variables"},
    {"condaEnv", "is activated first"},
    {"docker", "`{image: URI, flags: [...]}`: it runs in a container"},
    {"devices", "which chips each process may see"},
    {"sync", "what is copied before the start"},
    {"restart", "when it is started again, and how often"},
    {"terminationGracePeriod", "from TERM to KILL when it is ended"},
    {"workers", "some of them"},
    {"runConfig", "of the launcher `estimator`"},
    {"autostart", "`true`: apply starts it once it has made, replaced or bootstrapped the pod"},
};

constexpr ToldKey kExpressions[] = {
    {"${var.NAME}", "a variable of the spec"},
    {"${env.NAME}", "a variable of the environment, but for those that log in somewhere"},
    {"${pod.NAME.PATH}", "a value of a node: `networkEndpoints[0].ipAddress`"},
    {"${trainingJob.NAME.PATH}", "`id`, `state`, `project` or `region` of a training job"},
    {"${state.NAME.outputs.OUTPUT}", "an output of a state under `stateOf`"},
    {"$${", "a literal `${`"},
};

constexpr std::string_view kSpecExample =
    "project: my-project\n"
    "zone: europe-west4-a\n"
    "\n"
    "pods:\n"
    "  research:\n"
    "    acceleratorType: v3-32\n"
    "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n"
    "    networkConfig: {enableExternalIps: true}\n"
    "    libtpuFlags: {xla_jf_conv_full_precision: true}\n"
    "    bootstrap:\n"
    "      - name: packages\n"
    "        run: pip3 install --user matplotlib scipy\n";

void AppendKeys(std::span<const ToldKey> keys, RoffPage* page) {
  for (const ToldKey& key : keys) page->Item(RoffBold(key.name), key.means);
}

// What a change of it does.
std::string_view ChangeOf(const gcp::Field& field) {
  if (field.field_class == gcp::FieldClass::kPatchable) return " Changed in place.";
  const bool message =
      field.type == gcp::FieldType::kMessage || field.type == gcp::FieldType::kMessageList;
  const bool whole = field.path.find("[]") == std::string_view::npos;
  return message && whole ? "" : " A change replaces the node.";
}

void AppendNodeFields(RoffPage* page) {
  for (const gcp::Field& field : gcp::NodeFields()) {
    if (field.field_class == gcp::FieldClass::kOutputOnly) continue;
    std::string text(field.doc);
    if (!field.enum_values.empty()) {
      text += fmt::format(" One of {}.", Join(SplitWords(field.enum_values), ", "));
    }
    text += ChangeOf(field);
    if (field.version == ApiVersion::kV2Alpha1) text += " Only with `apiVersion: v2alpha1`.";
    page->Item(RoffBold(field.path), text);
  }
}

}  // namespace

ManualPage SpecPage(std::string_view date, std::string_view source) {
  RoffPage page("podctl.yaml", 5, date, source);
  page.Name("podctl.yaml", "pods as podctl is to make them");
  page.Section("DESCRIPTION");
  page.Paragraph(
      "A spec is YAML: `podctl.yaml` in the current folder, or what `podctl -f` names. "
      "`podctl validate` checks it without contacting anything, and tells all that is wrong at "
      "once, each with its place. `podctl init` writes one to begin with.");
  page.Paragraph("Durations are written `90s`, `0.5s`, `10m` or `1h30m`.");
  page.Section("\"KEYS OF A FILE\"");
  AppendKeys(kFileKeys, &page);
  page.Section("\"KEYS OF A POD\"");
  page.Paragraph(
      "Those of the Cloud TPU API's Node, which stand in the next section, and podctl's own:");
  AppendKeys(kPodKeys, &page);
  page.Section("\"FIELDS OF A NODE\"");
  AppendNodeFields(&page);
  page.Section("\"KEYS OF SSH\"");
  AppendKeys(kSshKeys, &page);
  page.Section("\"KEYS OF A STEP\"");
  page.Paragraph(
      "The steps of a pod run one after the other, each on all its workers at once, and only "
      "where they are missing.");
  AppendKeys(kStepKeys, &page);
  page.Section("\"KEYS OF A JOB\"");
  AppendKeys(kJobKeys, &page);
  page.Section("EXPRESSIONS");
  AppendKeys(kExpressions, &page);
  page.Section("EXAMPLES");
  page.Paragraph("A pod with flags for libtpu, and a step:");
  page.Verbatim(kSpecExample);
  page.Section("\"SEE ALSO\"");
  page.Line(RoffBold("podctl") + "(1),");
  page.Line(RoffBold("podctl-init") + "(1),");
  page.Line(RoffBold("podctl-validate") + "(1)");
  return {"podctl.yaml", 5, page.text()};
}

}  // namespace podctl
