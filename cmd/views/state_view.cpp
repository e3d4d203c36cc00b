#include "cmd/views/state_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cmd/views/documents.h"
#include "cmd/views/live_block.h"
#include "cmd/views/return_view.h"
#include "cmd/views/table.h"
#include "cmd/views/terraform_json.h"
#include "plans/kinds/pod/backing.h"
#include "plans/kinds/pod/node_view.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/settle.h"
#include "plans/kinds/pod/unaccounted_nodes.h"
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
    lines.emplace_back("metadata." + key,
                       IsSensitive(record, key) ? "(sensitive value)" : ToJson(Value(value)));
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
  for (const auto& [name, job] : record.jobs) {
    lines.emplace_back("jobs." + name, WantedJobText(job));
  }
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
    // A value is neither well nor unwell.
    if (codec.section().empty() || (observation != nullptr && codec.is_value())) continue;
    Value thing = Value::Map{{"address", address.Text()}};
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

Value PodDocument(const Address& address, const PodRecord& record) {
  Value metadata = Value::EmptyMap();
  for (const auto& [key, value] : record.metadata) {
    metadata.Set(key, IsSensitive(record, key) ? Value() : Value(value));
  }
  Value pod = Value::Map{{"address", address.Text()}, {"project", record.project},
                         {"zone", record.zone},       {"nodeId", record.current.locator},
                         {"id", record.current.uid},  {"exists", record.exists()},
                         {"applied", record.applied}, {"observed", record.observed},
                         {"metadata", metadata}};
  if (const auto& queued = record.queued) {
    pod.Set("queuedResource", Value::Map{{"id", queued->id},
                                         {"state", queued->state},
                                         {"terms", queued->terms},
                                         {"slices", queued->slices}});
  }
  if (const auto& pending = record.pending()) {
    pod.Set("pending",
            Value::Map{{"action", PendingVerb(pending->kind)}, {"operation", pending->operation}});
  }
  if (!record.capacity_since().empty()) pod.SetPath("capacity.since", record.capacity_since());
  if (const auto& recovery = record.recovery()) {
    pod.Set("recovery", Value::Map{{"because", recovery->because},
                                   {"since", recovery->since},
                                   {"done", recovery->done},
                                   {"times", recovery->times}});
  }
  if (!record.jobs.empty()) pod.Set("jobs", WantedDocument(record.jobs));
  return pod;
}

}  // namespace

Value StateDocument(const State& state) {
  Value::List pods;
  for (const auto& [address, record] : Pods(state)) pods.push_back(PodDocument(address, record));
  Value::List steps;
  for (const auto& [address, record] : Steps(state)) {
    Value step = Value::Map{{"address", address.Text()}, {"pod", record.pod.Text()}};
    Value workers;
    for (const auto& [worker, applied] : record.workers) {
      workers.Set(std::to_string(worker),
                  Value::Map{{"digest", applied.digest}, {"appliedAt", applied.applied_at}});
    }
    if (workers.is_map()) step.Set("workers", std::move(workers));
    steps.push_back(std::move(step));
  }
  // The same once more as `terraform show -json` has it.
  const Value terraform = TerraformState(state);
  Value document = Value::Map{
      {"format_version", "1.0"},      {"lineage", state.lineage},
      {"serial", state.serial},       {"pods", std::move(pods)},
      {"steps", std::move(steps)},    {"terraform_version", terraform["terraform_version"]},
      {"values", terraform["values"]}};
  AddSections(state, nullptr, &document);
  return document;
}

namespace {

StatusRow StatusRowOf(const std::string& pod, const PodRecord& record, const Object& object) {
  return {pod, "GONE", "-", "-", record.project, record.zone, object.locator, "-", {}};
}

void TakeNode(const Value& node, StatusRow* row) {
  const auto word = [&](const char* fact, const char* none) {
    const std::string& text = node[fact].AsString();
    return text.empty() ? none : text;
  };
  row->state = word("state", "STATE_UNSPECIFIED");
  row->health = word("health", "-");
  row->type = node["acceleratorType"].AsString();
}

// Those that a replacement left behind; what has the name of one by now may be somebody else's.
void AddDeposed(const State& settled, const PodSurvey& survey, const Address& address,
                const PodRecord& record, std::vector<StatusRow>* rows) {
  for (const Object& deposed : record.deposed) {
    StatusRow row = StatusRowOf(address.name, record, deposed);
    row.deposed = true;
    const NodeName name = NameOf(record, deposed);
    const Value* node = survey.Find(name);
    if (node != nullptr && WhoseNode(*node, settled, address, name, deposed).empty()) {
      TakeNode(*node, &row);
      row.workers = std::to_string(WorkerCount(*node));
    }
    rows->push_back(std::move(row));
  }
}

Address AddressOf(const StatusRow& row) {
  Address address = PodAddress(row.pod);
  if (row.deposed) address.deposed = row.node_id;
  return address;
}

}  // namespace

