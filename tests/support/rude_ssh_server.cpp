#include "tests/support/rude_ssh_server.h"

#include <arpa/inet.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace podctl::testing {
namespace {

constexpr int kGlance = 100;  // ms: how often a connection looks whether the server is to end

ssh_bind MakeBind(const std::string& key) {
  ssh_bind bind = ssh_bind_new();
  const bool no = false;
  ssh_bind_options_set(bind, SSH_BIND_OPTIONS_PROCESS_CONFIG, &no);
  ssh_bind_options_set(bind, SSH_BIND_OPTIONS_HOSTKEY, key.c_str());
  // The cheapest of the safe ones: thousands of connections are made.
  ssh_bind_options_set(bind, SSH_BIND_OPTIONS_KEY_EXCHANGE, "curve25519-sha256");
  return bind;
}

}  // namespace

struct RudeSshServer::Visit {
  explicit Visit(int fd) : line(dup(fd)) {}
  ~Visit() { close(line); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  int line;  // a descriptor of its own, to hang up with
  std::thread thread;
  std::atomic<bool> over = false;
};

RudeSshServer::RudeSshServer(Behavior behavior) : behavior_(behavior) {
  ssh_init();
  MakeKey(folder_.path() + "/client", {"-t", "ed25519"});
  for (const char* name : {"/host", "/other"}) {
    MakeKey(folder_.path() + name, {"-t", "ed25519"});
    binds_.push_back(MakeBind(folder_.path() + name));
  }
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(in);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&in), size) != 0 ||
      listen(listener_, 4096) != 0) {
    std::abort();
  }
  getsockname(listener_, reinterpret_cast<sockaddr*>(&in), &size);
  port_ = ntohs(in.sin_port);
  thread_ = std::thread([this] { Listen(); });
}

RudeSshServer::~RudeSshServer() {
  stop_ = true;
  thread_.join();
  for (const auto& visit : visits_) {
    shutdown(visit->line, SHUT_RDWR);
    visit->thread.join();
  }
  for (void* bind : binds_) ssh_bind_free(static_cast<ssh_bind>(bind));
  close(listener_);
}

WorkerAccess RudeSshServer::Access(int index) const {
  WorkerAccess access;
  access.pod = "research";
  access.index = index;
  access.host = "127.0.0.1";
  access.port = port_;
  access.user = "alice";
  access.identity_file = folder_.path() + "/client";
  return access;
}

std::string RudeSshServer::HostKey() const {
  const std::string line = ReadAll(folder_.path() + "/host.pub");
  return line.substr(0, line.find(' ', line.find(' ') + 1));
}

int RudeSshServer::runs(const std::string& command) const {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(command);
  return found == runs_.end() ? 0 : found->second;
}

void RudeSshServer::Listen() {
  while (!stop_) {
    pollfd ready{listener_, POLLIN, 0};
    if (poll(&ready, 1, kGlance) <= 0) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    std::erase_if(visits_, [](const auto& visit) {
      if (!visit->over) return false;
      visit->thread.join();
      return true;
    });
    auto visit = std::make_unique<Visit>(fd);
    visit->thread = std::thread([this, fd, number = connections_++, &over = visit->over] {
      Serve(fd, number);
      over = true;
    });
    visits_.push_back(std::move(visit));
  }
}

void RudeSshServer::Serve(int fd, int number) {
  ssh_session session = ssh_new();
  const std::size_t key = behavior_.changes_host_key && number > 0 ? 1 : 0;
  bool good = false;
  {
    const std::lock_guard lock(mutex_);  // a bind loads its key when it is first used
    good = ssh_bind_accept_fd(static_cast<ssh_bind>(binds_[key]), session, fd) == SSH_OK;
  }
  const long seconds = 30;
  ssh_options_set(session, SSH_OPTIONS_TIMEOUT, &seconds);
  if (good) Talk(session);
  ssh_disconnect(session);
  ssh_free(session);
}

// A connection as libssh's callbacks see it.
struct RudeSshServer::Client {
  RudeSshServer& server;
  ssh_channel channel = nullptr;
  ssh_channel_callbacks_struct callbacks{};
  std::optional<std::string> command = std::nullopt;  // asked for and not yet run
};

// Asked twice for each login: whether the key would do, and with its signature.
int RudeSshServer::OnKey(ssh_session_struct*, const char*, ssh_key_struct*, char state,
                         void* data) {
  RudeSshServer& server = static_cast<Client*>(data)->server;
  if (state == SSH_PUBLICKEY_STATE_VALID) return SSH_AUTH_SUCCESS;
  const bool known = server.refused_++ >= server.behavior_.refused_logins;
  return state == SSH_PUBLICKEY_STATE_NONE && known ? SSH_AUTH_SUCCESS : SSH_AUTH_DENIED;
}

ssh_channel_struct* RudeSshServer::OnChannel(ssh_session_struct* session, void* data) {
  auto* client = static_cast<Client*>(data);
  RudeSshServer& server = client->server;
  if (server.refused_channels_++ < server.behavior_.refused_channels) return nullptr;
  client->channel = ssh_channel_new(session);
  ssh_set_channel_callbacks(client->channel, &client->callbacks);
  return client->channel;
}

int RudeSshServer::OnCommand(ssh_session_struct*, ssh_channel_struct*, const char* command,
                             void* data) {
  auto* client = static_cast<Client*>(data);
  const std::lock_guard lock(client->server.mutex_);
  ++client->server.runs_[command];
  client->command = command;
  return 0;
}

void RudeSshServer::Talk(ssh_session_struct* session) {
  Client client{*this};
  ssh_callbacks_init(&client.callbacks);
  client.callbacks.userdata = &client;
  client.callbacks.channel_exec_request_function = &OnCommand;
  ssh_server_callbacks_struct callbacks{};
  ssh_callbacks_init(&callbacks);
  callbacks.userdata = &client;
  callbacks.auth_pubkey_function = &OnKey;
  callbacks.channel_open_request_session_function = &OnChannel;
  ssh_set_server_callbacks(session, &callbacks);
  ssh_set_auth_methods(session, SSH_AUTH_METHOD_PUBLICKEY);
  if (ssh_handle_key_exchange(session) != SSH_OK) return;
  ssh_event event = ssh_event_new();
  ssh_event_add_session(event, session);
  bool good = true;
  while (good && !stop_ && ssh_is_connected(session) != 0) {
    good = ssh_event_dopoll(event, kGlance) != SSH_ERROR;
    if (client.command) good = Run(client.channel, *std::exchange(client.command, std::nullopt));
  }
  ssh_event_remove_session(event, session);
  ssh_event_free(event);
}

// False when the connection is gone.
bool RudeSshServer::Run(ssh_channel_struct* channel, const std::string& command) {
  if (command == "yes") {
    std::string lines;
    while (lines.size() < std::size_t{32} * 1024) lines += std::string(1023, 'y') + '\n';
    while (!stop_ && ssh_channel_is_open(channel) != 0) {
      if (ssh_channel_write(channel, lines.data(), static_cast<std::uint32_t>(lines.size())) < 0) {
        return false;
      }
    }
    return false;
  }
  const std::string answer = "ran " + command + "\n";
  ssh_channel_write(channel, answer.data(), static_cast<std::uint32_t>(answer.size()));
  if (!behavior_.tells_no_exit_status) ssh_channel_request_send_exit_status(channel, 0);
  ssh_channel_send_eof(channel);
  return ssh_channel_close(channel) == SSH_OK;
}

}  // namespace podctl::testing
