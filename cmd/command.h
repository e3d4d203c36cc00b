// A command as an object: its name, its line in help, its flags, and what it does. Each is
// described in its own file under commands/, and all are listed in command_table.
#pragma once

#include <any>
#include <span>
#include <string>
#include <string_view>

#include "cmd/flag.h"
#include "cmd/options.h"

namespace podctl {

class Context;

class Command {
 public:
  std::string_view name() const { return name_; }  // "plan", "state list"
  // "state" of "state list", and "" of "plan".
  std::string_view group() const {
    const auto blank = name_.rfind(' ');
    return blank == std::string_view::npos ? std::string_view() : name_.substr(0, blank);
  }
  std::string_view word() const { return name_.substr(name_.rfind(' ') + 1); }  // "list"
  std::string_view summary() const { return summary_; }
  std::span<const Flag> flags() const { return flags_; }
  // A first word only, such as `state`, which needs a further one and cannot be run.
  bool IsGroup() const { return is_group_; }

  // What its flags put their words into.
  virtual std::any NewOptions() const = 0;
  // Flags that do not go together: what is wrong, or "".
  virtual std::string Conflict(const std::any& options, const GlobalOptions& global) const = 0;
  // Whether it looks for a state of its own accord.
  virtual bool UsesState(const std::any& options) const = 0;
  // Returns the exit code.
  virtual int Run(Context& context, const std::any& options) const = 0;

 protected:
  constexpr Command(std::string_view name, std::string_view summary, std::span<const Flag> flags,
                    bool is_group)
      : name_(name), summary_(summary), flags_(flags), is_group_(is_group) {}
  ~Command() = default;
  Command(const Command&) = default;
  Command& operator=(const Command&) = delete;

 private:
  std::string_view name_;
  std::string_view summary_;
  std::span<const Flag> flags_;
  bool is_group_;
};

// Its objects are `const` and not `constexpr`: under the sanitizers gcc 12 takes the comparison of
// a function with nullptr for no constant expression.
template <typename Options>
class CommandOf final : public Command {
 public:
  // Without `run` it is a group, without `conflict` all its flags go together, and without
  // `uses_state` it does.
  constexpr CommandOf(std::string_view name, std::string_view summary, std::span<const Flag> flags,
                      int (*run)(Context& context, const Options& options),
                      std::string (*conflict)(const Options&, const GlobalOptions&) = nullptr,
                      bool (*uses_state)(const Options&) = nullptr)
      : Command(name, summary, flags, run == nullptr),
        run_(run),
        conflict_(conflict),
        uses_state_(uses_state) {}

  std::any NewOptions() const override { return Options(); }
  std::string Conflict(const std::any& options, const GlobalOptions& global) const override {
    return conflict_ == nullptr ? std::string() : conflict_(In(options), global);
  }
  bool UsesState(const std::any& options) const override {
    return uses_state_ == nullptr || uses_state_(In(options));
  }
  int Run(Context& context, const std::any& options) const override {
    return run_(context, In(options));
  }

 private:
  static const Options& In(const std::any& options) {
    return std::any_cast<const Options&>(options);
  }

  int (*run_)(Context&, const Options&);
  std::string (*conflict_)(const Options&, const GlobalOptions&);
  bool (*uses_state_)(const Options&);
};

// For `uses_state`.
template <typename Options>
bool NoState(const Options&) {
  return false;
}

struct NoOptions {};

}  // namespace podctl
