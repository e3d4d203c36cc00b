// Serves exchanges over HTTP/1.1 on loopback. The only room that knows cpp-httplib.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "providers/base/error.h"
#include "providers/emulator/exchange.h"
#include "providers/emulator/gate.h"

namespace podctl::emulator {

class HttpServer {
 public:
  // Called on many threads at once; must not throw.
  using Handler = std::function<HttpReply(const HttpRequest&)>;

  // `host` must be a loopback address (127.0.0.0/8, ::1 or localhost), since whoever reaches the
  // emulator needs no credentials: kInvalidArgument otherwise. port 0: any free one.
  // kUnavailable: the address cannot be bound.
  static Result<std::unique_ptr<HttpServer>> Listen(const std::string& host, int port);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  // Requests that came since Listen wait until now. What `gate` does not let in never comes to the
  // handler; the gate's port is set here.
  void Serve(Handler handler, Gate gate);
  // Cuts all connections and waits for the threads.
  void Stop();

 private:
  struct Core;
  explicit HttpServer(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace podctl::emulator
