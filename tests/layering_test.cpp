// The house rules that a compiler does not keep: who may include whom, which room owns which
// library, and that only cmd/ speaks to the user. Reads the sources as text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/folders.h"

namespace podctl {
namespace {

// A room and the only project files it may include, by prefix. A file belongs to the room with the
// longest prefix that fits; it may always include its own room.
struct Room {
  std::string_view prefix;
  std::vector<std::string_view> may_include;
};

const std::vector<Room> kRooms = {
    {"templates/", {}},
    {"providers/base/", {}},
    {"providers/os/", {"providers/base/"}},
    {"providers/http/", {"providers/base/", "providers/os/"}},
    {"providers/etcd/", {"providers/base/", "providers/os/", "providers/http/"}},
    {"providers/forges/", {"providers/base/", "providers/os/", "providers/http/"}},
    // providers/worker.h and providers/provider.h: the words that rooms share.
    {"providers/", {"providers/base/"}},
    {"providers/gcp/",
     {"providers/base/", "providers/os/", "providers/http/", "providers/provider.h",
      "providers/custom_jobs.h", "providers/secrets.h", "providers/zone_lookup.h"}},
    // The door of the data plane and what its rooms share; libssh2 and the program ssh do not know
    // one another.
    {"providers/ssh/", {"providers/base/", "providers/os/", "providers/worker.h"}},
    {"providers/ssh/keys/",
     {"providers/base/", "providers/os/", "providers/worker.h", "providers/ssh/cause.h"}},
    {"providers/ssh/tunnel/",
     {"providers/base/", "providers/os/", "providers/worker.h", "providers/ssh/transport.h"}},
    {"providers/ssh/libssh2/",
     {"providers/base/", "providers/os/", "providers/worker.h", "providers/ssh/cause.h",
      "providers/ssh/outbox.h", "providers/ssh/retry_queue.h", "providers/ssh/transport.h",
      "providers/ssh/keys/", "providers/ssh/tunnel/"}},
    {"providers/ssh/openssh/",
     {"providers/base/", "providers/os/", "providers/worker.h", "providers/ssh/cause.h",
      "providers/ssh/outbox.h", "providers/ssh/retry_queue.h", "providers/ssh/transport.h",
      "providers/ssh/keys/", "providers/ssh/tunnel/"}},
    {"providers/workers/", {"providers/base/"}},
    {"providers/tar/", {"providers/base/", "providers/os/", "providers/workers/shell.h"}},
    {"providers/bootstrap/",
     {"providers/base/", "providers/os/", "providers/ssh/cause.h", "providers/ssh/tally.h",
      "providers/ssh/transport.h", "providers/worker.h", "providers/tar/", "providers/workers/"}},
    // The double must not learn the client's mistakes: it shares the JSON reader and no more.
    {"providers/emulator/",
     {"providers/base/json.h", "providers/base/value.h", "providers/base/error.h",
      "providers/emulator/"}},
    {"providers/emulator/api/",
     {"providers/base/gzip.h", "providers/base/json.h", "providers/base/value.h",
      "providers/base/error.h", "providers/emulator/names.h", "providers/emulator/service/"}},
    {"providers/emulator/service/",
     {"providers/base/json.h", "providers/base/value.h", "providers/base/error.h",
      "providers/emulator/names.h", "providers/emulator/workers/worker_farm.h"}},
    {"providers/emulator/workers/",
     {"providers/base/json.h", "providers/base/value.h", "providers/base/error.h",
      "providers/emulator/names.h", "providers/emulator/shell/"}},
    {"providers/emulator/shell/", {}},
    {"state/", {"providers/base/", "providers/os/"}},
    // Where a state lies in somebody's service.
    {"state/stores/gcs/",
     {"state/", "providers/base/", "providers/os/", "providers/http/", "providers/gcp/"}},
    {"state/stores/etcd/",
     {"state/", "providers/base/", "providers/os/", "providers/http/", "providers/etcd/"}},
    {"state/stores/http/", {"state/", "providers/base/", "providers/os/", "providers/http/"}},
    // Whatever kinds there are: it knows none.
    {"plans/engine/", {"state/", "providers/", "plans/spec/"}},
    // What other tools' lines say.
    {"plans/from_command/", {"providers/base/", "plans/spec/", "plans/kinds/training_job/"}},
    // Kinds know the engine, and none of them another (WhyNotInclude).
    {"plans/kinds/", {"state/", "providers/", "plans/engine/", "plans/spec/"}},
    // Sections are read by kinds, through their door.
    {"plans/spec/", {"state/", "providers/", "plans/engine/kind.h", "plans/engine/payload.h"}},
    {"plans/", {"state/", "providers/", "plans/engine/", "plans/kinds/", "plans/spec/"}},
    // What is done on workers: it reads plans, and carries out none.
    {"plans/fleet/", {"state/", "providers/", "plans/kinds/", "plans/spec/", "plans/jobs/"}},
    // What a run does: it conducts what the other rooms decide and carry out.
    {"plans/session/", {"state/", "providers/", "plans/"}},
    // What a pipeline says of a run to a forge, and its policies of a plan's JSON: it knows no
    // plan.
    {"plans/ci/", {"providers/base/", "providers/forges/forge.h", "providers/os/"}},
    {"cmd/", {"plans/", "state/", "providers/", "templates/"}},
};

// Below cmd/, which composes everything, nobody may know these: they are chosen in cmd/wiring.
const std::vector<std::string_view> kOnlyForCmd = {
    "providers/emulator/",    "providers/http/curl_",   "providers/forges/rest_",
    "providers/ssh/libssh2/", "providers/ssh/openssh/", "state/stores/"};

// A library's headers and the only files that may include them.
struct Library {
  std::string_view header;
  std::vector<std::string_view> rooms;
};

const std::vector<Library> kLibraries = {
    {"curl/", {"providers/http/"}},
    {"libssh2", {"providers/ssh/libssh2/"}},
    {"libssh/", {"providers/emulator/workers/light/"}},
    {"yaml-cpp/", {"plans/spec/"}},
    {"nlohmann/", {"providers/base/json.cpp"}},
    {"simdjson", {"providers/base/json.cpp"}},
    {"boost/process", {"providers/os/process.cpp"}},
    {"boost/container/flat_map.hpp", {"providers/base/value.h"}},
    {"boost/container/small_vector.hpp", {"state/object_json.h"}},
    {"boost/", {"providers/os/process.cpp"}},
    {"zlib.h", {"providers/base/gzip.cpp"}},
    {"httplib.h", {"providers/emulator/api/http_server.cpp"}},
    {"CLI/", {"cmd/arguments.cpp"}},
    {"openssl/",
     {"providers/base/", "providers/ssh/keys/", "providers/gcp/credentials/service_account.cpp"}},
};

// What only cmd/ may do. A worker farm that forks has to leave its child: `_exit` is not `exit`.
const std::vector<std::string_view> kOnlyInCmd = {
    "std::cout", "std::cerr",   "std::clog", "printf(",    "puts(",
    "exit(",     "quick_exit(", "fputs(",    "fmt::print", "fwrite("};

// Within cmd/ all of it goes through the streams, whose Outlets make others' text harmless
// (cmd/output_filter.h). Who may name the bare ones: the terminal, which builds the OutputFilters;
// what says in its own words that podctl cannot start; and what asks for the terminal's size.
const std::vector<std::string_view> kBareOutput = {
    "std::cout",  "std::cerr", "std::clog",     "printf(",       "puts(",  "fputs(",
    "fmt::print", "fwrite(",   "STDOUT_FILENO", "STDERR_FILENO", "stdout", "stderr"};
const std::vector<std::string_view> kMayNameBareOutput = {"cmd/terminal.cpp", "cmd/interrupt.cpp",
                                                          "cmd/views/live_block.cpp"};

// What provides pods stands behind a door, plans/kinds/pod/backing.h. Its rooms are named where one
// is chosen; whether a pod has a queued resource is asked there and by who reads and writes it.
constexpr std::string_view kBackings = "plans/kinds/pod/backings/";
constexpr std::string_view kChoosesBacking = "plans/kinds/pod/backing.cpp";
const std::vector<std::string_view> kBeforeTheDoor = {"plans/kinds/pod/", "plans/kinds/step/",
                                                      "plans/jobs/", "plans/fleet/"};
const std::vector<std::string_view> kMayAskForQueue = {kBackings,
                                                       kChoosesBacking,
                                                       "plans/kinds/pod/members.h",
                                                       "plans/kinds/pod/reader/",
                                                       "plans/kinds/pod/record.",
                                                       "plans/kinds/pod/spec.h"};

bool StartsWithAny(std::string_view text, const std::vector<std::string_view>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

const Room* RoomOf(std::string_view file) {
  const Room* best = nullptr;
  for (const Room& room : kRooms) {
    if (file.starts_with(room.prefix) && (!best || room.prefix.size() > best->prefix.size())) {
      best = &room;
    }
  }
  return best;
}

// The file named by an #include line; nullopt for any other line.
std::optional<std::string> IncludedFile(std::string_view line) {
  const auto skip_blanks = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_blanks();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return std::nullopt;
  line.remove_prefix(7);
  skip_blanks();
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return std::nullopt;
  const std::size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  return std::string(line.substr(1, end == std::string_view::npos ? end : end - 1));
}

// "plans/kinds/pod/"; "" of a file that is in the folder of no kind.
std::string KindFolderOf(std::string_view file) {
  constexpr std::string_view kKinds = "plans/kinds/";
  if (!file.starts_with(kKinds)) return {};
  const auto end = file.find('/', kKinds.size());
  return end == std::string_view::npos ? "" : std::string(file.substr(0, end + 1));
}

std::optional<std::string> WhyNotInclude(std::string_view file, std::string_view included) {
  for (const Library& library : kLibraries) {
    if (!included.starts_with(library.header)) continue;
    if (StartsWithAny(file, library.rooms)) return std::nullopt;
    return fmt::format("the library {} belongs to {}", library.header,
                       fmt::join(library.rooms, ", "));
  }
  const Room* theirs = RoomOf(included);
  if (theirs == nullptr) {
    if (included.starts_with("tests/")) return "no room may include the tests";
    return std::nullopt;  // the system's
  }
  const std::string own_kind = KindFolderOf(file);
  const std::string other_kind = KindFolderOf(included);
  // A step is a part of its pod: these two know one another.
  const auto of_pods = [](std::string_view kind) {
    return kind == "plans/kinds/pod/" || kind == "plans/kinds/step/";
  };
  const bool parts = of_pods(own_kind) && of_pods(other_kind);
  if (!own_kind.empty() && !other_kind.empty() && own_kind != other_kind && !parts) {
    return fmt::format("{} may not include {}: what it must know of it is a fact of the engine's",
                       own_kind, other_kind);
  }
  if (included.starts_with(kBackings) && !file.starts_with(kBackings) && file != kChoosesBacking) {
    return "what provides a pod is known by plans/kinds/pod/backing.h alone";
  }
  const Room* mine = RoomOf(file);
  if (mine == theirs) return std::nullopt;
  const bool is_door = std::any_of(kOnlyForCmd.begin(), kOnlyForCmd.end(), [&](const auto& door) {
    return included.starts_with(door) && !file.starts_with(door);
  });
  if (mine->prefix != "cmd/" && is_door) {
    return "a concrete door, which only cmd/ may name";
  }
  if (StartsWithAny(included, mine->may_include)) return std::nullopt;
  return fmt::format("{} may not include {}", mine->prefix, theirs->prefix);
}

// Text without comments and string literals, so that words in them are not taken for calls. Lines
// stay lines.
std::string CodeOnly(std::string_view text) {
  std::string code;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "R\"(") {
      const std::size_t end = text.find(")\"", i);
      for (; i < text.size() && i < end; ++i) code += text[i] == '\n' ? "\n" : "";
      ++i;
    } else if (text.substr(i, 2) == "//") {
      while (i < text.size() && text[i] != '\n') ++i;
      code += '\n';
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i);
      for (; i < text.size() && i < end; ++i) code += text[i] == '\n' ? "\n" : "";
      ++i;
    } else if (text[i] == '"' ||
               (text[i] == '\'' &&
                (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1]))))) {
      const char quote = text[i];
      for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i) {
        if (text[i] == '\\') ++i;
      }
      code += quote;
      code += quote;
    } else {
      code += text[i];
    }
  }
  return code;
}

