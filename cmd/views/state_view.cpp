#include "cmd/views/state_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "cmd/views/paint.h"
#include "cmd/views/terraform_json.h"
#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/unknown_fate.h"
#include "plans/kinds/step/record.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/gcp/queued_resource.h"

namespace podctl {
namespace {

void AddLeaves(const std::string& prefix, const Value& value,
               std::vector<std::pair<std::string, std::string>>* lines) {
  if (value.is_map()) {
    for (const auto& [key, member] : value.AsMap()) {
      std::string path = prefix;
      if (!path.empty()) path += '.';
      path += key;
      AddLeaves(path, member, lines);
    }
  } else {
    lines->emplace_back(prefix, ToJson(value));
  }
}

std::string Block(const Address& title,
                  const std::vector<std::pair<std::string, std::string>>& lines) {
  std::size_t width = 0;
  for (const auto& [key, value] : lines) width = std::max(width, key.size());
  std::string text = title.Text() + " {\n";
  for (const auto& [key, value] : lines) {
    text += fmt::format("    {:<{}} = {}\n", key, width, VisibleControls(value));
  }
  return text + "}\n";
}

std::string ShowPod(const Address& address, const PodRecord& record) {
  std::vector<std::pair<std::string, std::string>> lines;
  if (record.applied.is_map()) AddLeaves("", record.applied, &lines);
  for (const auto& [key, value] : record.metadata) {
    const bool sensitive =
        std::count(record.sensitive_keys.begin(), record.sensitive_keys.end(), key) > 0;
    lines.emplace_back("metadata." + key, sensitive ? "(sensitive value)" : ToJson(Value(value)));
  }
  lines.emplace_back("project", ToJson(Value(record.project)));
  lines.emplace_back("zone", ToJson(Value(record.zone)));
  lines.emplace_back("nodeId", ToJson(Value(record.current.locator)));
  if (record.exists()) {
    lines.emplace_back("id", ToJson(Value(record.current.uid)));
  }
  if (record.exists() && record.observed.is_map()) {
    lines.emplace_back("state", ToJson(Value(NodeState(record.observed))));
    lines.emplace_back("health", ToJson(Value(NodeHealth(record.observed))));
  }
  if (record.queued) {
    AddLeaves("queuedResource", gcp::TermsAsWritten(record.queued->terms), &lines);
    lines.emplace_back("queuedResource.id", ToJson(Value(record.queued->id)));
    lines.emplace_back("queuedResource.state", ToJson(Value(record.queued->state)));
    if (record.queued->slices > 1) {
      lines.emplace_back("slices", std::to_string(record.queued->slices));
    }
  }
  if (record.pending()) {
    lines.emplace_back(
        "pending",
        fmt::format(
            "{} since {}{}", PendingVerb(record.pending()->kind), record.pending()->begun_at,
            record.pending()->operation.empty() ? "" : " (" + record.pending()->operation + ")"));
  }
  if (!record.capacity_since().empty()) {
    lines.emplace_back("capacity", fmt::format("sought since {}", record.capacity_since()));
  }
  if (record.recovery()) lines.emplace_back("recovery", RecoveryStory(*record.recovery()));
  std::sort(lines.begin(), lines.end());
  // By number, not by name: worker.2 before worker.10.
  for (const WorkerAccess& worker : AccessToWorkers(address.name, record)) {
    const std::string number = FormatWorkers({worker.index}, worker.per_slice);
    lines.emplace_back(fmt::format("worker.{}", number), ToJson(Value(worker.host)));
  }
  return Block(address, lines);
}

std::string ShowStep(const Address& address, const StepRecord& record, int per_slice) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [worker, applied] : record.workers) {
    lines.emplace_back(
        fmt::format("worker.{}", FormatWorkers({worker}, per_slice)),
        fmt::format("applied {} (digest {})", applied.applied_at, applied.digest.substr(0, 12)));
  }
  return Block(address, lines);
}

std::string ShowThing(const Address& address, const AnyRecord& any) {
  auto lines = any.codec().Lines(any);
  if (lines.empty()) return {};
  const Record* record = any.objects();
  if (record != nullptr && record->pending()) {
    lines.emplace_back("pending", fmt::format("{} since {}", PendingVerb(record->pending()->kind),
                                              record->pending()->begun_at));
  }
  std::sort(lines.begin(), lines.end());
  return Block(address, lines);
}

