#include "plans/fleet/tunnel/browser.h"

#include <fmt/format.h>

#include <chrono>

#include "providers/base/text.h"

namespace podctl {
namespace {

#ifdef __APPLE__
constexpr const char* kOfTheDesktop = "open";
#else
constexpr const char* kOfTheDesktop = "xdg-open";
#endif

bool HasDisplay(const Environment& environment) {
#ifdef __APPLE__
  return !environment.Get("SSH_CONNECTION").has_value();
#else
  return !environment.Get("DISPLAY").value_or("").empty() ||
         !environment.Get("WAYLAND_DISPLAY").value_or("").empty();
#endif
}

}  // namespace

std::optional<std::string> BrowserCommand(const Environment& environment, const std::string& url) {
  const std::string wanted = environment.Get("BROWSER").value_or("");
  std::string command = wanted.substr(0, wanted.find(':'));
  if (TrimBlanks(command).empty()) {
    if (!HasDisplay(environment)) return std::nullopt;
    command = kOfTheDesktop;
  }
  const std::string quoted = ShellQuote(url);
  const auto mark = command.find("%s");
  return mark == std::string::npos ? command + " " + quoted : command.replace(mark, 2, quoted);
}

Result<void> StartBrowser(ProcessRunner& processes, const std::string& command) {
  // A session of its own: Ctrl-C is for the tunnel, and what is left of this process group is ended
  // with the shell. So the shell waits until the browser has one: its substitution ends when
  // nobody holds the pipe any more. The program is looked for first, as nobody hears of it later.
  const std::string script = fmt::format(
      "set -- {0}\n"
      "command -v \"$1\" >/dev/null || {{ printf %s \"$1\"; exit 127; }}\n"
      "if command -v setsid >/dev/null; then\n"
      "  x=$(setsid sh -c 'exec \"$@\" </dev/null >/dev/null 2>&1' sh \"$@\" &)\n"
      "else\n"
      "  \"$@\" </dev/null >/dev/null 2>&1\n"
      "fi\n",
      command);
  const auto run =
      processes.Run({"/bin/sh", "-c", script}, std::chrono::seconds(10), std::stop_token());
  if (!run) return run.error();
  if (run->exit_code != 127) return {};
  return MakeError(ErrorCode::kNotFound,
                   fmt::format("no browser was opened: there is no program `{}`", run->out));
}

}  // namespace podctl
