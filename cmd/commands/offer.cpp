// `podctl types` and `podctl versions`: what a zone offers to make pods of.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cmd/command.h"
#include "cmd/commands/commands.h"
#include "cmd/commands/failure.h"
#include "cmd/context.h"
#include "cmd/reporter.h"
#include "cmd/views/offer_view.h"
#include "providers/base/text.h"
#include "providers/gcp/offered_types.h"

namespace podctl {
namespace {

struct Where {
  std::string project;
  std::string zone;
};

// The command line comes first: who names a zone asks about that one, whatever the spec says.
// Problems of the spec do not matter here.
Where WhereToLook(Wiring& wiring) {
  Diagnostics ignored;
  const Spec spec = LoadSpec(wiring.SpecOptions(), wiring.files(), wiring.environment(), ignored);
  return {wiring.options().project.value_or(spec.project),
          wiring.options().zone.value_or(spec.zone)};
}

// Whether nobody answered, or nobody was asked who we are; what the service itself says counts.
bool IsOutOfReach(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kReplyLost:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kUnauthenticated:
      return true;
    default:
      return false;
  }
}

std::string InZone(const Where& where) {
  return fmt::format("of {} in project {}", where.zone, where.project);
}

void ShowTypes(Wiring& wiring, const Where& where, const std::vector<gcp::OfferedType>& types,
               bool from_service) {
  const auto document = [&] {
    Value value = Value::EmptyMap();
    value.Set("source", from_service ? "service" : "built-in");
    if (!where.zone.empty()) value.Set("zone", where.zone);
    if (from_service) value.Set("project", where.project);
    value.Set("types", TypesList(types));
    return value;
  };
  wiring.reporter().Document(document, [&](Streams& streams) {
    if (types.empty()) {
      streams.err << fmt::format("No TPU type is {} for {}.\n",
                                 from_service ? "offered" : "documented", where.zone);
    } else {
      streams.out << TypesTable(types, streams.color && streams.out_is_terminal);
    }
  });
}

// `why` may be empty: nobody asked about a zone.
int ShowBuiltIn(Wiring& wiring, const Where& where, const Error* why) {
  if (why != nullptr) {
    wiring.reporter().ShowWarning(
        "the service was not asked: " + why->message,
        where.zone.empty() ? "These are the types that podctl knows by itself."
                           : fmt::format("These are the types that are documented for {}, as "
                                         "podctl knows them.",
                                         where.zone));
  } else {
    wiring.reporter().Note(
        "The types that podctl knows by itself, and where they are documented; `--zone ZONE` asks "
        "a zone.");
  }
  ShowTypes(wiring, where, gcp::BuiltInTypes(where.zone), false);
  return 0;
}

int RunTypes(Wiring& wiring) {
  const Where where = WhereToLook(wiring);
  if (where.zone.empty()) return ShowBuiltIn(wiring, where, nullptr);
  if (where.project.empty()) {
    const Error none = MakeError(ErrorCode::kInvalidArgument, "no project is set (--project)");
    return ShowBuiltIn(wiring, where, &none);
  }
  auto offer = wiring.zone_offer();
  if (!offer) return ShowFailure(wiring, offer.error());
  auto listed =
      (*offer)->ListAcceleratorTypes(where.project, where.zone, wiring.interrupt().drain());
  if (!listed && !IsOutOfReach(listed.error())) {
    return ShowFailure(wiring, listed.error(), "cannot list the types " + InZone(where));
  }
  if (!listed) return ShowBuiltIn(wiring, where, &listed.error());
  ShowTypes(wiring, where, gcp::JoinTypes(*listed), true);
  return 0;
}

int RunVersions(Wiring& wiring) {
  const Where where = WhereToLook(wiring);
  if (where.zone.empty() || where.project.empty()) {
    const char* what = where.zone.empty() ? "zone" : "project";
    return ShowFailure(wiring,
                       MakeError(ErrorCode::kInvalidArgument, fmt::format("no {} is set", what),
                                 fmt::format("give --{}", what)));
  }
  auto offer = wiring.zone_offer();
  if (!offer) return ShowFailure(wiring, offer.error());
  auto listed =
      (*offer)->ListRuntimeVersions(where.project, where.zone, wiring.interrupt().drain());
  if (!listed) {
    return ShowFailure(wiring, listed.error(), "cannot list the versions " + InZone(where));
  }
  std::vector<std::string> versions;
  for (const Value& each : *listed) {
    const std::string& version = each["version"].AsString();
    const std::string& name = each["name"].AsString();
    versions.push_back(version.empty() ? name.substr(name.rfind('/') + 1) : version);
  }
  std::sort(versions.begin(), versions.end(), gcp::NaturallyBefore);
  const auto document = [&] {
    Value value = Value::EmptyMap();
    value.Set("project", where.project);
    value.Set("zone", where.zone);
    value.Set("versions", Value::List(versions.begin(), versions.end()));
    return value;
  };
  wiring.reporter().Document(document, [&](Streams& streams) {
    for (const std::string& version : versions) streams.out << VisibleControls(version) << "\n";
  });
  return 0;
}

}  // namespace

const CommandOf<NoOptions> kTypesCommand(
    "types", "list TPU types, with chips, hosts and topology (of a --zone)", {},
    WithWorld<RunTypes>, nullptr, NoState);

const Command& commands::kTypes = kTypesCommand;

const CommandOf<NoOptions> kVersionsCommand("versions", "list the runtime versions of a --zone", {},
                                            WithWorld<RunVersions>, nullptr, NoState);

const Command& commands::kVersions = kVersionsCommand;

}  // namespace podctl
