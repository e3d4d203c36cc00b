#include "cmd/completing.h"

#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <cctype>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "cmd/command.h"
#include "cmd/command_table.h"
#include "plans/fleet/cp/copy.h"
#include "plans/fleet/pod_target.h"
#include "plans/kinds/output/record.h"
#include "providers/base/foreign_text.h"
#include "providers/base/text.h"
#include "providers/gcp/available_types.h"
#include "state/state.h"
#include "templates/catalog.h"

namespace podctl {
namespace {

bool TakesValue(const Flag& flag) {
  return !flag.IsArgument() &&
         (flag.takes == Flag::Takes::kWord || flag.takes == Flag::Takes::kWords);
}

// By "--zone" or "-f"; a command's own come first.
const Flag* FindFlag(const Command* command, std::string_view name) {
  for (const auto flags :
       {command == nullptr ? std::span<const Flag>() : command->flags(), GlobalFlags()}) {
    for (const Flag& flag : flags) {
      if (flag.IsArgument()) continue;
      const bool short_one = name.size() == 2 && flag.letter != '\0' && name[1] == flag.letter;
      if (flag.name == name || short_one) return &flag;
    }
  }
  return nullptr;
}

bool IsGlobal(const Flag* flag) {
  const auto all = GlobalFlags();
  return std::any_of(all.begin(), all.end(), [&](const Flag& each) { return &each == flag; });
}

// What a value that is described so can only be: a file or a folder.
bool TakesFile(const Flag& flag) {
  const std::string_view value = flag.IsArgument() ? flag.name : flag.value;
  return value.starts_with("FILE") || value.starts_with("DIR");
}

// What stands before the word under the cursor.
struct LineSoFar {
  const Command* command = nullptr;  // a group, where its second word is still to come
  std::vector<std::string> arguments;
  const Flag* awaiting = nullptr;  // whose value the word is
  bool behind_dashes = false;
  bool unknown = false;  // a command that there is not
  std::map<const Flag*, std::vector<std::string>> values;

  void Take(const std::string& word) {
    if (awaiting != nullptr) {
      values[std::exchange(awaiting, nullptr)].push_back(word);
    } else if (word == "--") {
      behind_dashes = true;
    } else if (word.size() > 1 && word[0] == '-') {
      const auto equals = word.find('=');
      const Flag* flag = FindFlag(command, word.substr(0, equals));
      if (flag == nullptr) return;
      if (equals != std::string::npos) {
        values[flag].push_back(word.substr(equals + 1));
      } else if (TakesValue(*flag)) {
        awaiting = flag;
      } else {
        values[flag];
      }
    } else if (command == nullptr || command->IsGroup()) {
      const std::string name =
          command == nullptr ? word : fmt::format("{} {}", command->name(), word);
      command = FindCommand(name);
      unknown = command == nullptr;
    } else {
      arguments.push_back(word);
    }
  }

  GlobalOptions Global() const {
    std::any options = GlobalOptions();
    for (const auto& [flag, words] : values) {
      if (!IsGlobal(flag) || flag->set == nullptr) continue;
      static_cast<void>(flag->set(*flag, options, words));  // a wrong one is for the run to tell
    }
    return std::any_cast<GlobalOptions>(std::move(options));
  }
};

// The argument that the word is; nullptr: none is left.
const Flag* ArgumentAt(const Command& command, std::size_t index) {
  for (const Flag& flag : command.flags()) {
    if (!flag.IsArgument() || flag.command) continue;
    if (flag.takes == Flag::Takes::kWords || index == 0) return &flag;
    --index;
  }
  return nullptr;
}

class Completer {
 public:
  Completer(const LineSoFar& line, std::string word, const MakeCompletionWorld& make)
      : line_(line), word_(std::move(word)), make_(make) {}

  Completions All() {
    if (line_.behind_dashes || line_.unknown) return {};
    if (line_.awaiting != nullptr) {
      ValuesOf(*line_.awaiting);
    } else if (word_.starts_with("--") && word_.find('=') != std::string::npos) {
      AttachedValue();
    } else if (word_.starts_with('-')) {
      FlagsOf(line_.command == nullptr ? std::span<const Flag>() : line_.command->flags());
      FlagsOf(GlobalFlags());
    } else if (line_.command == nullptr || line_.command->IsGroup()) {
      CommandsOf(line_.command == nullptr ? std::string_view() : line_.command->name());
    } else if (const Flag* argument = ArgumentAt(*line_.command, line_.arguments.size())) {
      ValuesOf(*argument);
    }
    return std::move(completions_);
  }

