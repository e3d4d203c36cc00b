// Whoever answers at the socket of an OpenSSH master: any bytes, in pieces of any size, with the
// line dropped at the end.
//
// The first byte of an input: bits 0-2 the size of the pieces. The rest is what the master says
// once the session was asked for.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "providers/ssh/keys/wire.h"
#include "providers/ssh/openssh/mux_session.h"
#include "tests/fuzz/fuzz_target.h"

namespace podctl::fuzz {
namespace {

// A master in a folder of its own that says hello, takes what it is asked, and then says `words`.
class Master {
 public:
  Master(std::string_view words, std::size_t piece) {
    std::string folder = "/tmp/podctl-fuzz-XXXXXX";
    Expect(mkdtemp(folder.data()) != nullptr, "there is a place for a socket");
    folder_ = folder;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path().data(), path().size());
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    Expect(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
               listen(listener_, 1) == 0,
           "the socket is there");
    thread_ = std::thread([this, words, piece] { Serve(words, piece); });
  }
  ~Master() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
    unlink(path().c_str());
    rmdir(folder_.c_str());
  }
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  std::string path() const { return folder_ + "/mux"; }

 private:
  void Serve(std::string_view words, std::size_t piece) const {
    const int peer = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) return;
    std::string hello;
    ssh::AppendNumber(hello, 8);
    ssh::AppendNumber(hello, 1);  // MUX_MSG_HELLO
    ssh::AppendNumber(hello, 4);
    send(peer, hello.data(), hello.size(), MSG_NOSIGNAL);
    while (!words.empty()) {
      const std::size_t size = std::min(piece, words.size());
      if (send(peer, words.data(), size, MSG_NOSIGNAL) < 0) break;
      words.remove_prefix(size);
    }
    shutdown(peer, SHUT_WR);
    // Whatever else is asked is taken, until the other side has gone.
    char taken[4096];
    while (recv(peer, taken, sizeof(taken), 0) > 0) {
    }
    close(peer);
  }

  std::string folder_;
  int listener_ = -1;
  std::thread thread_;
};

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace podctl;
  using namespace podctl::fuzz;
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{1} << ((data[0] & 7U) * 2);
  const Master master(TextOf(data + 1, size - 1), piece);
  auto session = ssh::MuxSession::Start(master.path(), "true", false);
  if (!session) {
    ExpectShowable(session.error());
    return 0;
  }
  while (!(*session)->over()) (*session)->ReadControl();
  if ((*session)->refusal()) ExpectShowable(*(*session)->refusal(), Shape::kLines);
  return 0;
}
