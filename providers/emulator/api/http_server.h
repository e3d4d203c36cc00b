// Serves exchanges over HTTP/1.1 on loopback. The only room that knows cpp-httplib.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "providers/base/error.h"
#include "providers/emulator/api/gate.h"
#include "providers/emulator/service/api_error.h"

namespace podctl::emulator {

struct HttpRequest {
  std::string method;                                     // GET, POST, PATCH, DELETE, …
  std::string path;                                       // percent-decoded, without the query
  std::map<std::string, std::string, std::less<>> query;  // decoded; the last of equal names
  std::string body;
  std::string target = {};  // as it came: the path percent-encoded, and the query
  std::map<std::string, std::string, std::less<>> headers = {};  // names in lower case
};

struct HttpReply {
  int status = 200;
  std::string body = "{}";
  std::string content_type = "application/json; charset=UTF-8";
  std::vector<std::pair<std::string, std::string>> headers = {};
  // The body is somebody's bytes, of which a `Range` may ask for a part, and is never compressed.
  bool is_media = false;
  // Close the connection without a byte, as a lost answer looks to the client.
  bool drop = false;
  // Close it after so many bytes of the body, of which the headers promise more; negative: do not.
  int cut_after = -1;
  std::chrono::milliseconds delay{0};  // before the answer is sent
};

// The answer, or the refusal, as JSON.
void Show(const Answer& answer, HttpReply* reply);

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