 private:
  CompletionWorld& world() {
    if (!world_) world_ = make_(line_.Global());
    return *world_;
  }

  // Only what the word begins. Names of others that would drive a terminal are left out.
  void Add(std::string text, std::string_view help = {}) {
    if (!text.starts_with(word_) || HoldsControls(text) ||
        FindInvalidUtf8(text) != std::string::npos) {
      return;
    }
    Completion completion{std::move(text), help};
    if (std::find(completions_.words.begin(), completions_.words.end(), completion) ==
        completions_.words.end()) {
      completions_.words.push_back(std::move(completion));
    }
  }
  void AddAll(const std::vector<std::string>& texts, const std::string& head = {}) {
    for (const std::string& text : texts) Add(head + text);
  }

  void CommandsOf(std::string_view group) {
    for (const Command* command : CommandsIn(group)) {
      if (!command->IsHidden()) Add(std::string(command->word()), command->summary());
    }
  }

  void FlagsOf(std::span<const Flag> flags) {
    if (!IsGlobal(flags.data())) Add(std::string(kHelpFlag.name), kHelpFlag.help);
    for (const Flag& flag : flags) {
      if (!flag.IsArgument()) Add(std::string(flag.name), flag.help);
    }
  }

  // --target=pod.a
  void AttachedValue() {
    const auto equals = word_.find('=');
    const Flag* flag = FindFlag(line_.command, word_.substr(0, equals));
    if (flag == nullptr) return;
    const std::string head = word_.substr(0, equals + 1);
    Completer value(line_, word_.substr(equals + 1), make_);
    value.ValuesOf(*flag);
    completions_.files = value.completions_.files;
    for (Completion& completion : value.completions_.words) {
      completions_.words.push_back({head + completion.text, completion.help});
    }
  }

  void ChoicesOf(std::string_view choices) {
    if (choices.empty()) return;
    for (const std::string_view choice : Split(choices, "|")) Add(std::string(choice));
  }

  void ValuesOf(const Flag& flag) {
    switch (flag.names) {
      case Flag::Names::kPod:
        return AddAll(NamesOf(kPodKind));
      case Flag::Names::kJob:
        return AddAll(
            world().Jobs(line_.arguments.empty() ? "" : BarePodName(line_.arguments.front())));
      case Flag::Names::kAddress:
        return AddAll(world().Addresses());
      case Flag::Names::kOutput:
        return AddAll(NamesOf(kOutputKind));
      case Flag::Names::kPlannedAddress:
        return AddAll(world().PlannedAddresses());
      case Flag::Names::kSerial:
        return AddAll(world().Serials());
      case Flag::Names::kWorker:
        return Workers();
      case Flag::Names::kPath:
        return Paths();
      case Flag::Names::kTemplate:
        for (const Template& item : Templates()) Add(std::string(item.name), item.description);
        return;
      case Flag::Names::kZone:
        return AddAll(gcp::KnownZones());
      case Flag::Names::kCommand: {
        std::string group;
        for (const std::string& word : line_.arguments) group += (group.empty() ? "" : " ") + word;
        return CommandsOf(group);
      }
      case Flag::Names::kNothing:
        break;
    }
    const bool lists = flag.choices.empty() && flag.value.find('|') != std::string_view::npos &&
                       std::islower(static_cast<unsigned char>(flag.value[0])) != 0;
    ChoicesOf(lists ? flag.value : flag.choices);
    completions_.files = completions_.words.empty() && TakesFile(flag);
  }

  // Of a kind, as the state has them.
  std::vector<std::string> NamesOf(std::string_view kind) {
    std::vector<std::string> names;
    for (const std::string& text : world().Addresses()) {
      const auto address = ParseAddress(text);
      if (address && address->kind == kind) names.push_back(address->name);
    }
    return names;
  }