// Whether `word` stands in `line` as a whole word, not as the end of `_exit(` or `snprintf(`.
bool HasWord(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    const char before = at == 0 ? ' ' : line[at - 1];
    if (!std::isalnum(static_cast<unsigned char>(before)) && before != '_') return true;
  }
  return false;
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// All that is wrong with one file of the five folders: "state/x.cpp:3: …".
std::vector<std::string> Violations(std::string_view file, std::string_view text) {
  std::vector<std::string> found;
  const std::vector<std::string> lines = Lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::optional<std::string> included = IncludedFile(lines[i]);
    if (!included) continue;
    if (included->find("..") != std::string::npos) {
      found.push_back(
          fmt::format("{}:{}: {}: paths start at the top folder", file, i + 1, *included));
    }
    if (const auto why = WhyNotInclude(file, *included)) {
      found.push_back(fmt::format("{}:{}: {}: {}", file, i + 1, *included, *why));
    }
  }
  const bool in_cmd = file.starts_with("cmd/");
  if (in_cmd && StartsWithAny(file, kMayNameBareOutput)) return found;
  const std::vector<std::string> code = Lines(CodeOnly(text));
  const bool asks_no_queue =
      StartsWithAny(file, kBeforeTheDoor) && !StartsWithAny(file, kMayAskForQueue);
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (asks_no_queue && HasWord(code[i], "queued")) {
      found.push_back(fmt::format("{}:{}: asks what provides the pod, which is told by {}", file,
                                  i + 1, "plans/kinds/pod/backing.h"));
    }
    for (std::string_view word : in_cmd ? kBareOutput : kOnlyInCmd) {
      if (!HasWord(code[i], word)) continue;
      found.push_back(
          in_cmd ? fmt::format("{}:{}: {} goes round the Outlet of cmd/terminal", file, i + 1, word)
                 : fmt::format("{}:{}: {} belongs in cmd/", file, i + 1, word));
    }
  }
  return found;
}

