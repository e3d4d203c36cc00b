// A server that the bench starts for its own use, as a process that ends with it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace podctl::bench {

class Server {
 public:
  // Runs in the network namespace (-1: the bench's own). Both outputs go to the file `log`. Its
  // standard input ends with the bench.
  Server(const std::vector<std::string>& words, int network, std::string log);
  ~Server();
  Server(Server&& other) noexcept;
  Server& operator=(Server&&) = delete;

  // Returns when its log holds `text` so many times; ends the bench when that does not come.
  void WaitFor(const std::string& text, std::size_t times) const;

  // Ends the bench, with the last of its log, when it runs no more.
  void CheckAlive() const;

  pid_t process() const { return process_; }
  std::string Log() const;

 private:
  std::size_t Count(const std::string& text) const;

  pid_t process_ = -1;
  int input_ = -1;
  std::string log_;
};

}  // namespace podctl::bench