std::vector<StatusRow> StatusRows(const State& settled, const Observation& observation) {
  std::vector<StatusRow> rows;
  const PodSurvey& survey = PodsIn(observation);
  for (const auto& [address, record] : Pods(settled)) {
    const std::string& pod = address.name;
    StatusRow row = StatusRowOf(pod, record, record.current);
    const Value* node = NodeOf(survey, settled, address, record);
    const BackingStatus backing_status =
        BackingOf(record).Judge(record, node, survey, settled.lineage);
    if (!backing_status.word.empty()) {
      row.state = backing_status.word;
      row.initiator = backing_status.initiator;
      if (backing_status.asked != nullptr)
        row.type = (*backing_status.asked)["acceleratorType"].AsString();
    } else if (node != nullptr) {
      TakeNode(*node, &row);
      const auto workers = AccessToWorkers(pod, record);
      row.workers = std::to_string(workers.size());
      for (const WorkerAccess& worker : workers) row.addresses.push_back(worker.host);
    } else if (record.pending() || IsSought(record)) {
      row.state = "PENDING";
    }
    rows.push_back(std::move(row));
    AddDeposed(settled, survey, address, record, &rows);
  }
  return rows;
}

namespace {

constexpr const char* kNotMade = "NOT CREATED";

}  // namespace

std::string NotMadeText(const std::vector<StatusRow>& rows) {
  std::vector<std::string> pods;
  for (const StatusRow& row : rows) {
    if (row.state == kNotMade) pods.push_back(PodAddress(row.pod).Text());
  }
  if (pods.empty()) return {};
  return fmt::format("{} in the spec and not made yet: podctl apply\n",
                     pods.size() == 1 ? pods.front() + " is" : Plural(pods.size(), "pod") + " are");
}

void AddNotMade(const std::vector<PodSpec>& pods, std::vector<StatusRow>* rows) {
  for (const PodSpec& pod : pods) {
    const std::string& type = pod.node["acceleratorType"].AsString();
    rows->push_back({pod.name,
                     kNotMade,
                     "-",
                     type.empty() ? "-" : type,
                     pod.project,
                     pod.zone,
                     pod.node_id,
                     "-",
                     {}});
  }
  std::stable_sort(rows->begin(), rows->end(),
                   [](const StatusRow& a, const StatusRow& b) { return a.pod < b.pod; });
}

namespace {

constexpr std::ptrdiff_t kProjectColumn = 4;
constexpr std::ptrdiff_t kNodeColumn = 6;

// With at most so many addresses of a pod. `counts`: and with how many there are beside them, which
// the number of workers tells as well.
std::vector<TableRow> StatusCells(const std::vector<StatusRow>& rows, std::size_t most,
                                  bool counts = true) {
  std::vector<TableRow> table = {
      {"POD", "STATE", "HEALTH", "TYPE", "PROJECT", "ZONE", "NODE", "WORKERS", "ADDRESSES"}};
  for (const StatusRow& row : rows) {
    std::vector<std::string> shown = row.addresses;
    if (shown.size() > most) {
      shown.resize(most);
      shown.push_back(counts ? fmt::format("… {} more", row.addresses.size() - most) : "…");
    }
    const std::string pod =
        row.deposed ? fmt::format("{} (deposed {})", row.pod, row.node_id) : row.pod;
    table.push_back({pod, gcp::QueuedStateWords(row.state, row.initiator), row.health, row.type,
                     row.project, row.zone, row.node_id, row.workers,
                     shown.empty() ? "-" : Join(shown, ", ")});
    // A row is a line, whatever the service sends.
    for (std::string& cell : table.back()) cell = VisibleControls(cell);
  }
  // Most nodes have the name of their pod.
  const bool named = std::any_of(rows.begin(), rows.end(),
                                 [](const StatusRow& row) { return row.node_id != row.pod; });
  if (!named) {
    for (TableRow& row : table) row.erase(row.begin() + kNodeColumn);
  }
  return table;
}

bool Fits(const std::vector<TableRow>& table, int width) {
  const std::vector<std::string> lines = SplitLines(TableText(table));
  return std::all_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return ScreenColumns(line) <= static_cast<std::size_t>(width);
  });
}

}  // namespace

