// The text of a lock, as written into the lock and as shown to people. Terraform's member names and
// its "Lock Info:" block, which runners read (terraform-exec, tofu-controller).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "state/store.h"

namespace podctl {

std::string LockInfoToJson(const LockInfo& info);
// nullopt for a text that names no holder: empty, cut or somebody else's.
std::optional<LockInfo> LockInfoFromJson(std::string_view text);
// Whether a run may have left `text`, which is no LockInfo, when it died: nothing yet, the
// beginning of one, or what a loss of power makes of one. Anything else belongs to somebody else.
bool MayBeCutLockInfo(std::string_view text);

// "Lock Info:\n  ID:        …" with every line filled, without a final newline. Control characters
// are made visible: the text comes from a file that others write.
std::string LockInfoBlock(const LockInfo& info);

}  // namespace podctl
