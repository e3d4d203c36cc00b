#include "cmd/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <list>
#include <utility>

#include "cmd/command.h"
#include "cmd/command_line.h"
#include "cmd/command_table.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

using FlagWords = Flag::Words;

bool Contains(const FlagWords& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The argument that takes somebody else's words; nullptr: none does.
const Flag* CommandFlag(const Command& command) {
  const auto flags = command.flags();
  const auto found =
      std::find_if(flags.begin(), flags.end(), [](const Flag& flag) { return flag.command; });
  return found == flags.end() ? nullptr : &*found;
}

// The words behind `--` of exec, ssh and run are not ours to read: CLI11 would take `[ -e x ]` for
// a list and its brackets away. One word stands in for them.
FlagWords CutCommand(FlagWords* arguments) {
  const auto dashes = std::find(arguments->begin(), arguments->end(), "--");
  const bool runs = std::any_of(arguments->begin(), dashes, [](const std::string& word) {
    const Command* command = FindCommand(word);
    return command != nullptr && CommandFlag(*command) != nullptr;
  });
  if (!runs || arguments->end() - dashes < 2) return {};
  FlagWords command(dashes + 1, arguments->end());
  arguments->erase(dashes + 1, arguments->end());
  arguments->push_back("command");
  return command;
}

class Parser {
 public:
  // Of all commands those that `arguments` can mean: they alone cost anything.
  explicit Parser(const FlagWords& arguments) : app_("", "podctl"), global_(GlobalOptions()) {
    app_.set_help_flag(NamesOf(kHelpFlag));
    app_.set_version_flag("--version", std::string(kVersion));
    app_.require_subcommand(0, 1);
    app_.fallthrough();
    for (const Flag& flag : GlobalFlags()) AddFlag(&app_, flag, &global_);
    for (const Command* command : Commands()) {
      if (Contains(arguments, command->word())) AddCommand(*command);
    }
  }

  std::variant<Invocation, UsageError, HelpWanted> Parse(FlagWords arguments) {
    const FlagWords behind_dashes = CutCommand(&arguments);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
      return Help();
    } catch (const CLI::CallForVersion&) {
      return Invocation{&commands::kVersion, Global(), commands::kVersion.NewOptions()};
    } catch (const CLI::ParseError& error) {
      return Explain(error);
    }
    Entry* entry = Deepest();
    if (entry == nullptr) return Help();
    const Command& command = *entry->command;
    if (command.IsGroup()) {
      return UsageError{fmt::format("`{}` needs a further word", command.name()),
                        HintFor(&command)};
    }
    if (!behind_dashes.empty() && !command_words_.empty()) {
      command_words_.pop_back();  // what stood in for them
      command_words_.insert(command_words_.end(), behind_dashes.begin(), behind_dashes.end());
      const Flag& flag = *CommandFlag(command);
      flag.set(flag, entry->options, command_words_);
    }
    if (std::string wrong = command.Conflict(entry->options, Global()); !wrong.empty()) {
      return UsageError{std::move(wrong), HintFor(&command)};
    }
    return Invocation{&command, Global(), std::move(entry->options)};
  }

 private:
  struct Entry {
    const Command* command;
    CLI::App* app;
    std::any options;
  };

  static std::string NamesOf(const Flag& flag) {
    const std::string name(flag.name);
    return flag.letter == '\0' ? name : fmt::format("-{},{}", flag.letter, name);
  }

  static std::string HintFor(const Command* command) {
    return command == nullptr ? "See `podctl help`."
                              : fmt::format("See `podctl help {}`.", command->name());
  }

  const GlobalOptions& Global() const { return std::any_cast<const GlobalOptions&>(global_); }

  void AddCommand(const Command& command) {
    CLI::App* parent = &app_;
    if (!command.group().empty()) {
      const auto group = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.command->name() == command.group();
      });
      if (group == entries_.end()) return;
      parent = group->app;
    }
    CLI::App* app = parent->add_subcommand(std::string(command.word()));
    app->set_help_flag(NamesOf(kHelpFlag));
    app->fallthrough();
    if (command.IsGroup()) app->require_subcommand(0, 1);
    Entry& entry = entries_.emplace_back(Entry{&command, app, command.NewOptions()});
    for (const Flag& flag : command.flags()) AddFlag(app, flag, &entry.options);
  }

  void AddFlag(CLI::App* app, const Flag& flag, std::any* options) {
    if (flag.set == nullptr) return;  // --help, --version
    const auto set = [this, &flag, options](const FlagWords& words) {
      if (const std::string wrong = flag.set(flag, *options, words); !wrong.empty()) {
        throw CLI::ValidationError(std::string(flag.name), wrong);
      }
      if (flag.command) command_words_ = words;
    };
    const std::string names = NamesOf(flag);
    switch (flag.takes) {
      case Flag::Takes::kNothing:
        // As terraform's, each may be written out: --destroy=true.
        app->add_flag(names, attached_)->check([&flag, options](const std::string& word) {
          bool on = false;
          std::string wrong = Read(flag, word, &on);
          return on ? flag.set(flag, *options, {}) : wrong;
        });
        return;
      case Flag::Takes::kWordIfAttached: {
        const std::string_view usual = flag.choices.substr(0, flag.choices.find('|'));
        app->add_flag(fmt::format("{}{{{}}}", names, usual), attached_)
            ->check([&flag, options](const std::string& word) {
              return flag.set(flag, *options, {word});
            });
        return;
      }
      case Flag::Takes::kWord:
        app->add_option_function<std::string>(names,
                                              [set](const std::string& word) { set({word}); })
            ->required(flag.required);
        return;
      case Flag::Takes::kWords:
        auto* option = app->add_option_function<FlagWords>(names, set);
        option->required(flag.required);
        if (!flag.IsArgument()) option->allow_extra_args(false);
    }
  }

  // The command that was named; nullptr: none was.
  Entry* Deepest() {
    CLI::App* at = &app_;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.app == at; });
    return found == entries_.end() ? nullptr : &*found;
  }

  HelpWanted Help() {
    const Entry* entry = Deepest();
    return {entry == nullptr ? HelpText() : HelpText(*entry->command)};
  }

  UsageError Explain(const CLI::ParseError& error) {
    const Entry* entry = Deepest();
    const Command* command = entry == nullptr ? nullptr : entry->command;
    const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    const FlagWords extras = app_.remaining(true);
    // What is missing may be what somebody meant by it.
    const bool strange =
        missing && !extras.empty() && extras.front().starts_with("-") && extras.front() != "--";
    if (strange || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return Extra(command);
    const bool follows = command != nullptr && Contains(FlagNames(*command), "--follow");
    const std::string other_f =
        "`-f` names a spec everywhere. To go on with what comes: `--follow`.";
    if (command != nullptr && missing) {
      const bool took_f = follows && !Global().files.empty();
      return {fmt::format("`podctl {}` needs more: {}", command->name(), UsageOf(*command)),
              took_f ? other_f : HintFor(command)};
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
      const std::string text = error.what();
      const std::string flag = text.substr(0, text.find(':'));
      return {fmt::format("`{}` needs a value", flag),
              follows && flag == "--file" ? other_f : HintFor(command)};
    }
    return {error.what(), HintFor(command)};
  }

  UsageError Extra(const Command* command) {
    const FlagWords extras = app_.remaining(true);
    const std::string word = extras.empty() ? "" : extras.front();
    const bool flag = word.starts_with("-");
    FlagWords known;
    if (flag) {
      if (command != nullptr) known = FlagNames(*command);
      for (std::string& name : GlobalFlagNames()) known.push_back(std::move(name));
    } else {
      for (const Command* each : CommandsIn(command == nullptr ? "" : command->name())) {
        known.emplace_back(each->word());
      }
    }
    const std::string near = NearestWord(word.substr(0, word.find('=')), known);
    if (command != nullptr && !command->IsGroup() && word == "--auto-approve") {
      return {fmt::format("`podctl {}` has no `--auto-approve`: it does not ask", command->name()),
              HintFor(command)};
    }
    if (command != nullptr && command->name() == "run" && word.starts_with("--env")) {
      return {"`podctl run` has no `--env`: a job's variables stand in the spec",
              "Below the job: `env: {NAME: VALUE}`; `${var.NAME}` in it is set by `--var`."};
    }
    // What a person's hand types, of other tools.
    if ((word == "-y" || word == "--yes") &&
        std::count(known.begin(), known.end(), "--auto-approve") > 0) {
      return {fmt::format("unknown flag `{}`", word), "Did you mean `--auto-approve`?"};
    }
    if (!flag && (word.ends_with(".yaml") || word.ends_with(".yml"))) {
      return {fmt::format("unknown argument `{}`", word),
              fmt::format("A spec is named by `-f {}`.", word)};
    }
    const std::string what = flag ? "flag" : (known.empty() ? "argument" : "command");
    return {fmt::format("unknown {} `{}`", what, word),
            near.empty() ? HintFor(command) : fmt::format("Did you mean `{}`?", near)};
  }

  CLI::App app_;
  std::any global_;
  std::list<Entry> entries_;  // their options are lent to `app_`
  FlagWords command_words_;
  std::string attached_;  // CLI11 wants a place for it
};

}  // namespace

std::variant<Invocation, UsageError, HelpWanted> ParseArguments(
    const std::vector<std::string>& arguments) {
  if (arguments.empty()) return HelpWanted{HelpText()};
  auto parsed = Parser(arguments).Parse(arguments);
  if (auto* invocation = std::get_if<Invocation>(&parsed)) {
    invocation->global.command_line = CommandLineForOthers(arguments);
  }
  return parsed;
}

}  // namespace podctl