std::string StatusTable(const std::vector<StatusRow>& rows, bool color, int width) {
  std::size_t most = 4;
  std::vector<TableRow> table = StatusCells(rows, most);
  while (width > 0 && most > 1 && !Fits(table, width)) table = StatusCells(rows, --most);
  // An address says more than the project, which most pods have in common.
  if (width > 0 && !Fits(table, width)) {
    const auto without_project = [&] {
      for (TableRow& row : table) row.erase(row.begin() + kProjectColumn);
    };
    without_project();
    if (!Fits(table, width)) {
      table = StatusCells(rows, most, false);
      without_project();
    }
  }
  const Paint paint(color);
  const auto ink = [&](std::size_t r, std::size_t column, const std::string& cell) {
    if (r == 0) return paint(Ink::kBold, cell);
    const bool judged = (column == 1 || column == 2) && cell != "-";  // state and health
    if (!judged) return cell;
    return paint(cell == "READY" || cell == "HEALTHY" ? Ink::kGreen : Ink::kYellow, cell);
  };
  return TableText(table, ink);
}

std::string OtherTables(const State& settled, const Observation& observation, bool color) {
  std::map<const RecordCodec*, std::vector<TableRow>> tables;
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
  const Paint paint(color);
  std::string text;
  for (const RecordCodec* codec : order) {
    const auto ink = [&](std::size_t r, std::size_t column, const std::string& cell) {
      if (r == 0) return paint(Ink::kBold, cell);
      return column == 1 ? paint(codec->IsGood(cell) ? Ink::kGreen : Ink::kYellow, cell) : cell;
    };
    text += (text.empty() ? "" : "\n") + TableText(tables[codec], ink);
  }
  return text;
}

namespace {

// A column of the history; those that say something of a run are there where one is known.
struct HistoryColumn {
  std::string_view head;
  bool right = false;  // its cells stand to the right
  int least = 0;       // characters
  int spare = 0;       // the greatest is left out first; 0: never
  std::string (*cell)(const HistoryEntry& entry, const Provenance& run);
};

constexpr std::size_t kCommitDigits = 10;

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : VisibleControls(text);
}

constexpr HistoryColumn kHistoryColumns[] = {
    {"PODS", true, 6, 0,
     [](const HistoryEntry& entry, const Provenance&) {
       return std::to_string(CountOf(entry, kPodKind));
     }},
    {"STEPS", true, 6, 4,
     [](const HistoryEntry& entry, const Provenance&) {
       return std::to_string(CountOf(entry, kStepKind));
     }},
    {"BYTES", true, 10, 6,
     [](const HistoryEntry& entry, const Provenance&) { return std::to_string(entry.bytes); }},
};

constexpr HistoryColumn kRunColumns[] = {
    {"BY", false, 0, 0, [](const HistoryEntry&, const Provenance& run) { return OrDash(run.who); }},
    {"OPERATION", false, 0, 2,
     [](const HistoryEntry&, const Provenance& run) { return OrDash(run.operation); }},
    {"COMMIT", false, 0, 3,
     [](const HistoryEntry&, const Provenance& run) {
       return OrDash(CommitText(run, kCommitDigits));
     }},
    {"PODCTL", false, 0, 7,
     [](const HistoryEntry&, const Provenance& run) { return OrDash(run.podctl); }},
    {"CI RUN", false, 0, 5,
     [](const HistoryEntry&, const Provenance& run) { return OrDash(run.run_url); }},
};
constexpr int kMostSpare = 7;

// With the columns that are to be left out at most so readily.
std::string HistoryText(const HistoryEntry& present, const std::vector<const HistoryEntry*>& rows,
                        int most_spare) {
  const auto any = [&](const auto& is_so) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const HistoryEntry* row) { return is_so(*row); });
  };
  std::vector<HistoryColumn> columns;
  const auto take = [&](const HistoryColumn& column) {
    if (column.spare <= most_spare) columns.push_back(column);
  };
  for (const HistoryColumn& column : kHistoryColumns) take(column);
  if (any([](const HistoryEntry& row) { return row.run.has_value(); })) {
    for (const HistoryColumn& column : kRunColumns) take(column);
  }
  const auto cell_of = [](const HistoryColumn& column, const HistoryEntry& row) {
    return column.cell(row, row.run.value_or(Provenance{}));
  };
  for (HistoryColumn& column : columns) {
    column.least = std::max(column.least, static_cast<int>(column.head.size()));
    for (const HistoryEntry* row : rows) {
      const int needed = row->problem.empty() ? ScreenColumns(cell_of(column, *row)) : 0;
      column.least = std::max(column.least, needed);
    }
  }
  const auto padded = [](const HistoryColumn& column, const std::string& cell) {
    const std::string blanks(
        static_cast<std::size_t>(std::max(0, column.least - static_cast<int>(ScreenColumns(cell)))),
        ' ');
    return "  " + (column.right ? blanks + cell : cell + blanks);
  };
  const auto without_trail = [](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  };
  std::string head = fmt::format("{:>8}  {:<20}", "SERIAL", "SAVED");
  for (const HistoryColumn& column : columns) head += padded(column, std::string(column.head));
  if (any([](const HistoryEntry& row) { return !row.remarks.empty(); })) head += "  REMARKS";
  std::string table = without_trail(head);
  for (const HistoryEntry* row : rows) {
    const std::string serial = row->serial == 0 ? "-" : std::to_string(row->serial);
    std::string line =
        fmt::format("{:>8}  {:<20}", serial, row == &present ? "present" : row->saved_at);
    if (!row->problem.empty()) {
      table += line + "  " + row->problem + "\n";
      continue;
    }
    for (const HistoryColumn& column : columns) line += padded(column, cell_of(column, *row));
    if (row->lineage != present.lineage && !present.lineage.empty()) line += "  of another lineage";
    if (!row->remarks.empty()) line += "  " + VisibleControls(row->remarks);
    table += without_trail(line);
  }
  return table;
}

}  // namespace

