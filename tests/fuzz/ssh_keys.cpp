// What describes SSH keys and comes from elsewhere: host keys in guest attributes and in the state,
// private key files, and the answers of an agent. The first byte says which: h, k, a; w is the wire
// format itself.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "providers/base/encoding.h"
#include "providers/ssh/keys/agent.h"
#include "providers/ssh/keys/host_key.h"
#include "providers/ssh/keys/key.h"
#include "providers/ssh/keys/wire.h"
#include "tests/fuzz/fuzz_target.h"

namespace podctl::fuzz {
namespace {

using ssh::HostKeyVerdict;

void ReadHostKey(std::string_view text) {
  WorkerAccess worker;
  worker.pod = "research";
  worker.host = "10.0.0.1";
  const auto key = ssh::ParseHostKey(text);
  if (key) {
    const HostKeyText written = ssh::FormatHostKey(key->blob);
    const auto again = ssh::ParseHostKey(written);
    Expect(again && again->blob == key->blob && again->type == key->type,
           "a host key is read back equal", written);
    Expect(ssh::JudgeHostKey(worker, {*key}, key->blob) == HostKeyVerdict::kPinned,
           "a pinned key is known again");
    Expect(ssh::JudgeHostKey(worker, {*key}, key->blob + "x") == HostKeyVerdict::kChanged,
           "any other key is not");
    ExpectShowable(written);
    ExpectShowable(FullWords(ssh::HostKeyComplaint(HostKeyVerdict::kChanged, worker, {*key},
                                                   ssh::DescribeHostKey("other"))));
  }
  // As bytes that a worker shows.
  ExpectShowable(FullWords(
      ssh::HostKeyComplaint(HostKeyVerdict::kUnknown, worker, {}, ssh::DescribeHostKey(text))));
  ExpectShowable(ssh::FormatHostKey(text));
  Expect(!ssh::HostKeyPreferences(key ? std::vector{*key} : std::vector<ssh::HostKey>{}).empty(),
         "some algorithm is asked for");
}

void ReadKeyFile(std::string_view text) {
  const auto file = ssh::ParseKeyFile(text, "~/.ssh/id");
  if (!file) {
    ExpectShowable(file.error());
    return;
  }
  if (file->key == nullptr) return;  // protected
  Expect(!file->key->blob().empty(), "a key has a public half");
  for (const char* algorithm : {"ssh-ed25519", "rsa-sha2-512", "ecdsa-sha2-nistp256", "nonsense"}) {
    const auto signature = file->key->Sign(algorithm, "data");
    if (!signature) ExpectShowable(signature.error());
  }
}

// An agent that answers every question with `answer` and hangs up, on an abstract socket of Linux
// (unix(7)), so that nothing is left on the disk.
void AskAgent(std::string_view answer) {
  std::string path(1, '\0');
  path += "podctl-fuzz-agent-" + std::to_string(getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  Expect(bind(listener, name, sizeof(address)) == 0 && listen(listener, 1) == 0,
         "there are sockets");
  const auto agent = ssh::Agent::Connect(path);
  Expect(agent.has_value(), "the agent can be reached");
  const int server = accept(listener, nullptr, nullptr);
  // What does not fit into the socket is cut off: nobody reads while this thread writes.
  (void)!send(server, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  shutdown(server, SHUT_WR);
  const auto keys = (*agent)->Keys();
  if (!keys) ExpectShowable(keys.error());
  for (std::size_t i = 0; keys && i < keys->size(); ++i) {
    Expect(!(*keys)[i]->type().empty(), "a key has a type");
    const auto signature = (*keys)[i]->Sign("rsa-sha2-512", "data");
    if (!signature) ExpectShowable(signature.error());
  }
  close(server);
  close(listener);
}

void ReadWire(std::string_view bytes) {
  ssh::WireReader reader(bytes);
  const auto kind = reader.Byte();
  const auto number = reader.Number();
  const std::string string(reader.String());
  const std::string mpint(reader.String());
  if (!reader.ok()) {
    Expect(reader.String().empty() && reader.Number() == 0, "after a misfit all is empty");
    return;
  }
  std::string written(1, static_cast<char>(kind));
  ssh::AppendNumber(written, number);
  ssh::AppendString(written, string);
  ssh::AppendString(written, mpint);
  written += reader.rest();
  Expect(written == bytes, "a message is written as it was read");
  std::string number_written;
  ssh::AppendMpint(number_written, mpint);
  ssh::WireReader again(number_written);
  const std::string_view value = again.String();
  Expect(again.ok() && again.rest().empty(), "an mpint is one string");
  Expect(value.empty() || (value[0] & 0x80) == 0, "an mpint is never negative");
  const auto decoded = Base64Decode(Base64Encode(string));
  Expect(decoded && *decoded == string, "base64 is read back equal");
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest = podctl::fuzz::TextOf(data + 1, size - 1);
  switch (data[0]) {
    case 'k':
      podctl::fuzz::ReadKeyFile(rest);
      break;
    case 'a':
      podctl::fuzz::AskAgent(rest);
      break;
    case 'w':
      podctl::fuzz::ReadWire(rest);
      break;
    default:
      podctl::fuzz::ReadHostKey(rest);
  }
  return 0;
}
