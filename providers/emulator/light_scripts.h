// The shell texts of a light worker: its systemctl, sudo and hostname. They are shared by all light
// workers; TPU_VM_FOLDER in the environment says which one is meant. For /bin/sh, and with as few
// processes as can be, since they may run on thousands of workers at once.
#pragma once

#include <string_view>

namespace podctl::emulator {

// Its unit tpu-runtime is a fact in a file until somebody asks for its process: a worker that
// nobody looks at has none, and with the first question for MainPID it gets one, with the
// environment that was read when the unit was started.
extern const std::string_view kLightSystemctl;
// Everybody on a light worker may do everything.
extern const std::string_view kLightSudo;
extern const std::string_view kLightHostname;

}  // namespace podctl::emulator
