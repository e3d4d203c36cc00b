// Outputs (`outputs` of a spec): values that an apply leaves in the state for who works with what
// it made. Nothing of the world stands for them. Declared in plans/kinds/kinds.h.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "plans/engine/plan_file/archive.h"
#include "plans/engine/plan_file/secrets.h"
#include "plans/engine/task.h"
#include "plans/kinds/kinds.h"
#include "plans/kinds/output/reader.h"
#include "plans/kinds/output/record.h"
#include "plans/kinds/output/spec.h"
#include "plans/spec/references.h"
#include "plans/spec/yaml_tree.h"
#include "state/state_json.h"

namespace podctl {

// What a saved plan holds of one (plan_file/archive.h).
PODCTL_MEMBERS(OutputSpec, name, text, sensitive, description, depends_on)

namespace {

const OutputSpec& OutputOf(const Change& change) {
  return *change.payload.As<OutputSpec>();
}

AttributeChange ValueLine(const OutputSpec& output, const std::optional<std::string>& value) {
  AttributeChange line;
  line.path = "value";
  line.sensitive = output.sensitive;
  line.known = value.has_value();
  if (value) line.after = Value(*value);
  return line;
}

// What was there is told by its record alone.
std::optional<Value> ValueBefore(const OutputRecord& record) {
  return Value(record.sensitive() ? record.digest : record.value);
}

OutputRecord RecordOf(const OutputSpec& output, const std::string& value,
                      const std::string& digest_key) {
  OutputRecord record;
  if (output.sensitive) {
    record.digest = OutputDigest(value, digest_key);
  } else {
    record.value = value;
  }
  record.depends_on = output.depends_on;
  return record;
}

Verdict JudgeGoneOutput(const Kind& kind, const PlanInput& it) {
  const auto& record = it.record->As<OutputRecord>();
  OutputSpec gone;
  gone.name = it.address.name;
  gone.sensitive = record.sensitive();
  AttributeChange line = ValueLine(gone, std::nullopt);
  line.known = true;
  line.before = ValueBefore(record);
  Verdict verdict;
  verdict.change.verb = Verb::kDelete;
  verdict.change.attributes = {std::move(line)};
  verdict.change.payload = Payload(std::move(gone), &kind);
  return verdict;
}

Verdict JudgeOutput(const Kind& kind, const PlanInput& it) {
  if (it.declared == nullptr) return JudgeGoneOutput(kind, it);
  const OutputRecord* known = it.record == nullptr ? nullptr : &it.record->As<OutputRecord>();
  const auto& output = *it.declared->wanted.As<OutputSpec>();
  Verdict verdict;
  const auto refuse = [&](std::string summary, std::string detail) {
    Diagnostic refusal;
    refusal.summary = std::move(summary);
    refusal.detail = std::move(detail);
    verdict.refusals.push_back(std::move(refusal));
  };
  if (it.again) {
    refuse(fmt::format("{} cannot be replaced", it.address),
           "An output is a value: it is found anew with each plan.");
  }
  if (const auto unusable = FindUnusable(output.text, it.nodes)) {
    refuse(fmt::format("{} refers to {}", it.address, unusable->words), unusable->hint);
  }
  const auto value = RenderText(output.text, it.nodes);
  Change& change = verdict.change;
  change.payload = Payload(output, &kind);
  bool same = known != nullptr && value.has_value();
  if (same) {
    OutputRecord now = RecordOf(output, *value, it.state.digest_key);
    now.depends_on = known->depends_on;  // bookkeeping, which is no change
    same = now == *known;
  }
  if (same) return verdict;
  change.verb = known == nullptr ? Verb::kCreate : Verb::kUpdate;
  AttributeChange line = ValueLine(output, value);
  if (known != nullptr) {
    line.before = ValueBefore(*known);
    // What was secret is not shown because it is none any more.
    line.sensitive = line.sensitive || known->sensitive();
  }
  change.attributes = {std::move(line)};
  return verdict;
}

// All that it refers to is done: the value is put into the state.
class OutputTask final : public Task {
 public:
  OutputTask(const Change& change, TaskContext& context) : change_(change), context_(context) {}

