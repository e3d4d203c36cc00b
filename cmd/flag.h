// A flag or an argument of a command, as data: parsing, help and completion are made from tables of
// these. Each knows how what was said is put into its command's options, and has its own words
// about a value that is none. Knows no parser.
#pragma once

#include <any>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plans/fleet/exec/request.h"

namespace podctl {

struct Flag {
  using Words = std::vector<std::string>;

  enum class Takes {
    kNothing,
    kWord,
    kWords,           // a flag: one each time it is given; an argument: all that follow
    kWordIfAttached,  // --open=url; alone it means the first of `choices`
  };
  // What completion offers in its place (completing.h). An address is one of the state, a planned
  // one perhaps of the spec alone; a path lies here or on a worker.
  enum class Names {
    kNothing,
    kPod,
    kJob,
    kAddress,
    kOutput,
    kPlannedAddress,
    kSerial,
    kWorker,
    kPath,
    kTemplate,
    kZone,
    kCommand
  };

  std::string_view name = {};  // "--out"; an argument has no dashes: "POD"
  char letter = '\0';          // 't' where there is a -t, too
  Takes takes = Takes::kNothing;
  std::string_view value = {};  // what help calls its value: "FILE"
  std::string_view help = {};
  // Puts the words into the options, which are of the type that the command has made: what is wrong
  // with them, or "".
  std::string (*set)(const Flag& flag, std::any& options, const Words& words) = nullptr;
  bool required = false;
  bool command = false;       // an argument: somebody else's words behind `--`, as they stand
  bool shows_dashes = false;  // with it: usage shows the `--`
  Names names = Names::kNothing;
  int least = 0;  // of a number
  int most = 0;
  std::string_view choices = {};  // "sshd|light|none"

  constexpr bool IsArgument() const { return !name.starts_with("--"); }
};

// The -h of every command.
inline constexpr Flag kHelpFlag{.name = "--help", .letter = 'h', .help = "show help"};

constexpr Flag Required(Flag flag) {
  flag.required = true;
  return flag;
}
constexpr Flag WithLetter(char letter, Flag flag) {
  flag.letter = letter;
  return flag;
}
constexpr Flag Naming(Flag::Names names, Flag flag) {
  flag.names = names;
  return flag;
}
// Of a number.
constexpr Flag Within(int least, int most, Flag flag) {
  flag.least = least;
  flag.most = most;
  return flag;
}
// Somebody else's words, which usage shows with their dashes or without.
constexpr Flag BehindDashes(bool shown, Flag flag) {
  flag.command = true;
  flag.shows_dashes = shown;
  return flag;
}
constexpr Flag IfAttached(Flag flag) {
  flag.takes = Flag::Takes::kWordIfAttached;
  return flag;
}
constexpr Flag OneOf(std::string_view choices, Flag flag) {
  flag.choices = choices;
  return flag;
}

// Each reads one word: what is wrong with it, or "". By the type that is wanted:
std::string Read(const Flag& flag, const std::string& text, std::string* target);  // of `choices`
std::string Read(const Flag& flag, const std::string& text, bool* target);         // true, false
std::string Read(const Flag& flag, const std::string& text, int* target);          // a whole number
std::string Read(const Flag& flag, const std::string& text, CountOrShare* target);
std::string Read(const Flag& flag, const std::string& text, std::chrono::milliseconds* target);
// Of a text, an empty one counts as none.
template <typename T>
std::string Read(const Flag& flag, const std::string& text, std::optional<T>* target) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (text.empty()) return target->reset(), "";
  }
  return Read(flag, text, &target->emplace());
}
// An empty one, out of a variable that is not set, must not mean all of them.
std::string ReadWorkers(const Flag& flag, const std::string& text, std::string* target);

// ---- What makes a flag of a member of a command's options:
//
//   constexpr Flag kDrainFlags[] = {
//       PodArgument<&DrainOptions::pod>(),
//       OneValue<&DrainOptions::grace>("--grace", "DURATION", "from TERM to KILL (default 30s)"),
//   };
//
// `Options` is named where the member is inherited.

template <typename Owner, typename T>
Owner OwnerOfMember(T Owner::*member);
template <auto kMember>
using OwnerOf = decltype(OwnerOfMember(kMember));

// On when it is given, or with `kTo` of false ("--no-wait") off.
template <auto kMember, typename Options = OwnerOf<kMember>, bool kTo = true>
constexpr Flag Switch(std::string_view name, std::string_view help) {
  return {
      .name = name, .help = help, .set = [](const Flag&, std::any& options, const Flag::Words&) {
        std::any_cast<Options&>(options).*kMember = kTo;
        return std::string();
      }};
}
// A word that is read as the member's type wants it, or by `kRead`.
template <auto kMember, typename Options = OwnerOf<kMember>, auto kRead = nullptr>
constexpr Flag OneValue(std::string_view name, std::string_view value, std::string_view help) {
  return {.name = name,
          .takes = Flag::Takes::kWord,
          .value = value,
          .help = help,
          .set = [](const Flag& self, std::any& options, const Flag::Words& words) {
            auto* member = &(std::any_cast<Options&>(options).*kMember);
            if constexpr (std::is_null_pointer_v<decltype(kRead)>) {
              return Read(self, words.front(), member);
            } else {
              return kRead(self, words.front(), member);
            }
          }};
}
// Repeatable.
template <auto kMember, typename Options = OwnerOf<kMember>>
constexpr Flag ManyValues(std::string_view name, std::string_view value, std::string_view help) {
  return {.name = name,
          .takes = Flag::Takes::kWords,
          .value = value,
          .help = help,
          .set = [](const Flag&, std::any& options, const Flag::Words& words) {
            std::any_cast<Options&>(options).*kMember = words;
            return std::string();
          }};
}
template <auto kMember, typename Options = OwnerOf<kMember>>
constexpr Flag WorkerFlag(std::string_view help = "all (default), 0,2-3, !7 (all but), 0-255/8",
                          std::string_view value = "WORKERS") {
  return Naming(Flag::Names::kWorker,
                OneValue<kMember, Options, &ReadWorkers>("--worker", value, help));
}
template <auto kMember, typename Options = OwnerOf<kMember>>
constexpr Flag PodArgument() {
  return Required(
      Naming(Flag::Names::kPod, OneValue<kMember, Options>("POD", "", "name of the pod")));
}

}  // namespace podctl
