// What the user's known_hosts files (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT) say of workers: exact
// names, "[host]:port", hashed names, the patterns * ? and !, @revoked and @cert-authority.
//
// A reader only: nothing is written. libssh2's own knows neither patterns nor markers, and takes a
// revoked key for an unknown one. Knows nothing of sessions.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/worker.h"

namespace podctl::ssh {

// The name of a place in known_hosts: "10.0.0.1", or "[10.0.0.1]:2222" where the port is not 22.
// (For such a port ssh would also look for the bare name; a key of port 22 says nothing of another
// server on the same address, so this does not.)
std::string KnownHostsName(std::string_view host, int port);

class KnownHosts {
 public:
  struct Found {
    std::vector<HostKeyText> keys;     // that the host may show
    std::vector<HostKeyText> revoked;  // that nobody may show to us
    std::string place;                 // of the first key: "~/.ssh/known_hosts:3"
    std::string authority;  // of a line that has a certificate authority for it, else empty
  };

  // Lines that cannot be read are passed over, as ssh does, with everything over 64 Ki lines.
  // `label` names the file in messages.
  void Add(std::string_view text, std::string_view label);

  // `name` as KnownHostsName makes it; letters' case does not matter. `gcloud_alias` may be empty.
  Found Find(std::string_view name, std::string_view gcloud_alias) const;

 private:
  enum class Marker { kNone, kRevoked, kAuthority };
  struct Line {
    Marker marker;
    std::string hosts;  // the field as it stands
    HostKeyText key;
    std::string place;
  };
  static std::optional<Line> ReadLine(std::string_view text, std::string place);
  static bool Matches(std::string_view hosts, std::string_view name);
  static void Note(const Line& line, Found& found);

  std::vector<Line> lines_;
  // Lines whose field is one plain name, by that name: one pod has thousands of workers.
  std::multimap<std::string, std::size_t, std::less<>> by_name_;
  std::vector<std::size_t> others_;  // with patterns, lists, hashes or markers
};

// The user's files, read when first needed: $HOME/.ssh/known_hosts, gcloud's
// $HOME/.ssh/google_compute_known_hosts, and /etc/ssh/ssh_known_hosts. Thread safe; both are lent
// and must outlive it.
class KnownHostsFiles {
 public:
  KnownHostsFiles(const Environment& environment, FileSystem& files)
      : environment_(environment), files_(files) {}

  // Adds what the files say of the worker: the keys only where none is known yet (the API and the
  // state come first), the revoked ones always. A file that is there but cannot be read makes
  // `distrust`. What is filled in already is left alone.
  void Consult(WorkerAccess& worker);

 private:
  void Load();

  const Environment& environment_;
  FileSystem& files_;
  std::mutex mutex_;
  bool loaded_ = false;
  KnownHosts known_;
  std::string unreadable_;  // why a file could not be read
};

}  // namespace podctl::ssh
