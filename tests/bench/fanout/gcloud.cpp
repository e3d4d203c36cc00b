#include "tests/bench/fanout/gcloud.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "tests/bench/measure.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

constexpr std::size_t kMostRequestBytes = std::size_t{1} << 20;

struct Replies {
  std::string node;
  std::string attributes;
  std::string project;
  std::string operation;
};

Replies RepliesFor(const Fleet& fleet, int count) {
  const std::string key = fleet.host_key().substr(fleet.host_key().find(' ') + 1);
  std::string endpoints;
  std::string attributes;
  for (int i = 0; i < count; ++i) {
    const char* const comma = i == 0 ? "" : ",";
    const std::string& address = fleet.addresses()[static_cast<std::size_t>(i)];
    endpoints +=
        fmt::format(R"({}{{"ipAddress":"{}","port":8470,"accessConfig":{{"externalIp":"{}"}}}})",
                    comma, address, address);
    attributes +=
        fmt::format(R"({}{{"queryPath":"","queryValue":{{"items":[{{"namespace":"hostkeys",)"
                    R"("key":"ssh-ed25519","value":"{}"}}]}}}})",
                    comma, key);
  }
  return {fmt::format(R"({{"name":"projects/bench/locations/europe-west4-a/nodes/pod","id":"1",)"
                      R"("state":"READY","health":"HEALTHY","acceleratorType":"v3-8",)"
                      R"("runtimeVersion":"tpu-ubuntu2204-base","metadata":{{"ssh-keys":"{}:{}"}},)"
                      R"("networkEndpoints":[{}]}})",
                      fleet.user(), fleet.public_key(), endpoints),
          fmt::format(R"({{"guestAttributes":[{}]}})", attributes),
          R"({"name":"bench","commonInstanceMetadata":{"items":[]}})",
          R"({"name":"projects/bench/locations/europe-west4-a/operations/1","done":true,)"
          R"("response":{"name":"projects/bench/locations/europe-west4-a/nodes/pod"}})"};
}

// Reads a whole request and returns its first line; empty when there is none.
std::string ReadRequest(int connection) {
  std::string text;
  char buffer[16384];
  for (std::size_t whole = std::string::npos; text.size() < whole;) {
    const ssize_t count = read(connection, buffer, sizeof(buffer));
    if (count <= 0 || text.size() > kMostRequestBytes) return "";
    text.append(buffer, static_cast<std::size_t>(count));
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    whole = end + 4;
    for (std::size_t at = 0; at < end; at = text.find("\r\n", at) + 2) {
      constexpr char kLength[] = "content-length:";
      if (strncasecmp(text.c_str() + at, kLength, sizeof(kLength) - 1) != 0) continue;
      whole += std::strtoul(text.c_str() + at + sizeof(kLength) - 1, nullptr, 10);
    }
  }
  return text.substr(0, text.find("\r\n"));
}

const std::string& ReplyTo(const std::string& request, const Replies& replies) {
  const auto has = [&](const char* text) { return request.find(text) != std::string::npos; };
  if (has("/compute/")) return replies.project;
  if (has(":getGuestAttributes")) return replies.attributes;
  // gcloud publishes its key by a patch, which is done at once.
  if (has("PATCH ") || has("/operations/")) return replies.operation;
  return replies.node;
}

[[noreturn]] void Serve(int listener, const Replies& replies) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    const std::string request = ReadRequest(connection);
    const std::string& body = ReplyTo(request, replies);
    const std::string answer = fmt::format(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
        "Connection: close\r\n\r\n{}",
        body.size(), body);
    for (std::size_t sent = 0; sent < answer.size();) {
      const ssize_t count =
          send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<std::size_t>(count);
    }
    close(connection);
  }
}

}  // namespace

GcloudApi::GcloudApi(const Fleet& fleet, int count) : fleet_(fleet) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(in);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&in), size) != 0 ||
      listen(listener, 64) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&in), &size) != 0) {
    Fail("cannot listen for gcloud");
  }
  port_ = ntohs(in.sin_port);
  process_ = fork();
  if (process_ == 0) Serve(listener, RepliesFor(fleet, count));
  close(listener);
}

GcloudApi::~GcloudApi() {
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<Client> GcloudApi::Command(const Pod& pod, const std::string& command) const {
  if (!HasProgram("gcloud")) return std::nullopt;
  namespace fs = std::filesystem;
  const std::string keys = pod.folder + "/.ssh";
  fs::create_directories(keys);
  for (const char* const end : {"", ".pub"}) {
    fs::copy_file(fleet_.identity() + end, keys + "/google_compute_engine" + end,
                  fs::copy_options::overwrite_existing);
  }
  WriteFile(pod.folder + "/token", "none");
  Client client;
  client.name = kGcloud;
  client.folder = pod.folder;
  const std::string url = fmt::format("http://127.0.0.1:{}/", port_);
  client.environment = {"HOME=" + pod.folder,
                        "CLOUDSDK_CONFIG=" + pod.folder + "/gcloud",
                        "CLOUDSDK_CORE_PROJECT=bench",
                        "CLOUDSDK_CORE_DISABLE_PROMPTS=1",
                        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=1",
                        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=1",
                        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=" + pod.folder + "/token",
                        "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU=" + url,
                        "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=" + url + "compute/v1/"};
  // gcloud wants an agent where there are several workers.
  client.words = {"ssh-agent", "sh", "-c",
                  fmt::format("ssh-add -q .ssh/google_compute_engine && exec gcloud compute tpus "
                              "tpu-vm ssh {}@pod --zone=europe-west4-a --worker=all "
                              "--ssh-flag='-p {}' --command='{}'",
                              fleet_.user(), fleet_.port(), command)};
  return client;
}

}  // namespace podctl::bench
