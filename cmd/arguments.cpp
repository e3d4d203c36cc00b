#include "cmd/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include "cmd/command_line.h"
#include "cmd/flag_kinds.h"
#include "cmd/fleet_flags.h"
#include "cmd/init_flags.h"
#include "cmd/pod_flags.h"
#include "cmd/run_flags.h"
#include "cmd/watch_flags.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

class Parser {
 public:
  Parser() : app_("Declarative Cloud TPU pods: plan, apply, and reach every worker.", "podctl") {
    app_.set_help_flag();
    app_.set_help_flag("-h,--help", "show help");
    app_.set_version_flag("--version", std::string(kVersion), "show the version");
    app_.require_subcommand(0, 1);
    app_.fallthrough();
    AddGlobals();
    AddInitCommand(&app_, &invocation_.init);
    AddPlanning();
    AddPodCommands(&app_, &invocation_.pod, &invocation_.exec, &invocation_.cp);
    AddRunCommand(&app_, &invocation_.run, &invocation_.pod);
    AddFleetCommands(&app_, &invocation_.fleet);
    AddState();
    AddAccess();
    AddRest();
  }

  CLI::App& app() { return app_; }

  std::variant<Invocation, UsageError, HelpWanted> Parse(std::vector<std::string> arguments) {
    if (arguments.empty()) return HelpWanted{Help(&app_)};
    const std::vector<std::string> command = CutCommand(&arguments);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
      return HelpWanted{Help(Deepest())};
    } catch (const CLI::CallForAllHelp&) {
      return HelpWanted{Help(&app_)};
    } catch (const CLI::CallForVersion&) {
      invocation_.command = "version";
      return invocation_;
    } catch (const CLI::ParseError& error) {
      return Explain(error);
    }
    CLI::App* deepest = Deepest();
    if (deepest == &app_) return HelpWanted{Help(&app_)};
    if (!deepest->get_subcommands(kAll).empty()) {
      return UsageError{fmt::format("`{}` needs a further word", FullName(deepest)),
                        fmt::format("See `podctl help {}`.", FullName(deepest))};
    }
    invocation_.command = FullName(deepest);
    if (const std::string conflict = Conflict(); !conflict.empty()) {
      return UsageError{conflict, fmt::format("See `podctl help {}`.", invocation_.command)};
    }
    if (!command.empty() && !invocation_.pod.command.empty()) {
      std::vector<std::string>& words = invocation_.pod.command;
      words.pop_back();  // what stood in for it
      words.insert(words.end(), command.begin(), command.end());
    }
    return invocation_;
  }

  std::string HelpOf(const std::string& command) {
    CLI::App* at = &app_;
    for (std::string_view rest = command; !rest.empty();) {
      const auto blank = rest.find(' ');
      const std::string name(rest.substr(0, blank));
      const auto commands = at->get_subcommands(kAll);
      const auto next = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* each) {
        return each->get_name() == name;
      });
      if (next == commands.end()) return {};
      at = *next;
      rest = blank == std::string_view::npos ? std::string_view() : rest.substr(blank + 1);
    }
    return Help(at);
  }

  std::vector<CommandWords> Commands() {
    std::vector<CommandWords> words;
    Collect(&app_, &words);
    return words;
  }

  static void CollectValued(const CLI::App* app, std::set<std::string>* flags) {
    for (const CLI::Option* option : app->get_options(nullptr)) {
      if (option->get_positional() || option->get_items_expected_max() == 0) continue;
      for (const std::string& name : option->get_lnames()) flags->insert("--" + name);
      for (const std::string& name : option->get_snames()) flags->insert("-" + name);
    }
    for (const CLI::App* command : app->get_subcommands(kAll)) CollectValued(command, flags);
  }

  std::vector<std::string> Flags(const CLI::App* app) const {
    std::vector<std::string> flags;
    for (const CLI::Option* option : app->get_options(nullptr)) {
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    }
    std::sort(flags.begin(), flags.end());
    return flags;
  }

 private:
  static bool kAll(const CLI::App*) { return true; }

  // The words after `--` of exec, ssh and run are not ours to read: CLI11 would take `[ -e x ]` for
  // a list and its brackets away. One word stands in for them.
  static std::vector<std::string> CutCommand(std::vector<std::string>* arguments) {
    const auto dashes = std::find(arguments->begin(), arguments->end(), "--");
    const bool runs = std::any_of(arguments->begin(), dashes, [](const std::string& word) {
      return word == "exec" || word == "ssh" || word == "run";
    });
    if (!runs || arguments->end() - dashes < 2) return {};
    std::vector<std::string> command(dashes + 1, arguments->end());
    arguments->erase(dashes + 1, arguments->end());
    arguments->push_back("command");
    return command;
  }

  static std::string FullName(const CLI::App* app) {
    if (app->get_parent() == nullptr) return {};
    const std::string parent = FullName(app->get_parent());
    return parent.empty() ? app->get_name() : parent + " " + app->get_name();
  }

  CLI::App* Deepest() {
    CLI::App* at = &app_;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    return at;
  }

  void Collect(CLI::App* app, std::vector<CommandWords>* words) {
    for (CLI::App* command : app->get_subcommands(kAll)) {
      if (command->get_group().empty()) continue;  // hidden
      words->push_back({FullName(command), command->get_description(), Flags(command)});
      Collect(command, words);
    }
  }

  void AddGlobals() {
    GlobalOptions& global = invocation_.global;
    app_.add_option("-f,--file", global.files, "spec file or folder; repeatable")
        ->type_name("FILE|DIR")
        ->allow_extra_args(false);
    app_.add_flag("-R,--recursive", global.recursive, "with -f DIR: what is below it, too");
    app_.add_option("--state", global.state, "state file")->type_name("FILE");
    app_.add_option("--project", global.project, "Google Cloud project where the spec names none")
        ->type_name("ID");
    app_.add_option("--zone", global.zone, "zone where the spec names none")->type_name("ZONE");
    app_.add_option("--endpoint", global.endpoint, "base URL of the Cloud TPU API")
        ->type_name("URL");
    app_.add_option_function<std::vector<std::string>>(
            "--var",
            [&global](const std::vector<std::string>& texts) {
              for (const std::string& text : texts) {
                const auto equals = text.find('=');
                if (equals == std::string::npos || equals == 0) {
                  throw CLI::ValidationError("--var", fmt::format("`{}` is not NAME=VALUE", text));
                }
                global.vars[text.substr(0, equals)] = text.substr(equals + 1);
              }
            },
            "value of a variable of the spec; repeatable")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    app_.add_option("--var-file", global.var_files, "YAML file of variables; repeatable")
        ->type_name("FILE")
        ->allow_extra_args(false);
    AddNumber(&app_, "--parallelism", 256, &global.parallelism, "API calls at once (default 10)")
        ->type_name("N");
    AddNumber(&app_, "--state-history", 1000, &global.state_history,
              "generations of the state that are kept (default 5)")
        ->type_name("N");
    AddDuration(&app_, "--lock-timeout", &global.lock_timeout,
                "how long to wait for the state's lock (default: not at all)");
    app_.add_flag("--json", global.json, "machine-readable output");
    app_.add_flag("--no-color", global.no_color, "no colours (also: NO_COLOR)");
    AddSwitch(&app_, "--input", &global.input, "ask where needed; --input=false never asks");
  }

  void AddPlanning() {
    AddCommand(&app_, "validate", "check the spec, offline");
    CLI::App* plan = AddCommand(&app_, "plan", "show what apply would do");
    CLI::App* apply = AddCommand(&app_, "apply", "make the cloud match the spec");
    apply->add_flag("--auto-approve", invocation_.apply.auto_approve, "do not ask");
    apply->add_flag_callback(
        "--no-wait", [this] { invocation_.apply.wait = false; },
        "leave what is queued in the queue; the next apply goes on");
    for (CLI::App* command : {plan, apply}) AddPlanFlags(command);
    plan->add_option("--out", invocation_.apply.out, "save the plan, for `podctl apply FILE`")
        ->type_name("FILE");
    apply->add_option("FILE", invocation_.apply.plan_file,
                      "a saved plan, which is carried out as it stands, without a question");
    CLI::App* destroy = AddCommand(&app_, "destroy", "delete everything podctl made");
    destroy->add_flag("--auto-approve", invocation_.apply.auto_approve, "do not ask");
    AddScope(destroy);
    AddWatchCommand(&app_, &invocation_.watch);
    CLI::App* show = AddCommand(&app_, "show", "show the state, or a saved plan");
    show->add_option("FILE", invocation_.apply.plan_file, "a saved plan");
    for (CLI::App* command : {plan, show}) {
      command->add_flag("--markdown", invocation_.apply.markdown,
                        "the plan as a comment for a pull request");
    }
    AddCommand(&app_, "status", "show the pods, their health and their workers");
  }

  void AddPlanFlags(CLI::App* command) {
    ApplyOptions& apply = invocation_.apply;
    command->add_flag("--destroy", apply.destroy, "plan the empty spec");
    command->add_flag("--refresh-only", apply.refresh_only,
                      "take what the cloud says into the state; change nothing else");
    AddScope(command);
    command
        ->add_option("--replace", apply.replace,
                     "make this pod anew, or run this step or training job again; repeatable")
        ->type_name("ADDRESS")
        ->allow_extra_args(false);
    command->add_flag("--detailed-exitcode", apply.detailed_exitcode,
                      "exit 2 when there are changes");
  }

  // What plan, apply and destroy look at.
  void AddScope(CLI::App* command) {
    command
        ->add_option("--target", invocation_.apply.targets,
                     "only this pod or step, and what it depends on; repeatable")
        ->type_name("ADDRESS")
        ->allow_extra_args(false);
    AddSwitch(command, "--refresh", &invocation_.apply.refresh,
              "ask the cloud first; --refresh=false trusts the state");
  }

  // Options that do not go together: what is wrong, or "".
  std::string Conflict() const {
    const ApplyOptions& apply = invocation_.apply;
    if (invocation_.command == "exec") {
      return ExecConflict(invocation_.pod, invocation_.exec, invocation_.global.json);
    }
    if (invocation_.command == "init") return InitConflict(invocation_.init);
    if (invocation_.command == "watch") return WatchConflict(invocation_.watch);
    if (invocation_.command == "run") return RunConflict(invocation_.run);
    if (apply.markdown && invocation_.global.json) {
      return "`--markdown` and `--json` cannot be used together";
    }
    if (apply.markdown && invocation_.command == "show" && apply.plan_file.empty()) {
      return "`--markdown` shows a saved plan: podctl show --markdown FILE";
    }
    if (apply.refresh_only && apply.destroy) {
      return "`--refresh-only` and `--destroy` cannot be used together: one changes nothing, the "
             "other deletes everything";
    }
    if (apply.refresh_only && !apply.refresh) {
      return "`--refresh-only` and `--refresh=false` cannot be used together: nothing would be "
             "left "
             "to do";
    }
    if (!apply.replace.empty() && (apply.refresh_only || apply.destroy)) {
      return fmt::format(
          "`--replace` and `{}` cannot be used together: replacing is a part of a "
          "normal plan only",
          apply.destroy ? "--destroy" : "--refresh-only");
    }
    return {};
  }

  void AddState() {
    CLI::App* state = AddCommand(&app_, "state", "look after the state");
    state->require_subcommand(0, 1);
    StateOptions& options = invocation_.state;
    CLI::App* list = AddCommand(state, "list", "list the addresses in the state");
    list->add_option("ADDRESS", options.addresses, "only these, and the steps of these pods");
    CLI::App* show = AddCommand(state, "show", "show one address");
    show->add_option("ADDRESS", options.addresses, "e.g. pod.research")->required()->expected(1);
    CLI::App* move = AddCommand(state, "mv", "give what is remembered another address");
    move->add_option("FROM", options.from, "e.g. pod.a")->required();
    move->add_option("TO", options.to, "e.g. pod.b")->required();
    move->add_flag("--dry-run", options.dry_run, "only show what would move");
    CLI::App* remove =
        AddCommand(state, "rm", "forget addresses; the pods themselves are left alone");
    remove->add_option("ADDRESS", options.addresses, "e.g. pod.research")->required();
    remove->add_flag("--dry-run", options.dry_run, "only show what would be forgotten");
    remove->add_flag("--force-forget", options.force, "also what a run left under way");
    AddCommand(state, "pull", "print the whole state");
    CLI::App* push = AddCommand(state, "push", "replace the state by a file's");
    push->add_option("FILE", options.file, "a file as `state pull` prints it, or - for stdin")
        ->required();
    push->add_flag("--force", options.force, "also over a newer, unrelated or damaged state");
    AddCommand(state, "history", "list the generations of the state that are kept");
    CLI::App* restore = AddCommand(state, "restore", "make a kept generation the newest one");
    AddSerial(restore, &options.serial);
    CLI::App* import =
        AddCommand(&app_, "import", "take over a pod that exists, and print its spec");
    import->add_option("ADDRESS", invocation_.import.address, "e.g. pod.research")->required();
    import->add_option("ID", invocation_.import.id, "NODE, ZONE/NODE or the node's full name")
        ->required();
    import
        ->add_option("--write-spec", invocation_.import.write_spec,
                     "write the pod to this file: a new one, or below its pods")
        ->type_name("FILE");
    CLI::App* unlock = AddCommand(&app_, "unlock", "release a lock that was left behind");
    unlock->add_option("ID", invocation_.topic, "the lock's ID, as the error shows it")->required();
  }

  void AddAccess() {
    CLI::App* auth = AddCommand(&app_, "auth", "look after the credentials for Google's APIs");
    auth->require_subcommand(0, 1);
    AddCommand(auth, "status", "show which credentials are used, as whom, and until when");
    AddCommand(&app_, "authorize",
               "make the TPU service agent exist, and show what it must be allowed");
  }

  void AddRest() {
    EmulatorOptions& emulator = invocation_.emulator;
    CLI::App* serve = AddCommand(&app_, "emulator", "serve the Cloud TPU API on loopback");
    serve->add_option("--listen", emulator.listen, "address and port (default 127.0.0.1:8470)")
        ->type_name("ADDRESS:PORT");
    serve->add_option("--data", emulator.data, "folder that survives a restart (default: none)")
        ->type_name("DIR");
    AddChoice(serve, "--workers", {"sshd", "light", "none"}, &emulator.workers,
              "sshd (default; light without namespaces); light: one process, for thousands; none")
        ->type_name("KIND");
    AddChoice(serve, "--worker-network", {"private", "host"}, &emulator.worker_network,
              "private: ports of their own, no way out (default where possible), or host")
        ->type_name("KIND");
    AddDuration(serve, "--operation-delay", &emulator.operation_delay,
                "how long operations take (default 2s)");
    AddNumber(serve, "--ssh-port", 65535, &emulator.ssh_port,
              "SSH port of the workers (default 22, or 2222 without the right to it)")
        ->type_name("PORT");
    serve->add_option("--capacity", emulator.capacity, "how many nodes of a type fit; repeatable")
        ->type_name("[ZONE/]TYPE=N")
        ->allow_extra_args(false);
    serve
        ->add_option("--quota", emulator.quotas,
                     "most that a project may hold, v3=64, v3-spot=0; creates-per-minute=90")
        ->type_name("[REGION/]GEN=N")
        ->allow_extra_args(false);
    serve->add_option("--reservation", emulator.reservations, "nodes set aside; repeatable")
        ->type_name("ZONE/NAME/TYPE=N")
        ->allow_extra_args(false);
    serve->add_option("--faults", emulator.faults, "trouble on order, from a JSON file")
        ->type_name("FILE");

    AddCommand(&app_, "types", "list TPU types, with chips, hosts and topology (of a --zone)");
    AddCommand(&app_, "versions", "list the runtime versions of a --zone");

    CLI::App* completion = AddCommand(&app_, "completion", "print a shell's completion script");
    AddChoice(completion, "SHELL", {"bash"}, &invocation_.topic, "bash")->required();
    AddCommand(&app_, "version", "show the version");
    CLI::App* help = AddCommand(&app_, "help", "show help for a command");
    help->add_option("COMMAND", topic_words_, "the command");
    help->final_callback([this] { invocation_.topic = Join(topic_words_, " "); });
  }

  UsageError Explain(const CLI::ParseError& error) {
    const std::string command = FullName(Deepest());
    const std::string hint =
        command.empty() ? "See `podctl help`." : fmt::format("See `podctl help {}`.", command);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return Extra(hint);
    const bool follows = Deepest()->get_option_no_throw("--follow") != nullptr;
    const std::string other_f =
        "`-f` names a spec everywhere. To go on with what comes: `--follow`.";
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
      const bool took_f = follows && !invocation_.global.files.empty();
      return {fmt::format("`podctl {}` needs more: {}", command, UsageOf(Deepest())),
              took_f ? other_f : hint};
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
      const std::string text = error.what();
      const std::string flag = text.substr(0, text.find(':'));
      return {fmt::format("`{}` needs a value", flag),
              follows && flag == "--file" ? other_f : hint};
    }
    return {error.what(), hint};
  }

  UsageError Extra(const std::string& hint) {
    const std::vector<std::string> extras = app_.remaining(true);
    const std::string word = extras.empty() ? "" : extras.front();
    CLI::App* at = Deepest();
    std::vector<std::string> known = Flags(at);
    for (const std::string& flag : Flags(&app_)) known.push_back(flag);
    const bool flag = word.starts_with("-");
    if (!flag) {
      known.clear();
      for (const CLI::App* command : at->get_subcommands(kAll))
        known.push_back(command->get_name());
    }
    const std::string near = NearestWord(word.substr(0, word.find('=')), known);
    const std::string what = flag ? "flag" : (known.empty() ? "argument" : "command");
    return {fmt::format("unknown {} `{}`", what, word),
            near.empty() ? hint : fmt::format("Did you mean `{}`?", near)};
  }

  // `flags` stands where flags may: before the dashes that begin somebody else's command.
  std::string UsageOf(const CLI::App* app, const std::string& flags = "") const {
    std::string usage = "podctl " + FullName(app);
    std::string rest;
    if (!app->get_subcommands(kAll).empty()) usage += " COMMAND";
    for (const CLI::Option* option : app->get_options(nullptr)) {
      if (!option->get_positional()) continue;
      const bool many = option->get_items_expected_max() > 1;
      const std::string& name = option->get_name(true);
      const std::string dashes = name == "COMMAND" && FullName(app) != "help" ? "-- " : "";
      (dashes.empty() ? usage : rest) +=
          option->get_required() ? fmt::format(" {}{}{}", dashes, name, many ? "…" : "")
                                 : fmt::format(" [{}{}{}]", dashes, name, many ? "…" : "");
    }
    return usage + flags + rest;
  }

  static void AppendOptions(const CLI::App* app, std::string* text) {
    for (const CLI::Option* option : app->get_options(nullptr)) {
      if (option->get_positional()) continue;
      std::string names;
      for (const std::string& name : option->get_snames()) names += fmt::format("-{}, ", name);
      for (const std::string& name : option->get_lnames()) names += fmt::format("--{} ", name);
      const bool takes_value = option->get_items_expected_max() > 0;
      if (takes_value) names += option->get_type_name();
      *text += fmt::format("  {:<30} {}\n", names, option->get_description());
    }
  }

  std::string Help(CLI::App* app) const {
    if (app == &app_) return TopHelp();
    std::string text = fmt::format("{}\n\nUsage: {}\n", Sentence(app->get_description()),
                                   UsageOf(app, " [flags]"));
    if (!app->get_subcommands(kAll).empty()) {
      text += "\nCommands:\n";
      for (const CLI::App* command : app->get_subcommands(kAll)) {
        text += fmt::format("  {:<12} {}\n", command->get_name(), command->get_description());
      }
    }
    text += "\nFlags:\n";
    AppendOptions(app, &text);
    return text + "\nFlags of every command: see `podctl help`.\n";
  }

  std::string TopHelp() const {
    std::string text =
        "podctl: declarative Cloud TPU pods.\n\nUsage: podctl COMMAND [flags]\n\nCommands:\n";
    for (const CLI::App* command : app_.get_subcommands(kAll)) {
      text += fmt::format("  {:<12} {}\n", command->get_name(), command->get_description());
    }
    text += "\nFlags of every command:\n";
    AppendOptions(&app_, &text);
    text +=
        "\nExit codes: 0 done or no changes; 1 error; 2 changes (plan --detailed-exitcode); 130 "
        "interrupted.\n";
    return text;
  }

  static std::string Sentence(std::string text) {
    if (!text.empty())
      text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text + ".";
  }

  CLI::App app_;
  Invocation invocation_;
  std::vector<std::string> topic_words_;
};

}  // namespace

std::variant<Invocation, UsageError, HelpWanted> ParseArguments(
    const std::vector<std::string>& arguments) {
  auto parsed = Parser().Parse(arguments);
  if (auto* invocation = std::get_if<Invocation>(&parsed)) {
    invocation->global.command_line = CommandLineForOthers(arguments);
  }
  return parsed;
}

std::string HelpFor(const std::string& command) {
  return Parser().HelpOf(command);
}
std::vector<CommandWords> AllCommands() {
  return Parser().Commands();
}
std::vector<std::string> FlagsWithValue() {
  Parser parser;
  std::set<std::string> flags;
  Parser::CollectValued(&parser.app(), &flags);
  return {flags.begin(), flags.end()};
}
std::vector<std::string> GlobalFlags() {
  Parser parser;
  return parser.Flags(&parser.app());
}

}  // namespace podctl
