// The node metadata entry `tensorflow-env-vars`, as the tpu-runtime unit reads it when it starts:
// options of docker run, "-e NAME=VALUE", with the quotes of a shell and without its expansions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podctl::emulator {

// "NAME=VALUE" words in order. nullopt: an open quote, or anything but -e/--env: the unit would not
// start. `-e NAME` without a value passes a variable of the host on, which has none: left out.
std::optional<std::vector<std::string>> ParseRuntimeEnv(std::string_view text);

}  // namespace podctl::emulator
