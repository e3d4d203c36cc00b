// One HTTP exchange as the emulator's rooms see it; only http_server.cpp knows the library behind.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

namespace podctl::emulator {

struct HttpRequest {
  std::string method;                                     // GET, POST, PATCH, DELETE, …
  std::string path;                                       // percent-decoded, without the query
  std::map<std::string, std::string, std::less<>> query;  // decoded; the last of equal names
  std::string body;

  std::string_view Parameter(std::string_view name) const {
    const auto found = query.find(name);
    return found == query.end() ? std::string_view{} : std::string_view(found->second);
  }
};

struct HttpReply {
  int status = 200;
  std::string body = "{}";
  std::string content_type = "application/json; charset=UTF-8";
  // Close the connection without a byte, as a lost answer looks to the client.
  bool drop = false;
  // Close it after so many bytes of the body, of which the headers promise more; negative: do not.
  int cut_after = -1;
  std::chrono::milliseconds delay{0};  // before the answer is sent
};

}  // namespace podctl::emulator
