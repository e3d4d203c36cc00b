// The user's browser, where there is one to be seen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/environment.h"
#include "providers/os/process.h"

namespace podctl {

// The command line that shows `url`: $BROWSER's first entry, with %s for the URL or the URL behind
// it, else what the desktop has for that. nullopt: there is no display, and no $BROWSER.
std::optional<std::string> BrowserCommand(const Environment& environment, const std::string& url);

// Starts it in the background, where it outlives podctl. kNotFound, with a message for the user,
// when there is no such program. The URL stands in its process list for a moment.
Result<void> StartBrowser(ProcessRunner& processes, const std::string& command);

}  // namespace podctl
