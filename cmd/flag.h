// A flag or an argument of a command, as data: parsing, help and completion are made from tables of
// these. Each knows how what was said is put into its command's options, and has its own words
// about a value that is none. Knows no parser.
#pragma once

#include <any>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace podctl {

// A number of workers, or a share of those that are chosen.
struct CountOrShare {
  int number = 0;
  bool percent = false;

  // Rounded down; a share of something may be none.
  int Of(std::size_t workers) const {
    return percent ? static_cast<int>(workers * static_cast<std::size_t>(number) / 100) : number;
  }
};

struct Flag {
  using Words = std::vector<std::string>;

  enum class Takes {
    kNothing,
    kWord,
    kWords,           // a flag: one each time it is given; an argument: all that follow
    kWordIfAttached,  // --open=url; alone it means the first of `choices`
  };
  // What completion offers in the place of an argument.
  enum class Names { kNothing, kPod, kJob, kAddress, kSerial };

  std::string_view name = {};  // "--out"; an argument has no dashes: "POD"
  char letter = '\0';          // 't' where there is a -t, too
  Takes takes = Takes::kNothing;
  std::string_view value = {};  // what help calls its value: "FILE"
  std::string_view help = {};
  // Puts the words into the options, which are of the type that the command has made: what is wrong
  // with them, or "".
  std::string (*set)(const Flag& flag, std::any& options, const Words& words) = nullptr;
  bool required = false;
  bool command = false;  // an argument: somebody else's words behind `--`, taken as they stand
  bool dashes = false;   // with it: usage shows the `--`
  Names names = Names::kNothing;
  int least = 1;  // of a number
  int most = 0;
  std::string_view choices = {};  // "sshd|light|none"

  constexpr bool IsArgument() const { return !name.starts_with("--"); }
};

// The -h of every command.
inline constexpr Flag kHelpFlag{.name = "--help", .letter = 'h', .help = "show help"};

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// Each reads one word: what is wrong with it, or "".
std::string ReadText(const Flag& flag, const std::string& text, std::string* target);
std::string ReadWorkers(const Flag& flag, const std::string& text, std::string* target);
std::string ReadChoice(const Flag& flag, const std::string& text, std::string* target);
std::string ReadOnOff(const Flag& flag, const std::string& text, bool* target);
std::string ReadNumber(const Flag& flag, const std::string& text, int* target);
std::string ReadDuration(const Flag& flag, const std::string& text,
                         std::chrono::milliseconds* target);
std::string ReadCountOrShare(const Flag& flag, const std::string& text, CountOrShare* target);

