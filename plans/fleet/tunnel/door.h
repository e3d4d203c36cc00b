// `podctl tunnel --open`: waits until what a forwarded port leads to answers, and finds out how to
// get in. Prints nothing.
//
// What is returned holds a token, which is to be shown to who asked for it and to nobody else.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "plans/fleet/tunnel/wanted.h"
#include "providers/base/error.h"
#include "providers/http/transport.h"
#include "providers/os/clock.h"
#include "providers/ssh/transport.h"

namespace podctl {

struct Door {
  int local_port = 0;
  int remote_port = 0;
  WantedTunnel::Open open = WantedTunnel::Open::kAnything;
  WorkerAccess worker;
};

struct OpenedDoor {
  std::string url;                   // for a browser of this machine
  std::string colab_url;             // for Colab's local runtime; empty: Colab would not be let in
  std::vector<std::string> remarks;  // what else is to be known, a sentence each
};

// Everything is lent.
struct DoorWorld {
  http::Transport& http;
  ssh::Transport& ssh;
  Clock& clock;
  std::function<void(const std::string&)> on_wait;  // it takes its time; called once at most
};

// Blocks for as long as nothing answers, but at most for ten minutes: kDeadlineExceeded.
// kCancelled on `stop`. That a token is not found or not accepted is a remark.
Result<OpenedDoor> OpenDoor(const Door& door, const DoorWorld& world, const std::stop_token& stop);

}  // namespace podctl