// Columns padded to their widest cell.
std::string Padded(std::vector<std::array<std::string, 7>> rows, const Paint& paint) {
  std::array<std::size_t, 7> widths{};
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = VisibleControls(row[i]);  // a row is a line, whatever the service sends
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      std::string cell = rows[r][i];
      const std::size_t pad = i + 1 == rows[r].size() ? 0 : widths[i] - cell.size() + 2;
      if (r == 0) {
        cell = paint(Ink::kBold, cell);
      } else if ((i == 1 || i == 2) && cell != "-") {  // state and health
        cell = paint(cell == "READY" || cell == "HEALTHY" ? Ink::kGreen : Ink::kYellow, cell);
      }
      line += cell + std::string(pad, ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::uint64_t CountOf(const HistoryEntry& entry, std::string_view kind) {
  const auto found = entry.records.find(std::string(kind));
  return found == entry.records.end() ? 0 : found->second;
}

}  // namespace

std::vector<Address> AddressesOf(const State& state) {
  std::vector<Address> addresses;
  for (const auto& [address, record] : state.records) addresses.push_back(address);
  return addresses;
}

std::vector<std::string> TextsOf(const std::vector<Address>& addresses) {
  std::vector<std::string> texts;
  for (const Address& address : addresses) texts.push_back(address.Text());
  return texts;
}

std::string ShowAddress(const State& state, const Address& address) {
  if (const PodRecord* pod = Pods(state).Get(address)) return ShowPod(address, *pod);
  if (const StepRecord* step = Steps(state).Get(address)) {
    const PodRecord* pod = Pods(state).Get(step->pod);
    return ShowStep(address, *step, pod == nullptr ? 0 : WorkersPerSlice(pod->observed));
  }
  const auto thing = state.records.find(address);
  return thing == state.records.end() ? "" : ShowThing(address, thing->second);
}

namespace {

// Of kinds with a section of their own: a list under its key. With an observation each says how it
// stands, in the word that the table has.
void AddSections(const State& state, const Observation* observation, Value* document) {
  std::map<std::string_view, Value::List> sections;
  for (const auto& [address, record] : state.records) {
    const RecordCodec& codec = record.codec();
    if (codec.section().empty()) continue;
    Value thing = Value::EmptyMap();
    thing.Set("address", address.Text());
    const Value members = codec.Document(record);
    for (const auto& [key, value] : members.AsMap()) thing.Set(key, value);
    if (observation != nullptr && codec.StatusHeader().size() > 1) {
      thing.Set("state", codec.StatusRow(address.name, record, observation->Seen(address))[1]);
    }
    const Record* objects = record.objects();
    if (objects != nullptr && objects->pending()) {
      thing.SetPath("pending.action", PendingVerb(objects->pending()->kind));
    }
    sections[codec.section()].push_back(std::move(thing));
  }
  for (auto& [key, list] : sections) document->Set(key, Value(std::move(list)));
}

}  // namespace

Value StateDocument(const State& state) {
  Value document = Value::EmptyMap();
  document.Set("format_version", "1.0");
  document.Set("lineage", state.lineage);
  document.Set("serial", state.serial);
  Value::List pods;
  for (const auto& [address, record] : Pods(state)) {
    Value pod = Value::EmptyMap();
    pod.Set("address", address.Text());
    pod.Set("project", record.project);
    pod.Set("zone", record.zone);
    pod.Set("nodeId", record.current.locator);
    pod.Set("id", record.current.uid);
    pod.Set("exists", record.exists());
    pod.Set("applied", record.applied);
    pod.Set("observed", record.observed);
    Value metadata = Value::EmptyMap();
    for (const auto& [key, value] : record.metadata) {
      const bool sensitive =
          std::count(record.sensitive_keys.begin(), record.sensitive_keys.end(), key) > 0;
      metadata.Set(key, sensitive ? Value() : Value(value));
    }
    pod.Set("metadata", std::move(metadata));
    if (record.queued) {
      pod.SetPath("queuedResource.id", record.queued->id);
      pod.SetPath("queuedResource.state", record.queued->state);
      pod.SetPath("queuedResource.terms", record.queued->terms);
      pod.SetPath("queuedResource.slices", record.queued->slices);
    }
    if (record.pending()) {
      pod.SetPath("pending.action", PendingVerb(record.pending()->kind));
      pod.SetPath("pending.operation", record.pending()->operation);
    }
    if (!record.capacity_since().empty()) pod.SetPath("capacity.since", record.capacity_since());
    if (record.recovery()) {
      pod.SetPath("recovery.because", record.recovery()->because);
      pod.SetPath("recovery.since", record.recovery()->since);
      pod.SetPath("recovery.done", record.recovery()->done);
      pod.SetPath("recovery.times", record.recovery()->times);
    }
    pods.push_back(std::move(pod));
  }
  document.Set("pods", std::move(pods));
  Value::List steps;
  for (const auto& [address, record] : Steps(state)) {
    Value step = Value::EmptyMap();
    step.Set("address", address.Text());
    step.Set("pod", record.pod.Text());
    for (const auto& [worker, applied] : record.workers) {
      Value entry = Value::EmptyMap();
      entry.Set("digest", applied.digest);
      entry.Set("appliedAt", applied.applied_at);
      Value workers = step["workers"];
      workers.Set(std::to_string(worker), std::move(entry));
      step.Set("workers", std::move(workers));
    }
    steps.push_back(std::move(step));
  }
  document.Set("steps", std::move(steps));
  AddSections(state, nullptr, &document);
  // The same once more as `terraform show -json` has it.
  const Value terraform = TerraformState(state);
  document.Set("terraform_version", terraform["terraform_version"]);
  document.Set("values", terraform["values"]);
  return document;
}

std::vector<StatusRow> StatusRows(const State& settled, const Observation& observation) {
  std::vector<StatusRow> rows;
  for (const auto& [address, record] : Pods(settled)) {
    const std::string& pod = address.name;
    StatusRow row{pod, "GONE", "-", "-", record.zone, "-", {}};
    const PodSurvey& survey = PodsIn(observation);
    const Value* node = NodeOf(survey, settled, address, record);
    const Outlook outlook = BackingOf(record).Judge(record, node, survey);
    if (!outlook.word.empty()) {
      row.state = outlook.word;
      if (outlook.asked != nullptr) row.type = (*outlook.asked)["acceleratorType"].AsString();
    } else if (node != nullptr) {
      row.state = NodeState(*node);
      row.health = NodeHealth(*node).empty() ? "-" : NodeHealth(*node);
      row.type = (*node)["acceleratorType"].AsString();
      const auto workers = AccessToWorkers(pod, record);
      row.workers = std::to_string(workers.size());
      for (const WorkerAccess& worker : workers) row.addresses.push_back(worker.host);
    } else if (record.pending() || IsSought(record)) {
      row.state = "PENDING";
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string StatusTable(const std::vector<StatusRow>& rows, bool color) {
  std::vector<std::array<std::string, 7>> table = {
      {"POD", "STATE", "HEALTH", "TYPE", "ZONE", "WORKERS", "ADDRESSES"}};
  constexpr std::size_t kMostShown = 4;
  for (const StatusRow& row : rows) {
    std::vector<std::string> shown = row.addresses;
    if (shown.size() > kMostShown) {
      shown.resize(kMostShown);
      shown.push_back(fmt::format("… {} more", row.addresses.size() - kMostShown));
    }
    table.push_back({row.pod, row.state, row.health, row.type, row.zone, row.workers,
                     shown.empty() ? "-" : Join(shown, ", ")});
  }
  return Padded(table, Paint(color));
}

namespace {

std::string Table(const std::vector<std::vector<std::string>>& rows, const RecordCodec& codec,
                  bool color) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const Paint paint(color);
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const std::string& cell = rows[r][i];
      text += r == 0   ? paint(Ink::kBold, cell)
              : i == 1 ? paint(codec.IsGood(cell) ? Ink::kGreen : Ink::kYellow, cell)
                       : cell;
      text += i + 1 == rows[r].size() ? "\n" : std::string(widths[i] - cell.size() + 2, ' ');
    }
  }
  return text;
}

}  // namespace

std::string OtherTables(const State& settled, const Observation& observation, bool color) {
  std::map<const RecordCodec*, std::vector<std::vector<std::string>>> tables;
  std::vector<const RecordCodec*> order;
  for (const auto& [address, record] : settled.records) {
    const RecordCodec& codec = record.codec();
    if (codec.StatusHeader().empty()) continue;
    auto& rows = tables[&codec];
    if (rows.empty()) {
      rows.push_back(codec.StatusHeader());
      order.push_back(&codec);
    }
    auto row = codec.StatusRow(address.name, record, observation.Seen(address));
    for (std::string& cell : row) cell = VisibleControls(cell);  // a row is a line
    rows.push_back(std::move(row));
  }
  std::string text;
  for (const RecordCodec* codec : order) {
    text += (text.empty() ? "" : "\n") + Table(tables[codec], *codec, color);
  }
  return text;
}

std::string HistoryTable(const HistoryEntry& present, const std::vector<HistoryEntry>& kept) {
  if (present.serial == 0 && present.problem.empty() && kept.empty()) {
    return "There is no state yet.\n";
  }
  const bool remarks = !present.remarks.empty() ||
                       std::any_of(kept.begin(), kept.end(),
                                   [](const HistoryEntry& each) { return !each.remarks.empty(); });
  std::string table = fmt::format("{:>8}  {:<20}  {:>6}  {:>6}  {:>10}{}\n", "SERIAL", "SAVED",
                                  "PODS", "STEPS", "BYTES", remarks ? "  REMARKS" : "");
  const auto add = [&](const HistoryEntry& entry, const std::string& saved_at) {
    const std::string serial = entry.serial == 0 ? "-" : std::to_string(entry.serial);
    if (!entry.problem.empty()) {
      table += fmt::format("{:>8}  {:<20}  {}\n", serial, saved_at, entry.problem);
    } else {
      const bool is_other = entry.lineage != present.lineage && !present.lineage.empty();
      table += fmt::format("{:>8}  {:<20}  {:>6}  {:>6}  {:>10}{}{}{}\n", serial, saved_at,
                           CountOf(entry, kPodKind), CountOf(entry, kStepKind), entry.bytes,
                           is_other ? "  of another lineage" : "",
                           entry.remarks.empty() ? "" : "  ", VisibleControls(entry.remarks));
    }
  };
  if (present.serial > 0 || !present.problem.empty()) add(present, "present");
  for (const HistoryEntry& entry : kept) add(entry, entry.saved_at);
  return table;
}

Value HistoryDocument(const HistoryEntry& present, const std::vector<HistoryEntry>& kept) {
  const auto as_value = [](const HistoryEntry& entry, bool is_present) {
    Value value = Value::EmptyMap();
    value.Set("serial", entry.serial);
    value.Set("present", is_present);
    value.Set("saved_at", entry.saved_at.empty() ? Value() : Value(entry.saved_at));
    if (!entry.problem.empty()) {
      value.Set("problem", entry.problem);
      return value;
    }
    value.Set("lineage", entry.lineage);
    value.Set("pods", CountOf(entry, kPodKind));
    value.Set("steps", CountOf(entry, kStepKind));
    value.Set("bytes", entry.bytes);
    if (!entry.remarks.empty()) value.Set("remarks", entry.remarks);
    return value;
  };
  Value::List generations;
  if (present.serial > 0 || !present.problem.empty()) {
    generations.push_back(as_value(present, true));
  }
  for (const HistoryEntry& entry : kept) generations.push_back(as_value(entry, false));
  Value document = Value::EmptyMap();
  document.Set("generations", std::move(generations));
  return document;
}

Value StatusDocument(const std::vector<StatusRow>& rows, const State& settled,
                     const Observation& observation) {
  Value::List pods;
  for (const StatusRow& row : rows) {
    Value pod = Value::EmptyMap();
    pod.Set("pod", row.pod);
    pod.Set("state", row.state);
    pod.Set("health", row.health == "-" ? Value() : Value(row.health));
    pod.Set("acceleratorType", row.type == "-" ? Value() : Value(row.type));
    pod.Set("zone", row.zone);
    pod.Set("workers", Value(row.workers).AsInt());
    pod.Set("addresses", Value::List(row.addresses.begin(), row.addresses.end()));
    pods.push_back(std::move(pod));
  }
  Value document = Value::EmptyMap();
  document.Set("pods", std::move(pods));
  AddSections(settled, &observation, &document);
  return document;
}

}  // namespace podctl
