// How libtpuFlags and runtimeEnv become the metadata entry `tensorflow-env-vars`, which the
// tpu-runtime unit reads when it starts: arguments of docker run, `-e NAME=VALUE` (the form that
// the Cloud TPU documentation gives for it).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "plans/spec/references.h"

namespace podctl {

inline constexpr const char* kRuntimeVariablesKey = "tensorflow-env-vars";
inline constexpr std::string_view kRuntimeFlagsVariable = "LIBTPU_INIT_ARGS";
// The keys of a pod from which it is made.
inline constexpr std::string_view kRuntimeFlagsKey = "libtpuFlags";
inline constexpr std::string_view kRuntimeEnvKey = "runtimeEnv";

// The name of a flag of libtpu, without its dashes.
bool IsFlagName(std::string_view name);

// {a: 1, b: 2} -> "--a=1 --b=2", sorted by name. A flag's name may be given with its dashes.
std::string JoinFlags(const std::map<std::string, std::string>& flags);

// {LIBTPU_INIT_ARGS: "--a=1 --b=2", X: 3} -> "-e LIBTPU_INIT_ARGS='--a=1 --b=2' -e X=3":
// LIBTPU_INIT_ARGS first, then by name; values with blanks or shell characters in single quotes.
// Template text goes in and comes out; what a reference stands for is quoted when it is known.
std::string ComposeRuntimeVariables(const std::map<std::string, std::string>& variables);

// RenderText and FindUnusable of an entry: a value is put into quotes as if it were written in the
// spec, and among flags it holds no blank. In an entry that ComposeRuntimeVariables would not write
// so, a value is a plain word.
std::optional<std::string> RenderRuntimeVariables(std::string_view template_text,
                                                  const ReferenceLookup& lookup);
std::optional<UnusableReference> FindUnusableVariable(std::string_view template_text,
                                                      const ReferenceLookup& lookup);

// How a reference in a variable of the runtime is used.
ReferenceUse UseInVariable(std::string_view name);

// The two keys of a pod from which the entry is made; literal text.
struct RuntimeKeys {
  std::map<std::string, std::string> flags;      // libtpuFlags
  std::map<std::string, std::string> variables;  // runtimeEnv
};

// The keys that give exactly `text` again, byte by byte; nullopt when no keys do (another order,
// other quotes, other arguments of docker), for then the entry would be changed by the next apply.
std::optional<RuntimeKeys> SplitRuntimeVariables(std::string_view text);

// What an entry says, to be compared by people: whoever wrote it, in whatever order and quotes.
struct RuntimeParts {
  std::map<std::string, std::string> by_path;  // "libtpuFlags.a", "runtimeEnv.X"
  std::string rest;                            // other arguments of docker, as one line

  friend bool operator==(const RuntimeParts&, const RuntimeParts&) = default;
};

// nullopt: a quote is left open, or a name is given twice, of which only one counts.
std::optional<RuntimeParts> TakeRuntimeVariablesApart(std::string_view text);

}  // namespace podctl
