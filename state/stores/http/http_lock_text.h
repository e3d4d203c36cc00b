// The lock of a state behind Terraform's http protocol, as its servers keep it. Pure.
//
// Of a LockInfo GitLab keeps the ID alone (who took it and when it writes itself, and every other
// member of its answer is what the asker sent); Gitea keeps Terraform's seven members. So what has
// to survive everywhere stands in the ID: "UUID.OPERATION.SPACE.PID.TICKS", of which people are
// shown the UUID, and the rest tells of a dead process of this machine, and that the lock is one of
// podctl: others keep theirs at such addresses. What only people read stands in Info, below the
// command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "state/store.h"
#include "state/stores/http/http_place.h"

namespace podctl {

struct HttpLock {
  LockInfo info;               // its ID is the UUID
  std::string id;              // on the wire
  std::string mark;            // ProcessMark of its holder, if that ran where this process runs
  bool ran_elsewhere = false;  // on another machine, boot or container, as the marks tell
  bool is_podctls = true;      // false: its ID and members are not as podctl writes them
};

// `mark`: ProcessMark of the holder; may be empty.
std::string HttpLockId(const LockInfo& info, std::string_view mark);
// The document that is sent with LOCK and UNLOCK.
std::string HttpLockToJson(const HttpLock& lock);
// What a server answers about the holder; `own_mark`: ProcessMark of this process. nullopt: the
// text names none.
std::optional<HttpLock> HttpLockFromJson(std::string_view text, HttpServer server,
                                         std::string_view own_mark);

}  // namespace podctl
