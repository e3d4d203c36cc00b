#include "plans/fleet/refused_key.h"

#include <algorithm>

#include "plans/kinds/pod/refresh.h"
#include "providers/base/ssh_key_lines.h"

namespace podctl {

KeyStanding StandingOfKey(const PodRecord& record, const std::vector<std::string>& ours,
                          Provider& provider, const std::stop_token& stop) {
  const auto node = provider.Speaking(record.api_version).GetNode(NameOf(record), stop);
  if (!node) return KeyStanding::kUnknown;
  const std::string& keys = (*node)["metadata"][kSshKeys].AsString();
  const bool held = std::any_of(ours.begin(), ours.end(),
                                [&](const std::string& line) { return HoldsSshKey(keys, line); });
  if (held) return KeyStanding::kNotTakenUp;
  if (record.metadata.contains(kSshKeys)) return KeyStanding::kNotInSpec;
  return record.ssh.withhold_key ? KeyStanding::kWithheld : KeyStanding::kUnpublished;
}

}  // namespace podctl
