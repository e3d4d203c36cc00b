#include "providers/emulator/shell/worker_texts.h"

namespace podctl::emulator {

// Those that Docker leaves to root in a container, but for CAP_MKNOD: a device of one's own making
// is the machine's disk.
const std::string_view kWorkerCapabilities =
    "-all,+chown,+dac_override,+fsetid,+fowner,+net_raw,+setgid,+setuid,+setfcap,+setpcap,"
    "+net_bind_service,+sys_chroot,+kill,+audit_write";

std::string ForFolder(std::string_view script, std::string_view folder) {
  constexpr std::string_view kMark = "@VM@";
  std::string text;
  while (true) {
    const std::size_t at = script.find(kMark);
    text += script.substr(0, at);
    if (at == std::string_view::npos) return text;
    text += folder;
    script.remove_prefix(at + kMark.size());
  }
}

}  // namespace podctl::emulator
