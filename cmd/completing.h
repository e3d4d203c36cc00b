// What a shell may put in place of the word under the cursor: decided from the table of commands,
// so it agrees with parsing and help. Names come from CompletionWorld. Knows no shell but for the
// quotes that a word is typed in, and no terminal.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/command_line.h"

namespace podctl {

// What names there are. Each returns what it can find out at once, and nothing where it cannot:
// nobody waits for a completion or reads its errors. Nothing but Remote may use the network.
class CompletionWorld {
 public:
  virtual ~CompletionWorld() = default;
  virtual std::vector<std::string> Addresses() = 0;         // of the state, sorted
  virtual std::vector<std::string> PlannedAddresses() = 0;  // of the state and of the spec
  // Of the spec; of a `pod`, not "": its own of these, and what was started there from here.
  virtual std::vector<std::string> Jobs(const std::string& pod) = 0;
  virtual std::vector<std::string> Serials() = 0;  // of what is kept of the state
  // As --worker has them: "0", or "[1]/0" of a multislice.
  virtual std::vector<std::string> Workers(const std::string& pod) = 0;
  // What is in a folder, folders with a `/` at their end: here, and on a worker of `pod`, where
  // `workers` may be empty and `folder` begin with `~`.
  virtual std::vector<std::string> Local(const std::string& folder) = 0;
  virtual std::vector<std::string> Remote(const std::string& pod, const std::string& workers,
                                          const std::string& folder) = 0;
};

struct Completion {
  std::string text;  // all of the word
  std::string_view help = {};

  friend bool operator==(const Completion&, const Completion&) = default;
};

struct Completions {
  std::vector<Completion> words;
  bool files = false;  // names of files belong here, which the shell completes by itself
};

// `words` stand behind `podctl`, without their quotes; the last one is under the cursor, and may be
// empty. `world` is made for what the flags before say, when it is first needed.
using MakeCompletionWorld =
    std::function<std::unique_ptr<CompletionWorld>(const GlobalOptions& global)>;
Completions CompletionsFor(const std::vector<std::string>& words, const MakeCompletionWorld& world);

// ---- Words as they are typed into bash, zsh or fish.

struct TypedWord {
  std::string text;          // without quotes; what is open is taken to go on to the end
  std::size_t break_at = 0;  // what of `text` lies before the last of `breaks` outside of quotes
  char open_quote = '\0';    // ' or " where one is open
  std::size_t quote_at = 0;  // where in `text` that begins
};
TypedWord ReadTypedWord(std::string_view raw, std::string_view breaks);

// What bash is to put in place of the part of the word that it replaces; "": nothing that would be
// safe. Nothing in it is expanded or executed.
std::string ForBash(const TypedWord& typed, const std::string& text);

}  // namespace podctl
