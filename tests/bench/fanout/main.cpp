// `./dev bench fanout [N...] [--all] [--only PART,...] [--runs N]`: one command on many workers,
// podctl beside its peers, on servers of the bench's own. See docs/bench.md.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/fanout/peers.h"
#include "tests/bench/fanout/sections.h"
#include "tests/bench/fanout/supervisor.h"
#include "tests/bench/workbench.h"

namespace podctl::bench {
namespace {

constexpr int kMostWorkers = 10'000;

struct Part {
  const char* name;
  void (*run)(const Settings&, Score*);
};
constexpr Part kParts[] = {{"light", CompareOnLight}, {"real", CompareOnReal},
                           {"wan", CompareFarAway},   {"dead", CompareDeadAndSlow},
                           {"output", CompareOutput}, {"further", CompareFurther},
                           {"memory", MeasureMemory}, {"tunnel", CompareTunnels}};

struct Arguments {
  Settings settings;
  std::vector<std::string> only;
};

[[noreturn]] void Usage() {
  std::vector<std::string> names;
  for (const Part& part : kParts) names.emplace_back(part.name);
  Fail(fmt::format(
      "usage: ./dev bench fanout [N...] [--all] [--only PART,...] [--runs N]; parts: {}; N: "
      "workers, at most {}",
      fmt::join(names, ", "), kMostWorkers));
}

int Number(const std::string& word, int most) {
  int number = 0;
  const auto [rest, code] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (code != std::errc() || rest != word.data() + word.size() || number < 1 || number > most) {
    Usage();
  }
  return number;
}

std::vector<std::string> Names(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    names.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  for (const std::string& name : names) {
    const bool known = std::any_of(std::begin(kParts), std::end(kParts),
                                   [&](const Part& part) { return name == part.name; });
    if (!known) Usage();
  }
  return names;
}

Arguments Read(const std::vector<std::string>& words) {
  if (words.size() < 2) Usage();
  Arguments arguments;
  arguments.settings.podctl = std::filesystem::absolute(words[0]).string();
  arguments.settings.light_server = std::filesystem::absolute(words[1]).string();
  arguments.settings.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  for (std::size_t i = 2; i < words.size(); ++i) {
    const bool more = i + 1 < words.size();
    if (words[i] == "--all") {
      arguments.settings.all = true;
    } else if (words[i] == "--only" && more) {
      arguments.only = Names(words[++i]);
    } else if (words[i] == "--runs" && more) {
      arguments.settings.runs = Number(words[++i], 100);
    } else {
      arguments.settings.sizes.push_back(Number(words[i], kMostWorkers));
    }
  }
  std::sort(arguments.settings.sizes.begin(), arguments.settings.sizes.end());
  return arguments;
}

int RunBench(const Arguments& arguments) {
  // The user's own keys, agent and settings are not to be measured.
  setenv("HOME", arguments.settings.folder.c_str(), 1);
  unsetenv("SSH_AUTH_SOCK");
  if (const auto missing = MissingPeers(); !missing.empty()) {
    fmt::print("Not on this machine, and so left out: {}\n", fmt::join(missing, ", "));
  }
  Score score;
  for (const Part& part : kParts) {
    const bool wanted =
        arguments.only.empty() ||
        std::find(arguments.only.begin(), arguments.only.end(), part.name) != arguments.only.end();
    if (wanted) part.run(arguments.settings, &score);
  }
  score.Print();
  return score.ExitCode();
}

}  // namespace
}  // namespace podctl::bench

int main(int argc, char** argv) {
  using namespace podctl::bench;
  Arguments arguments = Read({argv + 1, argv + argc});
  return Supervise([&](const std::string& folder) {
    arguments.settings.folder = folder;
    return RunBench(arguments);
  });
}