  NextAction Begin() override {
    if (IsDelete(change_)) {
      context_.journal.Forget(change_.address);
      return Done();
    }
    const OutputSpec& output = OutputOf(change_);
    const auto value = RenderText(output.text, context_.Lookup());
    if (!value) {
      const auto unusable = FindUnusable(output.text, context_.Lookup());
      return Failed(MakeError(ErrorCode::kFailedPrecondition,
                              unusable
                                  ? "it refers to " + unusable->words
                                  : fmt::format("what {} refers to is not known", change_.address),
                              "`podctl state show` of what it refers to shows what there is."));
    }
    context_.journal.Put(change_.address,
                         RecordOf(output, *value, context_.journal.state().digest_key));
    return Done();
  }
  // It asks for nothing.
  NextAction OnReply(Reply /*reply*/) override { return Done(); }
  NextAction OnWake() override { return Done(); }

 private:
  const Change& change_;
  TaskContext& context_;
};

class OutputKind final : public plan_file::KindOf<OutputSpec> {
 public:
  const RecordCodec& codec() const override { return OutputRecord::Codec(); }

  Key SectionKey() const override {
    return {std::string(section()),
            "What `podctl output` tells other tools, and other specs, of what was made.",
            shape::MapOf(kThingNamePattern, shape::Either({shape::ThingText(), OutputShape()}))};
  }
  Declared Read(const YamlEntry& entry, const Section& section) const override {
    OutputSpec output = ReadOutput(entry, section);
    Address address = OutputAddress(output.name);
    return {std::move(address), entry.key->Place(), Payload(std::move(output), this)};
  }
  void Resolved(Declared* declared) const override {
    if (declared->builds_on.empty()) return;
    declared->wanted.Edit<OutputSpec>()->depends_on = declared->builds_on;
  }
  std::vector<Address> BuiltOn(const AnyRecord& record) const override {
    return record.As<OutputRecord>().depends_on;
  }

  std::unique_ptr<KindPlan> Begin(const PlanningContext& /*input*/) const override {
    return EachByItself(*this, JudgeOutput);
  }
  // It tells of its pods: a new node has other addresses.
  bool follows(const Change& change) const override { return !IsDelete(change); }

  std::string WhatCannotBe(const Change& change) const override {
    const OutputSpec& output = OutputOf(change);
    if (change.address != OutputAddress(output.name)) return "is no address of a change";
    if (!output.sensitive && IsSecretDigest(output.text)) return kDigestInTheClear;
    const bool can =
        (LivesOn(change) || change.verb == Verb::kCreate || change.verb == Verb::kDelete) &&
        !change.begun;
    if (!can) return "cannot be changed so";
    const std::string why = WhyUnreadable(OutputRecord{}, change.address);
    return why.empty() ? "" : "could not be remembered: " + why;
  }
  std::vector<AttributeChange> ShownOf(const Change& change,
                                       const ReferenceLookup& nodes) const override {
    return {ValueLine(OutputOf(change), RenderText(OutputOf(change).text, nodes))};
  }
  // A text with references is shown as known after apply, or as it was read by who made the plan.
  std::vector<Particular> ParticularsOf(const Change& change,
                                        const AnyRecord* /*prior*/) const override {
    const OutputSpec& output = OutputOf(change);
    if (IsKeep(change) || IsDelete(change) || output.sensitive) return {};
    if (FindReferences(output.text).empty()) return {};
    return {{"value", output.text}};
  }
  void VisitSecrets(const Address& address, Payload* payload,
                    const SecretVisitor& visit) const override {
    if (!payload->As<OutputSpec>()->sensitive) return;
    auto* output = payload->Edit<OutputSpec>();
    if (!output->text.empty()) visit(fmt::format("value of {}", address), output->text);
  }

  void Note(const Change& change, TaskContext& context) const override {
    const auto* record = context.journal.Get<OutputRecord>(change.address);
    const std::vector<Address>& now = OutputOf(change).depends_on;
    if (!IsKeep(change) || record == nullptr || record->depends_on == now) return;
    context.journal.Edit<OutputRecord>(change.address).depends_on = now;
  }
  std::unique_ptr<Task> MakeTask(const Change& change, TaskContext& context) const override {
    return std::make_unique<OutputTask>(change, context);
  }
};

}  // namespace

std::unique_ptr<const Kind> MakeOutputKind() {
  return std::make_unique<OutputKind>();
}

}  // namespace podctl
