// Where in an etcd something is kept, as a URL, and who asks for it, in etcdctl's variables.
//
// It knows no request: client.h makes them.
#pragma once

#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/environment.h"

namespace podctl::etcd {

struct Place {
  std::vector<std::string> endpoints;  // of one cluster, at least one: "https://etcd-1:2379"
  std::string prefix;                  // of keys; never empty, without slashes at its ends
  std::string url;                     // as it was written, but for slashes at its end
};

// "etcd://HOST:PORT,HOST:PORT/PREFIX"; without a port 2379, without any host those of
// ETCDCTL_ENDPOINTS. By TLS with the scheme `etcds`, and, as etcdctl has it, where ETCDCTL_CACERT
// or ETCDCTL_CERT is set. kInvalidArgument: the error never quotes what may be a password.
Result<Place> ParsePlace(const std::string& url, const Environment& environment);

// Whether it is such a URL, good or bad.
bool IsPlace(const std::string& url);

struct Settings {
  std::string user;  // "": nobody in particular
  std::string password;
  std::string ca_file;           // PEM; "": the system's
  std::string certificate_file;  // PEM, of this client; "": none
  std::string key_file;          // PEM; "": it is in certificate_file
};

// ETCDCTL_USER ("NAME:PASSWORD", or the password in ETCDCTL_PASSWORD), ETCDCTL_CACERT, ETCDCTL_CERT
// and ETCDCTL_KEY.
Result<Settings> FindSettings(const Environment& environment);

// kFailedPrecondition where a password would travel unencrypted over a network, or, in a pipeline,
// to a server that ETCDCTL_ENDPOINTS does not name: the place is what a spec says, which may be
// another person's.
Result<void> MayCarry(const Place& place, const Settings& settings, const Environment& environment);

}  // namespace podctl::etcd
