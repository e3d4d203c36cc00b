// Between a client and a server of HTTP/1.1 on this machine: it holds each request back for as long
// as a network would, and counts what is sent.
//
// It reads of a request where it ends, and changes nothing but the host that it is for. One request
// a connection at a time: no pipelining, no HTTP/2, no TLS.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace podctl::bench {

// Where in its requests a stream of HTTP/1.1 is. Fed piece by piece.
class RequestStream {
 public:
  void Feed(std::string_view bytes);
  // What comes next begins a request.
  bool IsBetween() const { return at_ == At::kHead && line_.empty() && !in_head_; }
  std::int64_t body_bytes() const { return body_bytes_; }  // so far; of chunks without their frames

 private:
  enum class At { kHead, kBody, kChunkSize, kChunk, kTrailers };
  void EndLine();
  void EndHead();

  At at_ = At::kHead;
  bool in_head_ = false;  // its first line has come
  bool chunked_ = false;
  std::string line_;
  std::int64_t left_ = 0;  // of the body or the chunk
  std::int64_t body_bytes_ = 0;
};

class Relay {
 public:
  struct Count {
    std::int64_t requests = 0;
    std::int64_t connections = 0;
    std::int64_t bytes = 0;  // of the requests' bodies
  };

  // To 127.0.0.1:`server_port`. Ends the program with a message when it cannot be made.
  Relay(int server_port, std::chrono::milliseconds delay);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  int port() const;
  std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
  // Since it was asked last.
  Count Take();

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace podctl::bench