// What of the commands sees the world, other than the functions that commands are run by: these
// hand their helpers what each needs. `sources`: path -> text.
std::vector<std::string> WhoSeesTheWorld(const std::map<std::string, std::string>& sources) {
  const std::regex entry(R"(^int (Run\w*)\(Wiring& wiring[,)])");
  std::string all;  // of the commands' code
  for (const auto& [file, text] : sources) {
    if (file.starts_with("cmd/commands/")) all += CodeOnly(text);
  }
  std::vector<std::string> found;
  for (const auto& [file, text] : sources) {
    if (!file.starts_with("cmd/commands/")) continue;
    const std::vector<std::string> code = Lines(CodeOnly(text));
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (!HasWord(code[i], "Wiring") || code[i] == "class Wiring;") continue;
      std::smatch match;
      const bool runs = std::regex_search(code[i], match, entry) &&
                        (all.find(fmt::format("WithWorld<{}>", match[1].str())) != all.npos ||
                         all.find(match[1].str() + "(context.wiring()") != all.npos);
      if (!runs) found.push_back(fmt::format("{}:{}: {}", file, i + 1, code[i]));
    }
  }
  return found;
}

// Path from the top folder -> text, of every source of the five folders.
std::map<std::string, std::string> Sources() {
  std::map<std::string, std::string> sources;
  const std::filesystem::path top = podctl::testing::SourceFolder();
  for (const char* folder : {"cmd", "plans", "state", "providers", "templates"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      sources[entry.path().lexically_relative(top).generic_string()] =
          std::string(std::istreambuf_iterator<char>(file), {});
    }
  }
  return sources;
}