// Makes the flags of a command whose options are `Options`, each for one member:
//
//   using Of = FlagsOf<DrainOptions>;
//   constexpr Flag kFlags[] = {
//       Of::Pod<&DrainOptions::pod>(),
//       Of::Duration<&DrainOptions::grace>("--grace", "from TERM to KILL (default 30s)"),
//   };
template <typename Options>
class FlagsOf {
 public:
  // On when it is given.
  template <auto kMember>
  static constexpr Flag Switch(std::string_view name, std::string_view help) {
    return Switched<kMember, true>(name, help);
  }
  // "--no-wait": off when it is given.
  template <auto kMember>
  static constexpr Flag SwitchOff(std::string_view name, std::string_view help) {
    return Switched<kMember, false>(name, help);
  }
  // "--input=false": on unless it is turned off.
  template <auto kMember>
  static constexpr Flag OnOff(std::string_view name, std::string_view help) {
    return Word<kMember, &ReadOnOff>(name, "true|false", help);
  }
  template <auto kMember>
  static constexpr Flag Text(std::string_view name, std::string_view value, std::string_view help) {
    return Word<kMember, &ReadText>(name, value, help);
  }
  // An empty text counts as none.
  template <auto kMember>
  static constexpr Flag TextIfAny(std::string_view name, std::string_view value,
                                  std::string_view help) {
    Flag flag{.name = name, .takes = Flag::Takes::kWord, .value = value, .help = help};
    flag.set = [](const Flag&, std::any& options, const Flag::Words& words) {
      auto& target = In(options).*kMember;
      target = words.front();
      if (target->empty()) target.reset();
      return std::string();
    };
    return flag;
  }
  // Repeatable.
  template <auto kMember>
  static constexpr Flag Texts(std::string_view name, std::string_view value,
                              std::string_view help) {
    Flag flag{.name = name, .takes = Flag::Takes::kWords, .value = value, .help = help};
    flag.set = [](const Flag&, std::any& options, const Flag::Words& words) {
      In(options).*kMember = words;
      return std::string();
    };
    return flag;
  }
  // "90s", "1h30m".
  template <auto kMember>
  static constexpr Flag Duration(std::string_view name, std::string_view help) {
    return Word<kMember, &ReadDuration>(name, "DURATION", help);
  }
  // A whole number from 1 to `most`.
  template <auto kMember>
  static constexpr Flag Number(std::string_view name, std::string_view value, int most,
                               std::string_view help) {
    Flag flag = Word<kMember, &ReadNumber>(name, value, help);
    flag.most = most;
    return flag;
  }
  // A number from `least` on, or a share of the workers: 8, 25%.
  template <auto kMember>
  static constexpr Flag CountOrShare(std::string_view name, int least, std::string_view help) {
    Flag flag = Word<kMember, &ReadCountOrShare>(name, "N|P%", help);
    flag.least = least;
    return flag;
  }
  // One of a few words: "sshd|light|none".
  template <auto kMember>
  static constexpr Flag Choice(std::string_view name, std::string_view value,
                               std::string_view choices, std::string_view help) {
    Flag flag = Word<kMember, &ReadChoice>(name, value, help);
    flag.choices = choices;
    return flag;
  }
  // --open=url; alone it means the first of the choices.
  template <auto kMember>
  static constexpr Flag ChoiceIfAttached(std::string_view name, std::string_view choices,
                                         std::string_view help) {
    Flag flag = Choice<kMember>(name, "", choices, help);
    flag.takes = Flag::Takes::kWordIfAttached;
    return flag;
  }
  // --worker. An empty one, out of a variable that is not set, must not mean all of them.
  template <auto kMember>
  static constexpr Flag Workers(
      std::string_view help = "all (default), 0,2-3, !7 (all but), 0-255/8",
      std::string_view value = "WORKERS") {
    return Word<kMember, &ReadWorkers>("--worker", value, help);
  }

  template <auto kMember>
  static constexpr Flag OptionalArgument(std::string_view name, std::string_view help) {
    return Word<kMember, &ReadText>(name, "", help);
  }
  template <auto kMember>
  static constexpr Flag Argument(std::string_view name, std::string_view help) {
    Flag flag = OptionalArgument<kMember>(name, help);
    flag.required = true;
    return flag;
  }
  template <auto kMember>
  static constexpr Flag Pod() {
    Flag flag = Argument<kMember>("POD", "name of the pod");
    flag.names = Flag::Names::kPod;
    return flag;
  }
  // All the words that follow.
  template <auto kMember>
  static constexpr Flag Arguments(std::string_view name, std::string_view help) {
    return Texts<kMember>(name, "", help);
  }
  // Those behind `--`.
  template <auto kMember>
  static constexpr Flag CommandWords(std::string_view name, std::string_view help) {
    Flag flag = Texts<kMember>(name, "", help);
    flag.command = true;
    return flag;
  }

  // A flag of one word that is read by the command's own function.
  template <auto kMember, auto kRead>
  static constexpr Flag Word(std::string_view name, std::string_view value, std::string_view help) {
    Flag flag{.name = name, .takes = Flag::Takes::kWord, .value = value, .help = help};
    flag.set = [](const Flag& self, std::any& options, const Flag::Words& words) {
      auto& target = In(options).*kMember;
      if constexpr (kIsOptional<std::remove_reference_t<decltype(target)>>) {
        return kRead(self, words.front(), &target.emplace());
      } else {
        return kRead(self, words.front(), &target);
      }
    };
    return flag;
  }

 private:
  static Options& In(std::any& options) { return std::any_cast<Options&>(options); }

  template <auto kMember, bool kTo>
  static constexpr Flag Switched(std::string_view name, std::string_view help) {
    Flag flag{.name = name, .help = help};
    flag.set = [](const Flag&, std::any& options, const Flag::Words&) {
      In(options).*kMember = kTo;
      return std::string();
    };
    return flag;
  }
};

constexpr Flag Required(Flag flag) {
  flag.required = true;
  return flag;
}
constexpr Flag WithLetter(char letter, Flag flag) {
  flag.letter = letter;
  return flag;
}
constexpr Flag ShownWithDashes(Flag flag) {
  flag.dashes = true;
  return flag;
}
constexpr Flag Naming(Flag::Names names, Flag flag) {
  flag.names = names;
  return flag;
}

}  // namespace podctl
