// Runs a fuzz target without libFuzzer: every file of its corpus, then a fixed number of mutations
// of them, the same ones each time. For compilers that have no libFuzzer, and for the suite, where
// a run must end by count and not by time.
//
//   fuzz_spec CORPUS [MUTATIONS]    CORPUS is a folder, or one file
//
// The inputs are run in a child process. When it dies, whatever way, the input is left beside the
// program as TARGET.crash, to be looked at and kept in the corpus.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace {

constexpr std::size_t kMaxInput = 8u << 20;
constexpr std::size_t kMaxMutant = 64u << 10;
constexpr long kMostMutations = 100'000'000;
constexpr unsigned kSecondsForOne = 60;  // an input that takes longer hangs

struct Seed {
  std::string name;
  std::string bytes;
};

// What the child is at, where the parent finds it whatever becomes of the child.
struct Position {
  char what[300];
  std::size_t size;
  char bytes[kMaxInput];
};

std::vector<Seed> ReadCorpus(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry);
  } else if (std::filesystem::exists(path)) {
    files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  std::vector<Seed> seeds;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    bytes.resize(std::min(bytes.size(), kMaxInput));
    seeds.push_back({file.string(), std::move(bytes)});
  }
  return seeds;
}

// Changes of the kinds that libFuzzer makes. std::mt19937_64 gives the same numbers everywhere;
// the standard distributions do not, hence Below.
class Mutator {
 public:
  explicit Mutator(const std::vector<Seed>& seeds) : seeds_(seeds) {}

  std::string Next(std::string& origin) {
    const Seed& seed = seeds_[Below(seeds_.size())];
    origin = seed.name;
    std::string bytes = seed.bytes.substr(0, kMaxMutant);
    for (std::size_t changes = 1 + Below(4); changes > 0; --changes) Change(bytes);
    bytes.resize(std::min(bytes.size(), kMaxMutant));
    return bytes;
  }

 private:
  std::size_t Below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  static std::size_t Last(const std::string& bytes) { return bytes.empty() ? 0 : bytes.size() - 1; }

  // A piece of any seed: words of one format are the best inputs for its reader.
  std::string Piece() {
    const std::string& from = seeds_[Below(seeds_.size())].bytes;
    return from.substr(Below(from.size() + 1), 1 + Below(40));
  }

  void Change(std::string& bytes) {
    const std::size_t at = Below(bytes.size() + 1);
    const std::size_t length = 1 + Below(std::min<std::size_t>(bytes.size() - at + 1, 200));
    switch (Below(8)) {
      case 0:
        if (!bytes.empty()) bytes[std::min(at, Last(bytes))] ^= static_cast<char>(1 << Below(8));
        break;
      case 1:
        if (!bytes.empty()) bytes[std::min(at, Last(bytes))] = static_cast<char>(Below(256));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 4:
        bytes.insert(at, Piece());
        break;
      case 5:
        bytes.replace(at, length, Piece());
        break;
      case 6:
        bytes.insert(at, std::string(1 + Below(300), static_cast<char>(Below(256))));
        break;
      default:
        bytes.resize(at);
    }
  }

  const std::vector<Seed>& seeds_;
  std::mt19937_64 random_{20261120};
};

void RunOne(Position& position, const std::string& what, const std::string& bytes) {
  std::snprintf(position.what, sizeof(position.what), "%s", what.c_str());
  position.size = bytes.size();
  std::memcpy(position.bytes, bytes.data(), bytes.size());
  alarm(kSecondsForOne);
  // A copy on the heap of exactly this size, so that the sanitizers see a read past its end.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void RunAll(Position& position, const std::vector<Seed>& seeds, long mutations) {
  for (const Seed& seed : seeds) RunOne(position, seed.name, seed.bytes);
  Mutator mutator(seeds);
  for (long i = 0; i < mutations; ++i) {
    std::string origin;
    const std::string bytes = mutator.Next(origin);
    RunOne(position, "mutation " + std::to_string(i) + " (of " + origin + ")", bytes);
  }
}

int Report(const Position& position, int status, const std::string& kept) {
  std::ofstream(kept, std::ios::binary)
      .write(position.bytes, static_cast<std::streamsize>(position.size));
  const bool hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  std::fprintf(stderr, "\n%s on %s\n  the input is in %s; keep it in the corpus, once mended\n",
               hung ? "HUNG" : "FAILED", position.what, kept.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS [MUTATIONS]\n", argv[0]);
    return 2;
  }
  const std::vector<Seed> seeds = ReadCorpus(argv[1]);
  const long mutations =
      argc < 3 ? 0 : std::clamp(std::strtol(argv[2], nullptr, 10), 0L, kMostMutations);
  if (seeds.empty()) {
    std::fprintf(stderr, "%s holds no input\n", argv[1]);
    return 2;
  }
  void* memory =
      mmap(nullptr, sizeof(Position), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  auto& position = *static_cast<Position*>(memory);
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    RunAll(position, seeds, mutations);
    std::exit(0);  // with leak detection, where there is one
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Report(position, status, std::string(argv[0]) + ".crash");
  }
  std::printf("%zu inputs of the corpus and %ld mutations\n", seeds.size(), mutations);
  return 0;
}