TEST(Layering, TheHouseKeepsItsRules) {
  const std::map<std::string, std::string> sources = Sources();
  ASSERT_GT(sources.size(), 30U) << "looked in the wrong folder: "
                                 << podctl::testing::SourceFolder();
  for (const auto& [file, text] : sources) {
    for (const std::string& violation : Violations(file, text)) ADD_FAILURE() << violation;
  }
}

TEST(Layering, OnlyWhatRunsACommandSeesTheWorld) {
  for (const std::string& violation : WhoSeesTheWorld(Sources())) {
    ADD_FAILURE() << violation << ": only the function that runs a command may see the wiring; it "
                  << "hands its helpers what each needs";
  }
}

// ---- The checker itself: what it must see and what it must let pass.

// Where workers share this machine's processes, and on a machine with more on it than this suite, a
// name finds what is somebody else's: Sandbox::OnWorkers finds a test's own.
TEST(Layering, NoTestKillsByAName) {
  const std::filesystem::path top = podctl::testing::SourceFolder();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(top / "tests")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cpp" && extension != ".sh") continue;
    if (entry.path().filename() == "layering_test.cpp") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      const std::size_t begin = line.find_first_not_of(' ');
      if (begin == std::string::npos || line.substr(begin).starts_with("//")) continue;
      for (const std::string_view word : {"pkill", "killall"}) {
        EXPECT_FALSE(HasWord(line, word)) << entry.path() << ":" << number << ": " << line;
      }
    }
  }
}