std::string HistoryTable(const HistoryEntry& present, const std::vector<HistoryEntry>& kept,
                         int width) {
  std::vector<const HistoryEntry*> rows;
  if (present.serial > 0 || !present.problem.empty()) rows.push_back(&present);
  for (const HistoryEntry& entry : kept) rows.push_back(&entry);
  if (rows.empty()) return "There is no state yet.\n";
  std::string table = HistoryText(present, rows, kMostSpare);
  for (int spare = kMostSpare - 1; width > 0 && spare >= 0; --spare) {
    const std::vector<std::string> lines = SplitLines(table);
    const bool fits = std::all_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return ScreenColumns(line) <= static_cast<std::size_t>(width);
    });
    if (fits) break;
    table = HistoryText(present, rows, spare);
  }
  return table;
}

namespace {

Value RunDocument(const Provenance& run) {
  Value document = Value::EmptyMap();
  const auto put = [&](const char* name, const std::string& text) {
    if (!text.empty()) document.Set(name, text);
  };
  put("who", run.who);
  put("operation", run.operation);
  put("command", run.command);
  put("podctl", run.podctl);
  put("commit", run.commit);
  if (!run.commit.empty()) document.Set("dirty", run.dirty);
  put("ci", run.ci);
  put("run_url", run.run_url);
  put("run_id", run.run_id);
  put("attempt", run.attempt);
  return document;
}

}  // namespace

Value HistoryDocument(const HistoryEntry& present, const std::vector<HistoryEntry>& kept) {
  Value::List generations;
  const auto add = [&](const HistoryEntry& entry, bool is_present) {
    Value value = Value::Map{
        {"serial", entry.serial}, {"present", is_present}, {"saved_at", OrNull(entry.saved_at)}};
    if (!entry.problem.empty()) {
      value.Set("problem", entry.problem);
    } else {
      value.Set("lineage", entry.lineage);
      value.Set("pods", CountOf(entry, kPodKind));
      value.Set("steps", CountOf(entry, kStepKind));
      value.Set("bytes", entry.bytes);
      if (!entry.remarks.empty()) value.Set("remarks", entry.remarks);
      if (entry.run) value.Set("run", RunDocument(*entry.run));
    }
    generations.push_back(std::move(value));
  };
  if (present.serial > 0 || !present.problem.empty()) add(present, true);
  for (const HistoryEntry& entry : kept) add(entry, false);
  return Value::Map{{"generations", std::move(generations)}};
}

Value StatusDocument(const std::vector<StatusRow>& rows, const State& settled,
                     const Observation& observation) {
  const auto known = [](const std::string& text) { return text == "-" ? Value() : Value(text); };
  Value document = Value::Map{{"pods", ListOf(rows, [&](const StatusRow& row) {
                                 return Value::Map{{"pod", row.pod},
                                                   {"address", AddressOf(row).Text()},
                                                   {"deposed", row.deposed},
                                                   {"endsAt", OrNull(row.ends_at)},
                                                   {"state", row.state},
                                                   {"stateInitiator", OrNull(row.initiator)},
                                                   {"health", known(row.health)},
                                                   {"acceleratorType", known(row.type)},
                                                   {"project", row.project},
                                                   {"zone", row.zone},
                                                   {"nodeId", row.node_id},
                                                   {"workers", Value(row.workers).AsInt()},
                                                   {"addresses", ListOf(row.addresses)}};
                               })}};
  AddSections(settled, &observation, &document);
  return document;
}

}  // namespace podctl
