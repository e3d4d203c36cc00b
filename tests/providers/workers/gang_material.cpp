// What podctl gives to the members of a gang, as a JSON document, for tests that start members by
// themselves (gang_members.py): a run's certificate, what the first member is told, and the
// programs.
#include <chrono>
#include <cstdio>
#include <string>

#include "providers/base/certificate.h"
#include "providers/base/json.h"
#include "providers/base/value.h"
#include "providers/workers/gang.h"

int main() {
  podctl::workers::Gang gang;
  gang.members.push_back({0, "127.0.0.1"});
  const auto certificate = podctl::MakeCertificate();
  const auto config = podctl::ParseJson(podctl::workers::GangConfig(
      gang, 0, "train", "00000000-aaaaaaaa", std::chrono::seconds(1), ""));
  if (!certificate || !config) return 1;
  const std::string text =
      podctl::ToJson(podctl::Value::Map{{"certificate", *certificate},
                                        {"config", *config},
                                        {"gang.py", podctl::workers::kGangProgram},
                                        {"ship.py", podctl::workers::kShipProgram}});
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