struct Sample {
  std::string_view file;
  std::string_view line;
};

TEST(LayeringChecker, SeesEveryKindOfViolation) {
  constexpr Sample kBad[] = {
      {"templates/render.cpp", "#include \"providers/base/error.h\""},
      {"providers/base/text.cpp", "#include \"providers/os/clock.h\""},
      {"providers/os/clock.cpp", "#include \"providers/http/transport.h\""},
      {"providers/http/retry.cpp", "#include \"providers/gcp/tpu_schema.h\""},
      {"providers/gcp/tpu_schema.cpp", "#include \"providers/ssh/transport.h\""},
      {"providers/gcp/tpu_schema.cpp", "#include \"providers/worker.h\""},
      {"providers/gcp/tpu_provider.cpp", "#include \"providers/http/curl_transport.h\""},
      {"providers/ssh/libssh2/session.cpp", "#include \"providers/http/transport.h\""},
      {"providers/ssh/libssh2/session.cpp", "#include \"providers/bootstrap/step_runner.h\""},
      {"providers/ssh/libssh2/session.cpp", "#include \"providers/ssh/openssh/masters.h\""},
      {"providers/ssh/openssh/masters.cpp", "#include \"providers/ssh/libssh2/session.h\""},
      {"providers/ssh/keys/agent.cpp", "#include \"providers/ssh/transport.h\""},
      {"providers/ssh/transport.cpp", "#include \"providers/ssh/keys/key.h\""},
      {"providers/ssh/keys/agent.cpp", "#include <libssh2.h>"},
      {"providers/bootstrap/step_runner.h", "#include \"providers/gcp/tpu_schema.h\""},
      {"providers/provider.h", "#include \"providers/gcp/tpu_schema.h\""},
      {"providers/emulator/server.cpp", "#include \"providers/base/text.h\""},
      {"providers/emulator/server.cpp", "#include \"providers/os/clock.h\""},
      {"providers/emulator/server.cpp", "#include \"providers/gcp/tpu_schema.h\""},
      {"providers/gcp/tpu_provider.cpp", "#include \"state/state.h\""},
      {"providers/gcp/tpu_provider.cpp", "#include \"templates/render.h\""},
      {"state/state.cpp", "#include \"plans/engine/change.h\""},
      {"state/state.cpp", "#include \"providers/gcp/tpu_schema.h\""},
      {"plans/spec/loader.cpp", "#include \"plans/engine/change.h\""},
      {"plans/spec/loader.cpp", "#include \"plans/engine/executor.h\""},
      {"plans/spec/loader.cpp", "#include \"plans/kinds/pod/spec.h\""},
      {"plans/engine/planner.cpp", "#include \"plans/session/apply.h\""},
      {"plans/engine/planner.cpp", "#include \"cmd/wiring.h\""},
      {"plans/engine/planner.cpp", "#include \"plans/kinds/pod/record.h\""},
      {"plans/engine/planner.cpp", "#include \"state/stores/local_store.h\""},
      {"plans/engine/planner.cpp", "#include \"providers/emulator/server.h\""},
      {"plans/engine/planner.cpp", "#include \"tests/support/fake_clock.h\""},
      {"plans/kinds/pod/plan.cpp", "#include \"plans/kinds/pod/backings/node.h\""},
      {"cmd/views/plan_view.cpp", "#include \"plans/kinds/pod/backings/node.h\""},
      {"plans/kinds/pod/plan.cpp", "  if (record.queued) return;"},
      {"plans/fleet/exec/exec.cpp", "  return pod->queued->slices;"},
      {"cmd/main.cpp", "#include \"../plans/engine/change.h\""},
      {"providers/gcp/rest_client.cpp", "#include <curl/curl.h>"},
      {"cmd/main.cpp", "#  include <libssh2.h>"},
      {"plans/engine/planner.cpp", "#include <yaml-cpp/yaml.h>"},
      {"state/state_json.cpp", "#include <nlohmann/json.hpp>"},
      {"state/state_json.cpp", "#include <simdjson.h>"},
      {"providers/base/value.cpp", "\t#include <nlohmann/json.hpp>"},
      {"providers/os/clock.cpp", "#include <boost/process.hpp>"},
      {"providers/http/retry.cpp", "#include <httplib.h>"},
      {"providers/emulator/service/nodes.cpp", "#include <libssh/libssh.h>"},
      {"providers/emulator/workers/sshd_farm.cpp", "#include <libssh/libssh.h>"},
      {"providers/emulator/api/api.cpp", "#include <httplib.h>"},
      {"providers/emulator/service/nodes.cpp", "#include \"providers/emulator/api/api.h\""},
      {"providers/emulator/service/nodes.cpp", "#include \"providers/emulator/workers/address.h\""},
      {"providers/emulator/workers/metadata.h", "#include \"providers/emulator/service/core.h\""},
      {"providers/emulator/api/api.cpp", "#include \"providers/emulator/workers/worker_farm.h\""},
      {"providers/emulator/service/nodes.cpp", "#include \"providers/gcp/tpu_schema.h\""},
      {"plans/engine/planner.cpp", "#include <CLI/CLI.hpp>"},
      {"cmd/flag.h", "#include <CLI/CLI.hpp>"},
      {"state/state_json.cpp", "#include <openssl/evp.h>"},
      {"plans/engine/planner.cpp", "  std::cout << plan;"},
      {"plans/engine/planner.cpp", "  if (bad) exit(1);"},
      {"plans/engine/planner.cpp", "  std::exit(1);"},
      {"plans/engine/planner.cpp", "  printf(\"x\");"},
      {"cmd/main.cpp", "  std::cerr << 1;"},
      {"cmd/views/plan_view.cpp", "  write(STDOUT_FILENO, text, size);"},
      {"plans/engine/planner.cpp", "  std::fprintf(stderr, \"x\"); fmt::print(\"x\");"},
  };
  for (const Sample& sample : kBad) {
    EXPECT_EQ(Violations(sample.file, sample.line).size(), 1U)
        << sample.file << ": " << sample.line;
  }
  EXPECT_EQ(Violations("state/x.cpp", "\n#include <curl/curl.h>\n").front(),
            "state/x.cpp:2: curl/curl.h: the library curl/ belongs to providers/http/");
}

