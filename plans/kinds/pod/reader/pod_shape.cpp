#include "plans/kinds/pod/reader/pod_shape.h"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "plans/kinds/pod/lineage_label.h"
#include "plans/kinds/pod/reader/node_fields.h"
#include "plans/kinds/step/reader.h"
#include "plans/spec/names.h"
#include "providers/base/text.h"
#include "providers/gcp/available_types.h"
#include "providers/gcp/queued_resource.h"

namespace podctl {
namespace {

using gcp::Field;
using gcp::FieldType;
using shape::Bool;
using shape::Duration;
using shape::Either;
using shape::ListOf;
using shape::Map;
using shape::MapOf;
using shape::Null;
using shape::Number;
using shape::Text;
using shape::ThingText;
using shape::Word;

constexpr std::size_t kMostZones = 32;
constexpr std::size_t kMostTunnels = 100;
constexpr int kMostSlices = 256;
constexpr int kLastPort = 65535;
constexpr int kLastWorker = 99'999;

constexpr Pattern kLabelName{"(?:[a-z]|[^\\x00-\\x7f])(?:[a-z0-9_-]|[^\\x00-\\x7f]){0,62}",
                             "a lower-case letter, then these, digits, _ and -"};
constexpr Pattern kLabelValue{"(?:[a-z0-9_-]|[^\\x00-\\x7f]){0,63}",
                              "lower-case letters, digits, _ and -", "integer boolean"};
constexpr Pattern kMetadataKey{"[A-Za-z0-9_-]{1,128}", "letters, digits, - and _"};
constexpr Pattern kTunnelName{"[a-z][a-z0-9-]{0,62}",
                              "a lower-case letter first, then these, digits and -", "boolean"};
constexpr Pattern kJumpHost{
    "(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*@)?(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*|\\[[A-Za-z0-9:.%]+\\])"
    "(?::[0-9]{1,5})?",
    "[user@]host[:port], one host", "number boolean"};
constexpr Pattern kSmallBlock{"(?:[0-9]{1,3}(?:\\.[0-9]{1,3}){3}/29)?",
                              "a /29 block, such as 10.240.0.0/29"};
constexpr Pattern kMoment{"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.+",
                          "a moment, such as 2026-11-22T08:00:00Z"};
constexpr Pattern kSecretName{
    "projects/(?!\\.{1,2}/)[a-z0-9.:-]+(?:/locations/[a-z][a-z0-9-]*)?/secrets/[A-Za-z0-9_-]{1,255}"
    "(?:/versions/(?:[1-9][0-9]{0,17}|[A-Za-z][A-Za-z0-9_-]{0,62}))?",
    "projects/PROJECT/secrets/SECRET, or with /versions/VERSION behind it"};
constexpr Pattern kPodAddress{"pod\\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62}", "an address, pod.NAME"};
constexpr Pattern kTrigger{
    "(?:pod\\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(?:\\.[\\s\\S]+)?|"
    "bootstrap\\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62}\\.[\\s\\S]+)",
    "pod.NAME, pod.NAME.FIELD or bootstrap.NAME.STEP"};

// What a change of it does; nothing of a message, of which each member says so.
std::string_view WordsOfChange(const Field& field) {
  if (field.field_class == gcp::FieldClass::kPatchable) return " Changed in place.";
  const bool message = field.type == FieldType::kMessage || field.type == FieldType::kMessageList;
  return message ? "" : " A change replaces the node.";
}

Shape NodeMessage(std::string_view prefix) {
  std::vector<Key> keys;
  for (const std::string& name : WritableMembers(prefix)) {
    const Field& field = *gcp::FindNodeField(std::string(prefix) + name);
    std::string doc(field.doc);
    doc += WordsOfChange(field);
    if (field.version != ApiVersion::kV2) doc += " Only with `apiVersion: v2alpha1`.";
    keys.push_back({name, std::move(doc), ShapeOf(field), field.path == "dataDisks[].sourceDisk"});
  }
  return Map(std::move(keys));
}

// What is known of a field beyond its type.
Shape Refined(std::string_view path, Shape of_type) {
  if (path == "acceleratorType") {
    return of_type.Within(1, 0).Such(gcp::AcceleratorTypes()).Named(path);
  }
  if (path == "runtimeVersion") return of_type.Within(1, 0);
  if (path == "cidrBlock") return of_type.Like(kSmallBlock);
  if (path == "labels") {
    return MapOf(kLabelName, ThingText().Like(kLabelValue)).Within(0, kMostLabels);
  }
  if (path == "metadata") {
    return MapOf(kMetadataKey, Either({ThingText(), MetadataSourceShape()}));
  }
  return of_type;
}

Shape ShapeOfType(const Field& field) {
  switch (field.type) {
    case FieldType::kString:
      break;
    case FieldType::kBool:
      return Bool();
    case FieldType::kInt:
      return Number(0, std::numeric_limits<std::int32_t>::max());
    case FieldType::kInt64:
      return Number(0, std::numeric_limits<std::int64_t>::max());
    case FieldType::kEnum:
      return Word(SplitWords(field.enum_values));
    case FieldType::kStringMap:
      return MapOf(ThingText());
    case FieldType::kStringList:
      return ListOf(ThingText());
    case FieldType::kMessage:
      return NodeMessage(fmt::format("{}.", field.path)).Named(field.path);
    case FieldType::kMessageList:
      return ListOf(NodeMessage(fmt::format("{}[].", field.path)).Named(field.path));
  }
  return ThingText();
}

Shape TermsBelow(std::string_view prefix) {
  std::vector<Key> keys;
  for (const std::string& name : MembersBelow(gcp::QueuedTerms(), prefix)) {
    const gcp::Term& term = *gcp::FindQueuedTerm(std::string(prefix) + name);
    const auto members = [&] {
      Shape below = TermsBelow(fmt::format("{}.", term.path));
      return term.exclusive ? below.Within(0, 1) : below;
    };
    Shape value = Text();
    switch (term.type) {
      case gcp::TermType::kTier: {
        const Shape below = members();
        value = below.keys.empty() ? Either({Bool(), Map({})}) : Either({Bool(), below});
        break;
      }
      case gcp::TermType::kMessage:
        value = members();
        break;
      case gcp::TermType::kDuration:
        value = Duration();
        break;
      case gcp::TermType::kTime:
        value = Text().Like(kMoment);
        break;
      case gcp::TermType::kFlag:
        value = Bool();
        break;
      case gcp::TermType::kEnum:
        value = Word(SplitWords(term.words));
        break;
      case gcp::TermType::kText:
        break;
    }
    std::string doc(term.doc);
    if (term.version != ApiVersion::kV2) doc += " Only with `apiVersion: v2alpha1`.";
    keys.push_back({name, std::move(doc), std::move(value)});
  }
  return Map(std::move(keys));
}

Shape MakeOwnKeys() {
  return Map(
      {{"nodeId", "The node's id, where it is not the pod's name.", Text().Like(kNodeIdPattern)},
       {"project", "The Google Cloud project, where it is not that of the spec.",
        Text().Like(kProjectPattern)},
       {"zone", "The zone, where it is not that of the spec.", ZoneShape()},
       {"apiVersion", "`v2alpha1` for what only that version of the API has; `v2` unless given.",
        Word({"v2", "v2alpha1"})},
       {"desiredState",
        "`STOPPED` or `READY`: a node of one host is stopped or started. Left out, it stays as it "
        "is.",
        Word({"READY", "STOPPED"})},
       {"libtpuFlags",
        "Flags for libtpu, which `tpu-runtime` finds in LIBTPU_INIT_ARGS. After a change it is "
        "restarted on all workers.",
        MapOf(kFlagNamePattern, ThingText())},
       {"runtimeEnv",
        "Further variables for `tpu-runtime`. After a change it is restarted on all workers.",
        MapOf(kEnvironmentNamePattern, ThingText())},
       {"ssh", "How the workers are reached.", SshShape()},
       {"bootstrap",
        "Steps that are run on the workers, one after the other, where they are missing.",
        BootstrapShape()},
       {"lifecycle", "What podctl may do with the node, and when it is replaced.",
        LifecycleShape()},
       {"dependsOn",
        "Pods that come first: `[pod.other]`. A reference in a text is a dependency, "
        "too.",
        ListOf(Text().Like(kPodAddress))},
       {"queuedResource",
        "Asks for the pod through a queued resource, on these terms; `{}` on demand.",
        Either({Null(), QueuedResourceShape()})},
       {"slices", "How many slices a queued resource asks for: from 2 on it is a multislice.",
        Number(1, kMostSlices)},
       {"timeouts", "How long to wait for capacity, and for what comes then.", TimeoutsShape()},
       {"capacity", "What to do where a zone has no room.", CapacityShape()},
       {"onPreemption",
        "`recreate`: `podctl watch` makes the pod anew when it is preempted. `report` unless "
        "given.",
        Word({"report", "recreate"})},
       {"ttl", "`podctl watch` deletes the pod so long after it was made.", Duration()},
       {"idle", "What `podctl watch` does with the pod when nobody uses it.", IdleShape()},
       {"tunnels", "What `podctl tunnel POD` forwards.",
        ListOf(TunnelShape()).Within(0, kMostTunnels)}});
}

}  // namespace

Shape ShapeOf(const gcp::Field& field) {
  return Refined(field.path, ShapeOfType(field));
}

const Shape& OwnKeys() {
  static const Shape own = MakeOwnKeys();
  return own;
}

const Shape& PodShape() {
  static const Shape pod = [] {
    Shape all = NodeMessage("");
    for (const Key& key : OwnKeys().keys) all.keys.push_back(key);
    return all.Named("pod")
        .NotBoth("acceleratorType", "acceleratorConfig")
        .NotBoth("networkConfig", "networkConfigs");
  }();
  return pod;
}

const Shape& MetadataSourceShape() {
  static const Shape source = [] {
    return Map({{"value", "The text itself.", ThingText()},
                {"file", "A file that holds it, beside the spec.", Text()},
                {"env", "The environment variable that holds it.", Text()},
                {"secret",
                 "The secret of Secret Manager that holds it: "
                 "`projects/P/secrets/S`, or with `/versions/V` behind it.",
                 Text().Like(kSecretName)},
                {"sensitive", "Whether it is never shown or stored. A secret always is.", Bool()}})
        .Named("metadataSource")
        .NotBoth("value", "file")
        .NotBoth("value", "env")
        .NotBoth("value", "secret")
        .NotBoth("file", "env")
        .NotBoth("file", "secret")
        .NotBoth("env", "secret")
        .NeedsOneOf({"value", "file", "env", "secret"});
  }();
  return source;
}

const Shape& CapacityShape() {
  static const Shape capacity =
      Map({{"retry", "How long to go on asking, at most `720h`.", Duration()},
           {"zones", "Other zones that are asked, in this order.",
            ListOf(ZoneShape()).Within(0, kMostZones)}})
          .Named("capacity")
          .Within(1, 0);
  return capacity;
}

const Shape& LifecycleShape() {
  static const Shape lifecycle =
      Map({{"preventDestroy", "No plan may destroy the node; a dead one is replaced all the same.",
            Bool()},
           {"ignoreChanges",
            "Fields that are sent when the node is made, and not compared afterwards.",
            ListOf(Text())},
           {"createBeforeDestroy", "A replacement is made first, under a free id.", Bool()},
           {"replaceTriggeredBy",
            "Replaces the pod when one of these is changed, replaced or run again: `pod.NAME`, "
            "`pod.NAME.FIELD`, `bootstrap.NAME.STEP`.",
            ListOf(Text().Like(kTrigger))}})
          .Named("lifecycle");
  return lifecycle;
}

const Shape& SshShape() {
  static const Shape ssh =
      Map({{"user", "The account on the workers; else the local user's name.",
            Text().Like(kUserNamePattern)},
           {"port", "The port on which workers answer; else `PODCTL_SSH_PORT`, else 22.",
            Number(1, kLastPort)},
           {"identityFile", "The private key to log in with.", Text()},
           {"address", "Which of a worker's addresses is used.", Word({"external", "internal"})},
           {"hostKeys",
            "`strict` refuses a worker whose key neither the API nor a known_hosts file knows; "
            "with `pinned`, the default, the first that is seen is remembered.",
            Word({"pinned", "strict"})},
           {"publishKey", "`false`: whoever applies puts no key of their own on the node.", Bool()},
           {"publishKeys", "Keys that are let in: `USER:TYPE BASE64`, or a file of such lines.",
            ListOf(Either({Text(), PublishedKeyShape()}))},
           {"transport", "`openssh` goes through the program ssh; `libssh2` unless given.",
            Word({"libssh2", "openssh"})},
           {"check",
            "`false`: the workers of a new pod are not looked over. `probe`: they have to reach "
            "each other and to be alike, too.",
            Either({Bool(), Word({"probe"})})},
           {"proxyJump", "The host to jump through, `[user@]host[:port]`.", Text().Like(kJumpHost)},
           {"iap", "Goes through Identity-Aware Proxy.", Bool()}})
          .Named("ssh");
  return ssh;
}

const Shape& PublishedKeyShape() {
  static const Shape key = Map(
      {shape::Required("file", "A `.pub` file, or one of several lines.", Text()),
       {"user", "Whose account its keys open; else `ssh.user`.", Text().Like(kUserNamePattern)}});
  return key;
}

const Shape& QueuedResourceShape() {
  static const Shape queued = [] {
    Shape terms = TermsBelow("");
    terms.keys.insert(terms.keys.begin(),
                      Key{"id", "The queued resource's id, where it is not the node's.",
                          Text().Like(kNodeIdPattern)});
    return terms.Named("queuedResource");
  }();
  return queued;
}

const Shape& TimeoutsShape() {
  static const Shape timeouts = Map(
      {{"queue", "How long a queued resource waits for capacity; `6h` unless given.", Duration()},
       {"create", "How long the node may take to be READY; `30m` unless given.", Duration()},
       {"boot", "How long until every worker can be used.", Duration()}});
  return timeouts;
}

const Shape& IdleShape() {
  static const Shape idle = Map(
      {shape::Required("after", "How long nobody has held its TPU, and no job of podctl has run.",
                       Duration()),
       {"then", "`report` unless given; `stop` a node of one host, or `delete` the pod.",
        Word({"report", "stop", "delete"})}});
  return idle;
}

const Shape& TunnelShape() {
  static const Shape tunnel =
      Map({{"name", "By which `podctl tunnel POD NAME` takes it.", Text().Like(kTunnelName)},
           shape::Required("remote", "The port on the worker.", Number(1, kLastPort)),
           {"local", "The port on this machine; the same unless given, and any free one with 0.",
            Number(0, kLastPort)},
           {"worker", "The worker's number, 0 unless given.", Number(0, kLastWorker)},
           {"open", "What answers there, for `--open`.", Word({"jupyter", "http"})}})
          .Named("tunnel");
  return tunnel;
}

}  // namespace podctl
