#include "plans/from_command/gcloud_flags.h"

#include <map>

namespace podctl {
namespace {

constexpr bool kSwitch = false;

constexpr FlagRule kFlags[] = {
    {"accelerator-type"},
    {"type"},
    {"topology"},
    {"version"},
    {"runtime-version"},
    {"description"},
    {"network"},
    {"subnetwork"},
    {"internal-ips", kSwitch},
    {"queue-count"},
    {"preemptible", kSwitch},
    {"spot", kSwitch},
    {"reserved", kSwitch},
    {"range"},
    {"service-account"},
    {"scopes"},
    {"labels"},
    {"metadata"},
    {"metadata-from-file"},
    {"tags"},
    {"data-disk"},
    {"shielded-secure-boot", kSwitch},
    {"boot-disk"},
    {"autocheckpoint-enabled", kSwitch},
    {"reservation"},
    {"provisioning-model"},
    {"zone"},
    {"async", kSwitch},
    {"use-service-networking", kSwitch},
    // queued-resources
    {"node-id"},
    {"node-count"},
    {"node-prefix"},
    {"workload-type"},
    {"best-effort", kSwitch},
    {"guaranteed", kSwitch},
    {"max-run-duration"},
    {"min-duration"},
    {"valid-after-duration"},
    {"valid-after-time"},
    {"valid-until-duration"},
    {"valid-until-time"},
    {"reservation-host-project"},
    {"reservation-host-folder"},
    {"reservation-host-organization"},
    {"network-config"},
    // Of every gcloud command.
    {"project"},
    {"format"},
    {"quiet", kSwitch, 'q'},
    {"verbosity"},
    {"account"},
    {"impersonate-service-account"},
    {"billing-project"},
    {"configuration"},
    {"log-http", kSwitch},
    {"user-output-enabled", kSwitch},
    {"access-token-file"},
    {"trace-token"},
    {"flatten"},
};

// Flags that say nothing about the pod, and what podctl has instead.
const std::map<std::string_view, std::string_view>& Aside() {
  static const std::map<std::string_view, std::string_view> aside = {
      {"async",
       "apply waits; Ctrl-C leaves the rest to the next run, --no-wait leaves a request in "
       "the queue"},
      {"format", "`--json` prints what podctl knows"},
      {"quiet", "`podctl apply --auto-approve` does not ask"},
      {"verbosity", "podctl has no levels of talk"},
      {"account", "podctl finds credentials as Google's libraries do: `podctl auth status`"},
      {"impersonate-service-account",
       "podctl takes credentials with impersonation: `podctl auth status`"},
      {"access-token-file", "set CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"},
      {"billing-project", "the quota project comes with the credentials"},
      {"configuration", "podctl reads gcloud's active configuration only"},
      {"log-http", "podctl has no log of requests"},
      {"user-output-enabled", "podctl always says what it does"},
      {"trace-token", "podctl sends none"},
      {"flatten", "it is about gcloud's output"},
      {"use-service-networking", "it belongs to TPU nodes of old, which are gone"},
  };
  return aside;
}

}  // namespace

std::span<const FlagRule> GcloudFlags() {
  return kFlags;
}

std::string_view WhyLeftAside(std::string_view flag) {
  const auto found = Aside().find(flag);
  return found == Aside().end() ? std::string_view() : found->second;
}

}  // namespace podctl