TEST(LayeringChecker, LetsTheRestPass) {
  constexpr Sample kGood[] = {
      {"cmd/wiring.cpp", "#include \"state/stores/local_store.h\""},
      {"cmd/wiring.cpp", "#include \"providers/emulator/server.h\""},
      {"cmd/arguments.cpp", "#include <CLI/CLI.hpp>"},
      {"cmd/main.cpp", "  streams.out << 1; exit(2);"},
      {"cmd/terminal.cpp", "  std::cout << 1;"},
      {"plans/engine/executor.cpp", "#include \"plans/engine/change.h\""},
      {"plans/engine/planner.cpp", "#include \"plans/spec/spec.h\""},
      {"plans/spec/spec.h", "#include \"state/state.h\""},
      {"plans/kinds/pod/backing.cpp", "#include \"plans/kinds/pod/backings/node.h\""},
      {"plans/kinds/pod/backings/node.cpp", "#include \"plans/kinds/pod/backings/node.h\""},
      {"plans/kinds/pod/record.cpp", "  if (pod.queued) out.Member(\"queued\", *pod.queued);"},
      {"plans/engine/executor.cpp", "  result_.queued.push_back(address);"},
      {"providers/base/digest.cpp", "#include <openssl/evp.h>"},
      {"state/state.h", "#include \"providers/base/value.h\""},
      {"providers/bootstrap/step_runner.h", "#include \"providers/worker.h\""},
      {"providers/gcp/rest_client.h", "#include \"providers/http/transport.h\""},
      {"providers/emulator/emulator.cpp", "#include \"providers/emulator/service/service.h\""},
      {"providers/emulator/api/http_server.cpp", "#include <httplib.h>"},
      {"providers/emulator/api/api.h", "#include \"providers/emulator/service/service.h\""},
      {"providers/emulator/service/core.h",
       "#include \"providers/emulator/workers/worker_farm.h\""},
      {"providers/base/json.cpp", "#include <nlohmann/json.hpp>"},
      {"providers/os/process.cpp", "#include <boost/process.hpp>"},
      {"plans/engine/planner.cpp", "#include <vector>"},
      {"plans/engine/planner.cpp", "// std::cout << and exit( are only words here"},
      {"plans/engine/planner.cpp", "  return \"exit(1)\";"},
      {"plans/engine/planner.cpp", "  const char* script = R\"(\nprintf(1)\nexit(0)\n)\";"},
      {"providers/emulator/farm.cpp", "  ::_exit(127);"},
      {"providers/os/clock.cpp", "  std::snprintf(buffer, 3, \"x\");"},
      {"providers/os/clock.cpp", "  const int n = 1'000; // it's\n"},
  };
  for (const Sample& sample : kGood) {
    const std::vector<std::string> found = Violations(sample.file, sample.line);
    EXPECT_TRUE(found.empty()) << found.front();
  }
}

