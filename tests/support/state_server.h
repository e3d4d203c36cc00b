// A server of Terraform's http protocol that is as strict as the ones people run: GitLab and Gitea,
// as their sources have it, and a plain one with LOCK and UNLOCK and no look at serials. It shares
// no code with the client but the JSON reader.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "providers/http/transport.h"

namespace podctl::testing {

class StateServer {
 public:
  enum class Kind { kGitLab, kGitea, kPlain };

  explicit StateServer(Kind kind) : kind_(kind) {}

  Kind kind() const { return kind_; }
  // Of the one state, below the server's root.
  std::string path() const;
  // Thread safe. `target`: path and query. Names of headers in lower case.
  http::Response Answer(const std::string& method, const std::string& target,
                        const std::map<std::string, std::string>& headers, const std::string& body);

  std::optional<std::string> Stored();
  void Overwrite(const std::string& bytes);  // behind everybody's back
  void Remove();                             // state, versions and lock
  std::string LockId();                      // empty: nobody holds it
  void BreakLock();
  void GoAway(bool away);                // every request is answered with 503 then
  void MoveAway(const std::string& to);  // saves are answered with 307 then
  std::size_t Versions();

  static constexpr const char* kUser = "alice";
  static constexpr const char* kPassword = "s3cret";

 private:
  struct Ask;
  http::Response Read(const Ask& ask);
  http::Response Save(const Ask& ask);
  http::Response Lock(const Ask& ask);
  http::Response Unlock(const Ask& ask);
  http::Response LockHeld(const Ask& ask) const;

  const Kind kind_;
  std::mutex mutex_;
  bool known_ = false;  // locked or saved once
  bool away_ = false;
  std::string moved_to_;
  std::optional<std::string> stored_;
  std::map<std::uint64_t, std::string> versions_;
  std::string lock_id_;
  std::string lock_text_;  // as it came
};

// The way to it without a network, with faults.
class StateServerTransport final : public http::Transport {
 public:
  // kLate: the answer is lost, and the request arrives after the next one.
  enum class Fault { kNone, kNoConnection, kLostBefore, kLostAfter, kLate, kStatus };

  explicit StateServerTransport(StateServer& server) : server_(server) {}

  Result<http::Response> Send(const http::Request& request, std::stop_token stop) override;

  // The k-th request from now on, counted from 0, and `times` in all.
  void FailAt(int k, Fault fault, int status = 0, int times = 1);
  int sent() const { return sent_; }
  const std::vector<std::string>& asked() const { return asked_; }  // "POST /path?ID=…"

 private:
  http::Response Carry(const http::Request& request);

  StateServer& server_;
  std::optional<http::Request> late_;
  int sent_ = 0;
  int fail_from_ = -1;
  int fail_times_ = 0;
  Fault fault_ = Fault::kNone;
  int status_ = 0;
  std::vector<std::string> asked_;
};

// The same server on a port of this machine. POST, PUT and DELETE only.
class StateServerOnPort {
 public:
  explicit StateServerOnPort(StateServer& server);
  ~StateServerOnPort();
  std::string url() const { return url_; }

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string url_;
};

}  // namespace podctl::testing
