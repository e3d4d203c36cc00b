// `podctl types` and `podctl versions`: what a zone offers to make pods of.
#include "plans/session/catalogue.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "cmd/views/documents.h"
#include "cmd/views/table.h"
#include "cmd/wiring.h"
#include "plans/spec/names.h"
#include "providers/base/text.h"
#include "providers/base/value.h"
#include "providers/gcp/available_types.h"

namespace podctl {
namespace {

constexpr const char* kUnknown = "-";

std::string Number(const std::optional<int>& number) {
  return number ? std::to_string(*number) : kUnknown;
}

std::string Words(const std::vector<std::string>& words) {
  return words.empty() ? kUnknown : VisibleControls(Join(words, ", "));
}

std::string TypesTable(const std::vector<gcp::AvailableType>& types, bool color) {
  std::vector<TableRow> rows = {{"TYPE", "CHIPS", "HOSTS", "TOPOLOGY", "ZONES"}};
  bool with_zones = false;
  for (const gcp::AvailableType& type : types) {
    rows.push_back({VisibleControls(type.type), Number(type.chips), Number(type.hosts),
                    Words(type.topologies), Words(type.zones)});
    with_zones = with_zones || !type.zones.empty();
  }
  for (TableRow& row : rows) row.resize(with_zones ? 5 : 4);
  return BoldHead(TableText(rows, {}, "<>>"), Paint(color));
}

Value TypesList(const std::vector<gcp::AvailableType>& types) {
  return ListOf(types, [](const gcp::AvailableType& type) {
    Value entry = Value::Map{{"type", type.type},
                             {"chips", type.chips ? Value(*type.chips) : Value()},
                             {"hosts", type.hosts ? Value(*type.hosts) : Value()},
                             {"topologies", ListOf(type.topologies)}};
    if (!type.zones.empty()) entry.Set("zones", ListOf(type.zones));
    return entry;
  });
}

// The command line comes first: who names a zone asks about that one, whatever the spec says.
// Problems of the spec do not matter here.
CataloguePlace WhereToLook(const GlobalOptions& given, const Spec& spec) {
  return {given.project.value_or(spec.project), given.zone.value_or(spec.zone)};
}

// Nobody is asked about a zone that is none; false: it was told.
bool IsSound(Reporter& reporter, const LoadOptions& load, const CataloguePlace& where) {
  const auto problem = where.zone.empty() ? std::nullopt : JudgeZone(where.zone);
  if (!problem) return true;
  const std::string from = load.zone == where.zone ? load.zone_from : "`zone` of the spec";
  const std::string summary = fmt::format("{}: {}", from, problem->summary);
  if (!problem->is_error) {
    reporter.ShowWarning(summary, problem->suggestion);
    return true;
  }
  reporter.ShowFailure(MakeError(ErrorCode::kInvalidArgument, summary, problem->suggestion));
  return false;
}

std::string InZone(const CataloguePlace& where) {
  return fmt::format("of {} in project {}", where.zone, where.project);
}

int RunTypes(Wiring& wiring) {
  Diagnostics ignored;
  const CataloguePlace where = WhereToLook(wiring.options(), wiring.ReadSpec(ignored));
  Reporter& reporter = wiring.reporter();
  if (!IsSound(reporter, wiring.SpecOptions(), where)) return reporter.FailedExitCode();
  const auto door = wiring.zone_catalogue();
  const auto catalogue = AvailableTypes(door, where, wiring.interrupt().drain());
  if (!catalogue) {
    return reporter.ShowFailure(catalogue.error(),
                                door ? "cannot list the types " + InZone(where) : "");
  }
  if (catalogue->unasked) {
    reporter.ShowWarning("the service was not asked: " + catalogue->unasked->message,
                         fmt::format("These are the types that are documented for {}, as podctl "
                                     "knows them.",
                                     where.zone));
  } else if (!catalogue->from_service) {
    reporter.Note(
        "The types that podctl knows by itself, and where they are documented; `--zone ZONE` asks "
        "a zone.");
  }
  const auto document = [&] {
    Value value = Value::Map{{"source", catalogue->from_service ? "service" : "built-in"}};
    if (!where.zone.empty()) value.Set("zone", where.zone);
    if (catalogue->from_service) value.Set("project", where.project);
    value.Set("types", TypesList(catalogue->types));
    return value;
  };
  reporter.Document(document, [&](Streams& streams) {
    if (catalogue->types.empty()) {
      streams.err << fmt::format("No TPU type is {} for {}.\n",
                                 catalogue->from_service ? "offered" : "documented", where.zone);
    } else {
      streams.out << TypesTable(catalogue->types, streams.color && streams.out_is_terminal);
    }
  });
  return 0;
}

int RunVersions(Wiring& wiring) {
  Reporter& reporter = wiring.reporter();
  Diagnostics ignored;
  const CataloguePlace where = WhereToLook(wiring.options(), wiring.ReadSpec(ignored));
  if (where.zone.empty() || where.project.empty()) {
    const char* what = where.zone.empty() ? "zone" : "project";
    return reporter.ShowFailure(MakeError(ErrorCode::kInvalidArgument,
                                          fmt::format("no {} is set", what),
                                          fmt::format("give --{}", what)));
  }
  if (!IsSound(reporter, wiring.SpecOptions(), where)) return reporter.FailedExitCode();
  auto catalogue = wiring.zone_catalogue();
  if (!catalogue) return reporter.ShowFailure(catalogue.error());
  const auto versions = AvailableVersions(**catalogue, where, wiring.interrupt().drain());
  if (!versions) {
    return reporter.ShowFailure(versions.error(), "cannot list the versions " + InZone(where));
  }
  const auto document = [&] {
    return Value::Map{{"project", where.project},
                      {"zone", where.zone},
                      {"versions", Value::List(versions->begin(), versions->end())}};
  };
  reporter.Document(document, [&](Streams& streams) {
    for (const std::string& version : *versions) streams.out << VisibleControls(version) << "\n";
  });
  return 0;
}

}  // namespace

const Command commands::kTypes("types",
                               "list TPU types, with chips, hosts and topology (of a --zone)", {},
                               WithWorld<RunTypes>, nullptr, NoState);

const Command commands::kVersions("versions", "list the runtime versions of a --zone", {},
                                  WithWorld<RunVersions>, nullptr, NoState);

}  // namespace podctl
