#include "plans/engine/plan_digest.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "plans/engine/kind.h"
#include "plans/engine/plan_file/secrets.h"
#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "providers/base/value.h"

namespace podctl {
namespace {

constexpr std::string_view kScheme = "sha256:";
constexpr std::size_t kDigits = 64;
// Told apart from every digest before it, should the form ever change.
constexpr std::string_view kForm = "podctl plan 1";

// Each verb has a word of its own here; WordOf has one for both replacements.
std::string_view DigestedVerb(Verb verb) {
  constexpr std::string_view kWords[] = {"keep",          "create", "update", "delete-create",
                                         "create-delete", "delete", "forget", "run"};
  return kWords[static_cast<std::size_t>(verb)];
}

Value OrNull(const std::optional<Value>& value) {
  return value.value_or(Value());
}

// `keyed`: in place of what is sensitive stand digests under the state's key.
Value DigestedLines(const std::vector<AttributeChange>& attributes, bool keyed) {
  Value::List lines;
  for (const AttributeChange& line : attributes) {
    const bool shown = keyed || !line.sensitive;
    lines.emplace_back(Value::Map{{"path", line.path},
                                  {"before", shown ? OrNull(line.before) : Value()},
                                  {"is_there", line.before.has_value()},
                                  {"after", shown ? OrNull(line.after) : Value()},
                                  {"comes", line.after.has_value()},
                                  {"known", line.known},
                                  {"sensitive", line.sensitive},
                                  {"origin", line.origin.value_or("")}});
  }
  return Value(std::move(lines));
}

// The very objects that are changed, or whose parts are: an address may stand for another one in
// another state, or after `state mv`.
Value ObjectsOf(const Change& change, const Kind& kind, const State& prior) {
  Value::List objects;
  for (const Address& address :
       {change.previous_address, change.address, kind.WholeOf(change.address)}) {
    const auto found = prior.records.find(address);
    if (found == prior.records.end()) continue;
    const AnyRecord& record = found->second;
    for (const NamedObject& named : record.codec().Named(record)) {
      objects.emplace_back(Value::Map{{"name", named.name}, {"uid", named.object.uid}});
    }
  }
  return Value(std::move(objects));
}

// What is run and gone by besides: a saved plan shows the same.
Value DigestedRest(const Change& change, const State& prior, bool keyed) {
  Value rest = Value::EmptyMap();
  const Kind* kind = change.payload.kind();
  if (kind == nullptr) return rest;
  const ChangeWords words = WordsOf(change);
  rest.Set("script", words.script);
  Value::List body;
  for (const std::string& line : words.body) body.emplace_back(line);
  rest.Set("body", std::move(body));
  if (IsKeep(change)) return rest;
  const AnyRecord* record = nullptr;
  for (const Address& address : {change.previous_address, change.address}) {
    const auto found = prior.records.find(address);
    if (found != prior.records.end()) record = &found->second;
  }
  rest.Set("objects", ObjectsOf(change, *kind, prior));
  // Of pods and steps: a node that is still to be made has no record that names it.
  rest.Set("node", kind->WritePayload(change.payload)["node"]);
  Value::List particulars;
  for (const Particular& each : kind->ParticularsOf(change, record)) {
    particulars.emplace_back(Value::Map{{"path", each.path}, {"text", each.text}});
  }
  rest.Set("particulars", std::move(particulars));
  Value::List secrets;
  Payload payload = change.payload;
  kind->VisitSecrets(change.address, &payload, [&](const std::string& what, std::string& text) {
    secrets.emplace_back(Value::Map{{"what", what}, {"digest", keyed ? text : std::string()}});
  });
  rest.Set("secrets", std::move(secrets));
  return rest;
}

// Of a plan in which digests stand for what is sensitive.
std::string DigestOfHidden(const Plan& plan, const State& prior, bool keyed,
                           const std::vector<std::string>& jobs, const PlanBasis& basis) {
  constexpr std::string_view kModes[] = {"normal", "destroy", "refresh-only"};
  std::vector<const Change*> changes;
  for (const Change& change : plan.changes) {
    if (!IsKeep(change) || !change.previous_address.empty()) changes.push_back(&change);
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change* a, const Change* b) { return a->address < b->address; });
  Sha256 digest;
  const auto add = [&](const Value& value) { digest.Add(ToJson(value) + "\n"); };
  add(Value::Map{{"form", kForm},
                 {"mode", kModes[static_cast<std::size_t>(plan.mode)]},
                 {"lineage", keyed ? prior.lineage : std::string()},
                 {"spec", basis.spec_digest}});
  for (const auto& [name, text] : basis.variables) {
    add(Value::Map{{"variable", name}, {"text", text}});
  }
  for (const std::string& name : basis.sensitive_variables) add(Value::Map{{"sensitive", name}});
  for (const Change* change : changes) {
    add(Value::Map{{"address", change->address.Text()},
                   {"from", change->previous_address.Text()},
                   {"verb", DigestedVerb(change->verb)},
                   {"begun", change->begun},
                   {"lines", DigestedLines(change->attributes, keyed)},
                   {"rest", DigestedRest(*change, prior, keyed)}});
  }
  // What is outside is told in every plan, and acted upon by this one only.
  if (plan.mode == PlanMode::kRefreshOnly) {
    for (const Drift& drift : plan.drift) {
      add(Value::Map{{"drift", drift.address.Text()},
                     {"sentence", drift.sentence},
                     {"lines", DigestedLines(drift.attributes, keyed)}});
    }
  }
  for (const std::string& job : jobs) add(Value::Map{{"job", job}});
  return std::string(kScheme) + std::move(digest).Hex();
}

}  // namespace

std::string DigestOfPlan(const Plan& plan, const State& prior, const std::string& digest_key,
                         const std::vector<std::string>& jobs, const PlanBasis& basis) {
  Plan hidden;
  hidden.mode = plan.mode;
  for (const Change& change : plan.changes) {
    if (!IsKeep(change) || !change.previous_address.empty()) hidden.changes.push_back(change);
  }
  if (plan.mode == PlanMode::kRefreshOnly) hidden.drift = plan.drift;
  HideSecrets({digest_key, false}, &hidden);
  return DigestOfHidden(hidden, prior, !digest_key.empty(), jobs, basis);
}

std::string DigestOfPlan(const SavedPlan& saved) {
  return DigestOfHidden(saved.plan, saved.prior.value_or(State{}), saved.prior.has_value(),
                        saved.jobs,
                        {saved.spec_digest, saved.variables, saved.sensitive_variables});
}

bool IsPlanDigest(std::string_view text) {
  if (!text.starts_with(kScheme)) return false;
  text.remove_prefix(kScheme.size());
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace podctl
