// A command as an object: its name, its line in help, its flags, and what it does; and what it is
// run with. Each is described in a file under commands/, and all are listed in command_table.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "cmd/command_line.h"
#include "cmd/flag.h"
#include "cmd/output_filter.h"

namespace podctl {

class Wiring;

// The flags of every command, the terminal, and the world, which is made when it is first asked
// for, so that `podctl version` makes nothing.
class Context {
 public:
  // Both are lent.
  Context(const GlobalOptions& global, Streams& streams);
  ~Context();

  const GlobalOptions& global() const { return global_; }
  Streams& streams() { return streams_; }
  Wiring& wiring();

 private:
  struct World;

  const GlobalOptions& global_;
  Streams& streams_;
  std::unique_ptr<World> world_;
};

class Command {
 public:
  template <typename Options>
  using Conflicts = std::string (*)(const Options&, const GlobalOptions&);

  // A first word only, such as `state`, which needs a further one and cannot be run.
  Command(std::string_view name, std::string_view summary) : name_(name), summary_(summary) {}
  // Without `conflict` all its flags go together, and without `uses_state` it looks for a state.
  template <typename Options>
  Command(std::string_view name, std::string_view summary, std::span<const Flag> flags,
          int (*run)(Context& context, const Options& options),
          std::type_identity_t<Conflicts<Options>> conflict = nullptr,
          std::type_identity_t<bool (*)(const Options&)> uses_state = nullptr)
      : name_(name), summary_(summary), flags_(flags) {
    const auto in = [](const std::any& options) -> const Options& {
      return std::any_cast<const Options&>(options);
    };
    new_options_ = [] { return std::any(Options()); };
    run_ = [=](Context& context, const std::any& options) { return run(context, in(options)); };
    conflict_ = [=](const std::any& options, const GlobalOptions& global) {
      return conflict == nullptr ? std::string() : conflict(in(options), global);
    };
    uses_state_ = [=](const std::any& options) {
      return uses_state == nullptr || uses_state(in(options));
    };
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  std::string_view name() const { return name_; }  // "plan", "state list"
  // "state" of "state list", and "" of "plan".
  std::string_view group() const {
    const auto blank = name_.rfind(' ');
    return blank == std::string_view::npos ? std::string_view() : name_.substr(0, blank);
  }
  std::string_view word() const { return name_.substr(name_.rfind(' ') + 1); }  // "list"
  std::string_view summary() const { return summary_; }
  std::span<const Flag> flags() const { return flags_; }
  bool IsGroup() const { return !run_; }
  // For programs, such as a shell: no help lists it.
  bool IsHidden() const { return name_.starts_with("__"); }

  // What its flags put their words into; of a group nothing.
  std::any NewOptions() const { return IsGroup() ? std::any() : new_options_(); }
  // Flags that do not go together: what is wrong, or "".
  std::string Conflict(const std::any& options, const GlobalOptions& global) const {
    return conflict_(options, global);
  }
  // Whether it looks for a state of its own accord.
  bool UsesState(const std::any& options) const { return uses_state_(options); }
  // Returns the exit code.
  int Run(Context& context, const std::any& options) const { return run_(context, options); }

 private:
  std::string_view name_;
  std::string_view summary_;
  std::span<const Flag> flags_;
  std::function<std::any()> new_options_;
  std::function<int(Context&, const std::any&)> run_;
  std::function<std::string(const std::any&, const GlobalOptions&)> conflict_;
  std::function<bool(const std::any&)> uses_state_;
};

struct NoOptions {};

// For `uses_state`.
template <typename Options>
bool NoState(const Options&) {
  return false;
}

// ---- What runs a command whose function takes the world: `WithWorld<RunDrain>`.

template <auto kRun, typename Options>
int RunWithWorld(Context& context, const Options& options) {
  if constexpr (std::is_invocable_v<decltype(kRun), Wiring&>) {
    return kRun(context.wiring());
  } else {
    return kRun(context.wiring(), options);
  }
}
template <typename Options>
Options OptionsOfRun(int (*run)(Wiring& wiring, const Options& options));
NoOptions OptionsOfRun(int (*run)(Wiring& wiring));
template <auto kRun>
inline constexpr int (*WithWorld)(Context&, const decltype(OptionsOfRun(kRun))&) =
    RunWithWorld<kRun, decltype(OptionsOfRun(kRun))>;

// ---- Every command by its name; each is described in a file under commands/.

namespace commands {

extern const Command kInit;
extern const Command kValidate;
extern const Command kSchema;
extern const Command kPlan;
extern const Command kApply;
extern const Command kDestroy;
extern const Command kWatch;
extern const Command kShow;
extern const Command kStatus;
extern const Command kOutput;
extern const Command kCost;
extern const Command kExec;
extern const Command kSsh;
extern const Command kCp;
extern const Command kTunnel;
extern const Command kRun;
extern const Command kDoctor;
extern const Command kDrain;
extern const Command kJobs;
extern const Command kLogs;
extern const Command kKill;
extern const Command kState;
extern const Command kStateInit;
extern const Command kStateList;
extern const Command kStateShow;
extern const Command kStateMv;
extern const Command kStateRm;
extern const Command kStatePull;
extern const Command kStatePush;
extern const Command kStateHistory;
extern const Command kStateRestore;
extern const Command kStateDiff;
extern const Command kStateMigrate;
extern const Command kImport;
extern const Command kLock;
extern const Command kLockStatus;
extern const Command kUnlock;
extern const Command kAuth;
extern const Command kAuthStatus;
extern const Command kAuthorize;
extern const Command kCi;
extern const Command kCiPlan;
extern const Command kCiApply;
extern const Command kCiComment;
extern const Command kCiDrift;
extern const Command kEmulator;
extern const Command kTypes;
extern const Command kVersions;
extern const Command kCompletion;
extern const Command kComplete;
extern const Command kPages;
extern const Command kVersion;
extern const Command kHelp;

}  // namespace commands

}  // namespace podctl
