// A known_hosts file, and the name and gcloud's alias that are looked up in it: the first line of
// an input is "NAME ALIAS", the rest is the file.
#include "providers/ssh/keys/known_hosts.h"

#include <algorithm>
#include <string>

#include "providers/ssh/keys/host_key.h"
#include "tests/fuzz/fuzz_target.h"

namespace podctl::fuzz {
namespace {

constexpr const char* kOther =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA";

bool Has(const std::vector<HostKeyText>& keys, const HostKeyText& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

void LookUp(std::string_view name, std::string_view alias, std::string_view text) {
  ssh::KnownHosts known;
  known.Add(text, "known_hosts");
  const auto found = known.Find(name, alias);
  for (const auto* keys : {&found.keys, &found.revoked}) {
    for (const HostKeyText& key : *keys) {
      Expect(ssh::ParseHostKey(key).has_value(), "what is found is a key", key);
      ExpectShowable(key);
    }
  }
  Expect(found.keys.empty() == found.place.empty(), "a key has a place");
  ExpectShowable(found.place);
  ExpectShowable(found.authority);

  // Further lines, of a file that stands before this one, mean what they say whatever follows.
  ssh::KnownHosts more;
  more.Add(std::string("@revoked * ") + kOther + "\n", "first");
  more.Add(text, "known_hosts");
  const auto again = more.Find(name, alias);
  Expect(Has(again.revoked, kOther), "a key that is revoked for all is revoked for each");
  Expect(again.keys == found.keys && again.place == found.place,
         "a revocation changes nothing about other keys");
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = podctl::fuzz::TextOf(data, size);
  const std::size_t end = std::min(input.find('\n'), input.size());
  const std::string_view names = input.substr(0, end);
  const std::size_t blank = std::min(names.find(' '), names.size());
  podctl::fuzz::LookUp(names.substr(0, blank), names.substr(std::min(blank + 1, names.size())),
                       input.substr(std::min(end + 1, input.size())));
  return 0;
}
