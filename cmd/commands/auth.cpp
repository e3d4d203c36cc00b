// `podctl auth status`: which credentials are used, as whom, until when. `podctl authorize`: the
// TPU service agent, and what it must be allowed.
#include <fmt/format.h>

#include <string>

#include "cmd/command.h"
#include "cmd/reporter.h"
#include "cmd/views/auth_view.h"
#include "cmd/wiring.h"
#include "providers/base/text.h"
#include "providers/gcp/rest_client.h"
#include "providers/gcp/service_identity.h"
#include "providers/http/url.h"

namespace podctl {
namespace {

// The service agent is the same in every zone, and the API is asked in one.
constexpr const char* kAnyZone = "us-central1-a";

struct Place {
  std::string project;
  std::string zone;
};

// `given`: on the command line; `options`: there or elsewhere.
Place WhereToAuthorize(const GlobalOptions& given, const LoadOptions& options, const Spec& spec) {
  Place place{spec.project, spec.zone};
  if (given.project || place.project.empty()) place.project = options.project.value_or("");
  if (given.zone || place.zone.empty()) place.zone = options.zone.value_or(kAnyZone);
  return place;
}

int RunAuthStatus(Wiring& wiring) {
  Reporter& reporter = wiring.reporter();
  AuthReport report;
  report.endpoint = wiring.endpoint();
  // Before it is shown: one that is none may hold a password or a key.
  if (const auto good = gcp::ParseEndpoint(report.endpoint); !good) {
    return reporter.ShowFailure(good.error());
  }
  const auto endpoint = http::ParseUrl(report.endpoint);
  report.on_loopback = endpoint && http::IsLoopback(*endpoint);
  report.status = wiring.credentials().Status(wiring.interrupt().drain());
  report.now = wiring.clock().Now();
  if (reporter.interrupted()) return kInterruptedExitCode;
  const bool usable = IsUsable(report);
  const bool reported = reporter.Document([&] { return AuthDocument(report); },
                                          [&](Streams& streams) {
                                            streams.out << AuthText(report) << std::flush;
                                            if (!usable) streams.err << "\n";
                                          });
  if (usable) return 0;
  return reported ? 1 : reporter.ShowFailure(*report.status.error);
}

int RunAuthorize(Wiring& wiring) {
  Reporter& reporter = wiring.reporter();
  // Problems elsewhere in the spec do not matter here.
  Diagnostics ignored;
  const Place place =
      WhereToAuthorize(wiring.options(), wiring.SpecOptions(), wiring.ReadSpec(ignored));
  if (place.project.empty()) {
    return reporter.ShowFailure(
        MakeError(ErrorCode::kInvalidArgument, "there is no project",
                  "set `project` in the spec, --project or PODCTL_PROJECT"));
  }
  auto client = wiring.rest();
  if (!client) return reporter.ShowFailure(client.error());
  const auto email =
      gcp::GenerateServiceIdentity(**client, place.project, place.zone, wiring.interrupt().drain());
  if (!email) return reporter.ShowFailure(email.error());
  const std::string role = gcp::ServiceAgentRole(*email);
  // --condition=None: where the policy has conditions already, gcloud would ask.
  const std::string command = fmt::format(
      "gcloud projects add-iam-policy-binding {} --member=serviceAccount:{} --role={} "
      "--condition=None",
      ShellQuote(place.project), *email, role);
  const auto document = [&] {
    return Value::Map{
        {"project", place.project}, {"email", *email}, {"role", role}, {"command", command}};
  };
  reporter.Document(document, [&](Streams& streams) {
    streams.out << *email << "\n" << std::flush;
    streams.err << fmt::format(
        "This is the TPU service agent of {}. It needs {} there, once:\n\n  {}\n", place.project,
        role, command);
  });
  return 0;
}

}  // namespace

const Command commands::kAuth("auth", "look after the credentials for Google's APIs");

const Command commands::kAuthStatus("auth status",
                                    "show which credentials are used, as whom, and until when", {},
                                    WithWorld<RunAuthStatus>, nullptr, NoState);

const Command commands::kAuthorize(
    "authorize", "make the TPU service agent exist, and show what it must be allowed", {},
    WithWorld<RunAuthorize>, nullptr, NoState);

}  // namespace podctl
