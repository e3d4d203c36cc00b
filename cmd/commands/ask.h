// A question to whoever sits at the terminal.
#pragma once

#include <string>

#include "cmd/wiring.h"

namespace podctl {

enum class Answer { kYes, kNo, kInterrupted };

// Whether there is somebody to ask: a terminal, and neither --input=false nor --json.
bool MayAsk(Wiring& wiring);
// One line from the terminal, of which only "yes" is a yes; an interrupt ends the wait.
Answer Ask(Wiring& wiring, const std::string& question);

}  // namespace podctl
