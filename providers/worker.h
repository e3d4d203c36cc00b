// How one worker of a pod is reached, in words that both the data plane (ssh, bootstrap) and the
// rooms above share. A worker is one TPU VM: `networkEndpoints[index]` of its node.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace podctl {

// Half a line of known_hosts: "ssh-ed25519 AAAA…" (type, blank, base64 of the wire format, RFC
// 4253).
using HostKeyText = std::string;

// "research/3"; with `per_slice` workers in each of several slices "research[1]/3", of worker 3 of
// slice 1. 0: there are no slices.
inline std::string WorkerLabel(const std::string& pod, int index, int per_slice) {
  if (per_slice <= 0) return pod + "/" + std::to_string(index);
  return pod + "[" + std::to_string(index / per_slice) + "]/" + std::to_string(index % per_slice);
}

struct WorkerAccess {
  std::string pod;    // name of the pod, for messages: "research"
  int index = 0;      // 0-based, through all slices
  int per_slice = 0;  // workers of each slice of a multislice, else 0
  std::string host;   // an IP address or a name
  int port = 22;
  std::string user;
  // A private key file to use in place of the agent and the usual files; may be empty.
  std::string identity_file;
  // Keys this worker may show. Empty: trust on first use, when `trust_first_use` allows it.
  std::vector<HostKeyText> host_keys;
  bool trust_first_use = true;
  // Where host_keys stand if that is a file of the user's, "~/.ssh/known_hosts:3"; for messages.
  std::string host_keys_from;
  std::vector<HostKeyText> revoked_keys;  // never accepted, not even when pinned
  // Not empty: no key can be trusted for the first time, and this clause says why.
  std::string distrust;
  // The name under which gcloud's known_hosts file has it, but for the key's last letters at the
  // end: "tpu.1234567890-0".
  std::string gcloud_alias;
  // A program (words, no shell) whose standard input and output lead to the worker's SSH port;
  // empty: a TCP connection does.
  std::vector<std::string> through;
  // Not empty: there is no way to the worker at all, and this clause says why.
  std::string no_route;
  bool use_openssh = false;  // reached by the program `ssh`, with all that ~/.ssh/config says

  // Its address as the pod's other workers reach it; empty: not known.
  std::string inside = {};

  // For whatever is started there: which slice this is, and where they meet.
  std::map<std::string, std::string> env = {};

  std::string Name() const { return WorkerLabel(pod, index, per_slice); }
  int slice() const { return per_slice > 0 ? index / per_slice : 0; }
};

}  // namespace podctl