  // The last of a list: "0,2" -> "0,2", "0,20", …
  void Workers() {
    std::string pod;
    for (const std::string& argument : line_.arguments) {
      const auto remote = ReadRemotePath(argument);
      if (remote) pod = remote->pod;
      if (!pod.empty()) break;
    }
    if (pod.empty() && !line_.arguments.empty()) pod = BarePodName(line_.arguments.front());
    if (pod.empty()) return;
    const auto comma = word_.rfind(',');
    std::string head = comma == std::string::npos ? "" : word_.substr(0, comma + 1);
    if (word_.substr(head.size()).starts_with('!')) head += '!';
    const auto workers = world().Workers(pod);
    const std::string_view command = line_.command->name();
    const bool takes_one = command == "ssh" || command == "tunnel";
    if (head.empty() && !workers.empty() && !takes_one) Add("all");
    AddAll(workers, head);
  }

  // SRC and DST of `cp`: here, or on a pod's workers.
  void Paths() {
    const auto remote = ReadRemotePath(word_);
    if (!remote) {
      for (const std::string& pod : NamesOf(kPodKind)) Add(pod + ":");
    }
    if (!remote && word_.starts_with('~')) {
      completions_.files = true;  // whose home that is only the shell knows
      return;
    }
    const std::string path = remote ? remote->path : word_;
    const auto slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    const std::string head = word_.substr(0, word_.size() - path.size()) + folder;
    const auto names = remote ? world().Remote(remote->pod, remote->workers, folder)
                              : world().Local(folder.empty() ? "." : folder);
    const bool hidden = path.substr(folder.size()).starts_with('.');
    for (const std::string& name : names) {
      // A line of its own would be another name, and what drives a terminal is no word to offer.
      if (HoldsControls(name)) continue;
      // Another program than this one would take it for a flag.
      const bool like_flag = name.starts_with('-') && path.empty();
      if (hidden || !name.starts_with('.')) Add(head + (like_flag ? "./" : "") + name);
    }
  }

  const LineSoFar& line_;
  const std::string word_;
  const MakeCompletionWorld& make_;
  std::unique_ptr<CompletionWorld> world_;
  Completions completions_;
};

bool IsPlainInShells(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_./:=@%+,-").find(c) != std::string_view::npos ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

Completions CompletionsFor(const std::vector<std::string>& words,
                           const MakeCompletionWorld& world) {
  LineSoFar line;
  if (words.empty()) return {};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) line.Take(words[i]);
  return Completer(line, words.back(), world).All();
}

TypedWord ReadTypedWord(std::string_view raw, std::string_view breaks) {
  TypedWord word;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    const char c = raw[at];
    if (word.open_quote == '\0' && (c == '\'' || c == '"')) {
      word.open_quote = c;
      word.quote_at = word.text.size();
    } else if (word.open_quote != '\0' && c == word.open_quote) {
      word.open_quote = '\0';
    } else if (c == '\\' && word.open_quote != '\'' && at + 1 < raw.size()) {
      const char next = raw[++at];
      // Between double quotes it stands for itself before most.
      const bool kept =
          word.open_quote == '"' && std::string_view("$`\"\\").find(next) == std::string_view::npos;
      if (kept) word.text += c;
      word.text += next;
    } else {
      word.text += c;
      const bool breaks_here = word.open_quote == '\0' && breaks.find(c) != std::string_view::npos;
      if (breaks_here) word.break_at = word.text.size();
    }
  }
  return word;
}

std::string ForBash(const TypedWord& typed, const std::string& text) {
  const bool open = typed.open_quote != '\0';
  const std::string rest = text.substr(
      std::min(text.size(), open ? std::max(typed.quote_at, typed.break_at) : typed.break_at));
  std::string quoted;
  for (std::size_t at = 0; at < rest.size(); ++at) {
    const char c = rest[at];
    const bool inner_tilde = c == '~' && at + typed.break_at > 0;
    if (!IsPlainInShells(c) && !inner_tilde) {
      if (open && c != ' ' && c != '~') return {};  // what quotes it would be seen as it stands
      if (!open) quoted += '\\';
    }
    quoted += c;
  }
  return quoted;
}

}  // namespace podctl
