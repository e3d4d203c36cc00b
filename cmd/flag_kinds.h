// Commands, and the kinds of values that their flags have, each with its own words about a value
// that is none: those of CLI11 differ from one of its versions to the next.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/options.h"

namespace podctl {

// Adds a command, or a further word of one, with its help.
CLI::App* AddCommand(CLI::App* parent, const std::string& name, const std::string& summary);

// Adds --worker. An empty one, out of a variable that is not set, must not mean all of them.
CLI::Option* AddWorkers(CLI::App* app, std::string* target, const std::string& description,
                        const std::string& type = "WORKERS");

// Adds a flag that holds a duration: "90s", "1h30m".
CLI::Option* AddDuration(CLI::App* app, const std::string& name, std::chrono::milliseconds* target,
                         const std::string& description);
CLI::Option* AddDuration(CLI::App* app, const std::string& name,
                         std::optional<std::chrono::milliseconds>* target,
                         const std::string& description);

// Adds a flag that holds a whole number from 1 to `most`.
CLI::Option* AddNumber(CLI::App* app, const std::string& name, int most, int* target,
                       const std::string& description);

// Adds a flag that holds a number from `least` on, or a share of the workers: 8, 25%.
CLI::Option* AddCountOrShare(CLI::App* app, const std::string& name, int least,
                             std::optional<CountOrShare>* target, const std::string& description);

// Adds SERIAL, the number of a generation of the state, from 1.
void AddSerial(CLI::App* app, std::uint64_t* target);

// Adds a flag that holds one of a few words.
CLI::Option* AddChoice(CLI::App* app, const std::string& name,
                       const std::vector<std::string>& choices, std::string* target,
                       const std::string& description);

// Adds a flag for what is on unless it is turned off: --input=false.
void AddSwitch(CLI::App* app, const std::string& name, bool* target,
               const std::string& description);

}  // namespace podctl