TEST(LayeringChecker, SeesWhoElseSeesTheWorld) {
  const auto seen = [](const std::string& code) {
    return WhoSeesTheWorld({{"cmd/commands/x.cpp", code}}).size();
  };
  const std::string table =
      "const CommandOf<XOptions> kCommand(\"x\", \"\", {}, WithWorld<RunX>);\n";
  EXPECT_EQ(seen("class Wiring;\nint RunX(Wiring& wiring, const XOptions& options) {}\n" + table),
            0U);
  EXPECT_EQ(seen("int RunX(Wiring& wiring);\n  return RunX(context.wiring());\n"), 0U);
  for (const char* code : {"int RunX(Wiring& wiring) {}\n", "int RunY(Wiring& wiring) {}\n",
                           "void Show(Wiring& wiring, int code) {}\n", "  Wiring& wiring_;\n",
                           "void Show(int code, Wiring* wiring) {}\n"}) {
    EXPECT_EQ(seen(code), 1U) << code;
  }
  EXPECT_EQ(seen("int RunY(Wiring& wiring) {}\n" + table), 1U);
}

TEST(LayeringChecker, SeesCodeAfterAString) {
  EXPECT_EQ(Violations("state/x.cpp", "auto s = R\"(\n)\";\nchar c = '\"'; exit(1);").front(),
            "state/x.cpp:3: exit( belongs in cmd/");
}

}  // namespace
}  // namespace podctl
