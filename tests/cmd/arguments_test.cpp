// The command line: what is understood, what is refused and with which words, and the help.
#include "cmd/arguments.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <any>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/command.h"
#include "cmd/command_table.h"
#include "cmd/commands/apply.h"
#include "cmd/commands/emulator.h"
#include "cmd/commands/run/run.h"
#include "cmd/commands/state_edit.h"
#include "cmd/examples.h"
#include "plans/fleet/exec/request.h"
#include "plans/fleet/tunnel/tunnels.h"
#include "plans/from_command/shell_words.h"
#include "plans/session/import.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using FlagWords = Flag::Words;

Invocation Parse(const FlagWords& words) {
  auto parsed = ParseArguments(words);
  if (const auto* error = std::get_if<UsageError>(&parsed)) ADD_FAILURE() << error->message;
  const auto* invocation = std::get_if<Invocation>(&parsed);
  return invocation == nullptr ? Invocation{} : *invocation;
}

std::string NameOf(const Invocation& call) {
  return call.command == nullptr ? "" : std::string(call.command->name());
}

// The command's own options.
template <typename Options>
Options Parse(const FlagWords& words) {
  const Invocation call = Parse(words);
  const auto* options = std::any_cast<Options>(&call.options);
  EXPECT_NE(options, nullptr) << NameOf(call);
  return options == nullptr ? Options{} : *options;
}

// What a command that needs no world writes, with its exit code before it where that is not 0.
std::string Output(const FlagWords& words) {
  const Invocation call = Parse(words);
  std::ostringstream out;
  Streams streams{out, out};
  Context context(call.global, streams);
  const int code = call.command->Run(context, call.options);
  return (code == 0 ? "" : std::to_string(code) + ": ") + out.str();
}

// "message | hint".
std::string Refusal(const FlagWords& words) {
  auto parsed = ParseArguments(words);
  const auto* error = std::get_if<UsageError>(&parsed);
  return error == nullptr ? "" : error->message + " | " + error->hint;
}

std::string Help(const FlagWords& words) {
  auto parsed = ParseArguments(words);
  const auto* help = std::get_if<HelpWanted>(&parsed);
  return help == nullptr ? "" : help->text;
}

// For tail, docker and kubectl, -f is to follow.
TEST(Arguments, WhoMeansToFollowIsToldHow) {
  EXPECT_THAT(Refusal({"logs", "research", "loop", "-f"}), HasSubstr("`--follow`"));
  EXPECT_THAT(Refusal({"logs", "-f", "research", "loop"}), HasSubstr("`--follow`"));
  EXPECT_THAT(Refusal({"logs", "research"}), Not(HasSubstr("--follow")));
  EXPECT_THAT(Refusal({"status", "-f"}), Not(HasSubstr("--follow")));
}

TEST(Arguments, TheCommandLineIsKeptAsOthersMayReadIt) {
  EXPECT_EQ(Parse({"apply", "--auto-approve", "-f", "my spec.yaml"}).global.command_line,
            "podctl apply --auto-approve -f 'my spec.yaml'");
  EXPECT_EQ(Parse({"--var", "token=s3cret", "plan", "--var=key=s3cret"}).global.command_line,
            "podctl --var token=… plan --var=key=…");
  EXPECT_EQ(Parse({"apply", "--endpoint", "https://me:s3cret@host/"}).global.command_line,
            "podctl apply --endpoint 'https://…@host/'");
  EXPECT_EQ(Parse({"apply", "--endpoint", "https://me:s3cret@host/?key=AIza"}).global.command_line,
            "podctl apply --endpoint 'https://…@host/?…'");
  EXPECT_EQ(Parse({"exec", "research", "--", "login", "s3cret"}).global.command_line,
            "podctl exec research -- …");
  EXPECT_EQ(Parse({"exec", "a", "--env", "TOKEN=s3cret", "--env=B=s3cret", "--env", "C", "--", "x"})
                .global.command_line,
            "podctl exec a --env TOKEN=… --env=B=… --env C -- …");
  EXPECT_LT(Parse({"apply", "-f", std::string(100'000, 'x')}).global.command_line.size(), 1100U);
}

TEST(Arguments, GlobalFlagsStandBeforeOrAfterTheCommand) {
  for (const FlagWords& words :
       {FlagWords{"-f", "a.yaml", "-f", "b", "--json", "--project=p", "--zone", "z", "plan"},
        FlagWords{"plan", "-f", "a.yaml", "-f", "b", "--json", "--project=p", "--zone", "z"}}) {
    const Invocation call = Parse(words);
    EXPECT_EQ(NameOf(call), "plan");
    EXPECT_THAT(call.global.files, ElementsAre("a.yaml", "b"));
    EXPECT_TRUE(call.global.json);
    EXPECT_EQ(call.global.project, "p");
    EXPECT_EQ(call.global.zone, "z");
  }
}

TEST(Arguments, TheRestOfTheGlobalFlags) {
  const Invocation call =
      Parse({"apply", "--var", "a=1", "--var=b=x=y", "--var-file", "v.yaml", "--parallelism", "4",
             "--lock-timeout", "1m30s", "--no-color", "--endpoint", "http://127.0.0.1:8470",
             "--state", "s.json", "--auto-approve"});
  EXPECT_THAT(call.global.vars, ElementsAre(Pair("a", "1"), Pair("b", "x=y")));
  EXPECT_THAT(call.global.var_files, ElementsAre("v.yaml"));
  EXPECT_EQ(call.global.parallelism, 4);
  EXPECT_EQ(call.global.lock_timeout, std::chrono::seconds(90));
  EXPECT_TRUE(call.global.no_color);
  EXPECT_EQ(call.global.endpoint, "http://127.0.0.1:8470");
  EXPECT_EQ(call.global.state, "s.json");
  EXPECT_TRUE(std::any_cast<const ApplyOptions&>(call.options).auto_approve);
}

TEST(Arguments, AskingCanBeSwitchedOff) {
  EXPECT_TRUE(Parse({"apply"}).global.input);
  EXPECT_FALSE(Parse({"apply", "--input=false"}).global.input);
  EXPECT_TRUE(Parse({"apply", "--input=true"}).global.input);
}

TEST(Arguments, TheLockCanBeLeftAlone) {
  EXPECT_TRUE(Parse({"apply"}).global.lock);
  EXPECT_FALSE(Parse({"apply", "--lock=false"}).global.lock);
  EXPECT_FALSE(Parse({"--lock=false", "state", "push", "x"}).global.lock);
}

TEST(Arguments, PlanHasItsFlags) {
  const auto options = Parse<ApplyOptions>({"plan", "--detailed-exitcode", "--destroy"});
  EXPECT_TRUE(options.detailed_exitcode);
  EXPECT_TRUE(options.destroy);
}

TEST(Arguments, WhatStandsAfterDashesIsTheCommands) {
  const Invocation call =
      Parse({"exec", "research", "--worker", "0,2-3", "--", "ls", "-l", "--json"});
  EXPECT_EQ(NameOf(call), "exec");
  EXPECT_FALSE(call.global.json);
  const auto& exec = std::any_cast<const ExecLine&>(call.options);
  EXPECT_EQ(exec.pod, "research");
  EXPECT_EQ(exec.workers, "0,2-3");
  EXPECT_THAT(exec.command, ElementsAre("ls", "-l", "--json"));
  EXPECT_THAT(Parse<ExecLine>({"exec", "research", "--", "[", "-e", "x", "]", "--", "y"}).command,
              ElementsAre("[", "-e", "x", "]", "--", "y"));
  EXPECT_THAT(Parse<ExecLine>({"exec", "research", "hostname"}).command, ElementsAre("hostname"));
  const auto ssh = Parse<PodOptions>({"ssh", "research", "-t", "--worker", "3", "--", "top"});
  EXPECT_TRUE(ssh.tty);
  EXPECT_EQ(ssh.workers, "3");
  EXPECT_THAT(ssh.command, ElementsAre("top"));
  const auto run = Parse<RunOptions>({"run", "train", "--no-sync", "--", "--lr", "[1,2]"});
  EXPECT_EQ(run.job, "train");
  EXPECT_FALSE(run.sync);
  EXPECT_THAT(run.arguments, ElementsAre("--lr", "[1,2]"));
  const auto seen = Parse<RunOptions>({"run", "train", "--on", "0-7", "--worker", "0,3", "--gather",
                                       "--output-dir", "out", "--overwrite"});
  EXPECT_EQ(seen.workers, "0-7");
  EXPECT_EQ(seen.watched, "0,3");
  EXPECT_TRUE(seen.gather);
  EXPECT_EQ(seen.output_dir, "out");
  EXPECT_TRUE(seen.overwrite);
}

// `--worker "$FAILED"` where nothing has failed.
TEST(Arguments, AnEmptySelectionOfWorkersIsNotAllOfThem) {
  for (const FlagWords& words : {FlagWords{"exec", "research", "--worker", "", "--", "ls"},
                                 FlagWords{"drain", "research", "--worker", " "},
                                 FlagWords{"kill", "research", "train", "--worker", ""},
                                 FlagWords{"cp", "a", "research:b", "--worker", ""},
                                 FlagWords{"ssh", "research", "--worker", ""}}) {
    EXPECT_EQ(Refusal(words).rfind("--worker: is empty, which names no worker", 0), 0U)
        << words[0] << ": " << Refusal(words);
  }
  EXPECT_THAT(Refusal({"cost", "--by", ""}), HasSubstr("--by: is empty, which names no label"));
}

TEST(Arguments, ExecTakesWhatTheFanOutNeeds) {
  auto call = Parse<ExecLine>({"exec",
                               "research",
                               "--worker",
                               "0-255/8,!16",
                               "--gather",
                               "--diff",
                               "--batch",
                               "25%",
                               "--output-dir=out",
                               "--overwrite",
                               "--max-failures",
                               "3",
                               "--timeout",
                               "10m",
                               "--env",
                               "A=1",
                               "--env=B",
                               "-n",
                               "--",
                               "ls"});
  EXPECT_EQ(call.workers, "0-255/8,!16");
  EXPECT_TRUE(call.gather);
  EXPECT_TRUE(call.diff);
  ASSERT_TRUE(call.batch.has_value());
  EXPECT_EQ(call.batch->Of(256), 64);
  EXPECT_EQ(call.batch->Of(3), 0);
  EXPECT_EQ(call.output_dir, "out");
  EXPECT_TRUE(call.overwrite);
  EXPECT_EQ(call.max_failures->Of(256), 3);
  EXPECT_EQ(call.timeout, std::chrono::minutes(10));
  EXPECT_THAT(call.env, ElementsAre("A=1", "B"));
  EXPECT_TRUE(call.no_stdin);
  call = Parse<ExecLine>({"exec", "research", "--retry-failed", "last", "--fail-fast"});
  EXPECT_EQ(call.retry_failed, "last");
  EXPECT_TRUE(call.fail_fast);
  EXPECT_THAT(call.command, ElementsAre()) << "that of the last run";
  EXPECT_TRUE(Parse<ExecLine>({"exec", "research", "--tty", "--", "top"}).tty);
  EXPECT_EQ(
      Parse<ExecLine>({"exec", "research", "--max-failures", "0", "--", "x"}).max_failures->Of(9),
      0);
}

TEST(Arguments, TunnelTakesPorts) {
  const auto call =
      Parse<TunnelOptions>({"tunnel", "research", "8888", "9000:6006", "--worker", "1"});
  EXPECT_THAT(call.ports, ElementsAre("8888", "9000:6006"));
  EXPECT_EQ(call.workers, "1");
  EXPECT_EQ(call.open, "");
}

TEST(Arguments, TunnelOpensInABrowserUnlessToldOtherwise) {
  EXPECT_EQ(Parse<TunnelOptions>({"tunnel", "research", "--open"}).open, "browser");
  EXPECT_EQ(Parse<TunnelOptions>({"tunnel", "research", "--open=url"}).open, "url");
  // What stands behind the flag is a port, or a name.
  const auto call = Parse<TunnelOptions>({"tunnel", "research", "--open", "jupyter"});
  EXPECT_EQ(call.open, "browser");
  EXPECT_THAT(call.ports, ElementsAre("jupyter"));
  EXPECT_TRUE(Parse<TunnelOptions>({"tunnel", "research"}).ports.empty());
}

TEST(Arguments, NestedCommands) {
  EXPECT_EQ(NameOf(Parse({"state", "list"})), "state list");
  const Invocation call = Parse({"state", "rm", "pod.research"});
  EXPECT_EQ(NameOf(call), "state rm");
  EXPECT_THAT(std::any_cast<const StateRmOptions&>(call.options).addresses,
              ElementsAre("pod.research"));
  const auto move = Parse<StateMvOptions>({"state", "mv", "--dry-run", "pod.a", "pod.b"});
  EXPECT_EQ(move.from + " " + move.to, "pod.a pod.b");
  EXPECT_TRUE(move.dry_run);
  EXPECT_THAT(Parse<StateRmOptions>({"state", "rm", "pod.a", "pod.b"}).addresses,
              ElementsAre("pod.a", "pod.b"));
  EXPECT_EQ(Parse<StatePushOptions>({"state", "push", "-", "--force"}).file, "-");
  EXPECT_TRUE(Parse<StatePushOptions>({"state", "push", "-", "--force"}).force);
  EXPECT_EQ(Parse<StateRestoreOptions>({"state", "restore", "41"}).serial, 41U);
  const auto import = Parse<ImportCommand>({"import", "pod.a", "z/n", "--write-spec", "a.yaml"});
  EXPECT_EQ(import.address + " " + import.id, "pod.a z/n");
  EXPECT_EQ(import.write_spec, "a.yaml");
  EXPECT_TRUE(Parse<ImportCommand>({"import", "--all", "--auto-approve"}).all);
  EXPECT_EQ(NameOf(Parse({"--version"})), "version");
}

TEST(Arguments, TheEmulatorsFlags) {
  const auto emulator =
      Parse<EmulatorOptions>({"emulator", "--listen", "127.0.0.1:0", "--data", "d", "--workers",
                              "none", "--operation-delay", "0.5s", "--ssh-port", "2222"});
  EXPECT_EQ(emulator.listen, "127.0.0.1:0");
  EXPECT_EQ(emulator.data, "d");
  EXPECT_EQ(emulator.workers, "none");
  EXPECT_EQ(emulator.operation_delay, std::chrono::milliseconds(500));
  EXPECT_EQ(emulator.ssh_port, 2222);
}

// A variable of a script that is not set is no project of an empty name.
TEST(Arguments, AnEmptyPlaceIsNone) {
  const GlobalOptions global =
      Parse({"plan", "--project", "", "--zone", "", "--endpoint", ""}).global;
  EXPECT_EQ(global.project, std::nullopt);
  EXPECT_EQ(global.zone, std::nullopt);
  EXPECT_EQ(global.endpoint, std::nullopt);
}

TEST(Arguments, RefusalsSayWhatWasMeant) {
  const std::vector<FlagWords> lines = {
      {"aply"},
      {"frobnicate"},
      {"plan", "--detailed-exitcod"},
      {"plan", "--auto-approve"},
      {"plan", "--jsn"},
      {"plan", "surplus"},
      {"validate", "pods.yaml"},
      {"apply", "-y"},
      {"destroy", "--yes"},
      {"import", "-y"},
      {"state"},
      {"state", "lst"},
      {"state", "show"},
      {"state", "mv", "pod.a"},
      {"state", "push"},
      {"state", "restore", "last"},
      {"state", "restore", "0"},
      {"import", "pod.a"},
      {"import", "--all", "pod.a", "made"},
      {"import", "pod.a", "made", "--auto-approve"},
      {"exec"},
      {"exec", "research"},
      {"exec", "research", "--batch", "0", "--", "x"},
      {"exec", "research", "--batch", "some", "--", "x"},
      {"exec", "research", "--max-failures", "101%", "--", "x"},
      {"exec", "research", "--env", "1A=x", "--", "x"},
      {"exec", "research", "--env", "s3cret value", "--", "x"},
      {"exec", "research", "--fail-fast", "--max-failures", "3", "--", "x"},
      {"exec", "research", "--overwrite", "--", "x"},
      {"exec", "research", "--gather", "--json", "--", "x"},
      {"exec", "research", "--tty", "--gather", "--", "x"},
      {"exec", "research", "--tty", "--batch", "2", "--", "x"},
      {"exec", "research", "--timestamps", "--gather", "--", "x"},
      {"exec", "research", "--timestamps", "--output-dir", "d", "--", "x"},
      {"run", "train", "--overwrite"},
      {"run", "train", "--gather", "--json"},
      {"run", "train", "--timestamps", "--diff"},
      {"run", "train", "--detach", "--worker", "0"},
      {"run", "train", "--detach", "--gather"},
      {"run", "train", "--print", "--worker", "0"},
      {"run", "train", "--local", "--on", "0"},
      {"run", "train", "--local", "--output-dir", "d"},
      {"logs", "research", "train", "--timestamps"},
      {"logs", "research", "train", "--since", "2h"},
      {"logs", "research", "train", "--attempt", "2", "--follow"},
      {"logs", "research", "train", "--kept", "--since", "yesterday"},
      {"logs", "research", "train", "--kept", "--follow"},
      {"logs", "research", "train", "--from", "gs://bucket/x", "--resume"},
      {"logs", "research", "train", "--from", "gs://bucket/x", "--kept"},
      {"logs", "research", "train", "--from", "bucket"},
      {"logs", "research", "train", "--grep", "("},
      {"tunnel"},
      {"tunnel", "research", "--open=window"},
      {"unlock"},
      {"apply", "--input=perhaps"},
      {"apply", "--parallelism", "0"},
      {"apply", "--parallelism", "many"},
      {"apply", "--lock-timeout", "soon"},
      {"apply", "--lock"},
      {"unlock", "--if-stale", "--lock=false"},
      {"apply", "--var", "novalue"},
      {"apply", "--zone"},
      {"emulator", "--workers", "plenty"},
      {"completion", "tcsh"},
      {"plan", "--refresh=perhaps"},
      {"plan", "--detailed-exitcode=1"},
      {"plan", "--json=maybe"},
      {"exec", "--wait"},
      {"plan", "--refresh-only", "--destroy"},
      {"plan", "--refresh-only", "--refresh=false"},
      {"apply", "--destroy", "--replace", "pod.a"},
      {"apply", "--refresh-only", "--replace", "pod.a"},
      {"destroy", "--replace", "pod.a"},
  };
  std::string text;
  for (const FlagWords& words : lines) {
    text += "podctl";
    for (const std::string& word : words) text += " " + word;
    text += "\n  " + Refusal(words) + "\n";
    EXPECT_NE(Refusal(words), "") << words.front();
  }
  testing::ExpectGolden("cmd/arguments/refusals.txt", text);
}

TEST(Arguments, PlanOptionsAreThoseOfApplyToo) {
  for (const char* command : {"plan", "apply"}) {
    const auto options =
        Parse<ApplyOptions>({command, "--target", "pod.a", "--target=bootstrap.b.x", "--replace",
                             "pod.c", "--refresh=false", "--detailed-exitcode"});
    EXPECT_THAT(options.targets, ElementsAre("pod.a", "bootstrap.b.x"));
    EXPECT_THAT(options.replace, ElementsAre("pod.c"));
    EXPECT_FALSE(options.refresh);
    EXPECT_TRUE(options.detailed_exitcode);
    EXPECT_TRUE(Parse<ApplyOptions>({command, "--refresh-only"}).refresh_only);
    EXPECT_TRUE(Parse<ApplyOptions>({command, "--destroy"}).destroy);
    EXPECT_TRUE(Parse<ApplyOptions>({command, "--destroy=true", "--destroy"}).destroy);
    EXPECT_FALSE(Parse<ApplyOptions>({command, "--destroy=false"}).destroy);
  }
  EXPECT_THAT(Parse<ApplyOptions>({"destroy", "--target", "pod.a"}).targets, ElementsAre("pod.a"));
}

TEST(Arguments, HelpTexts) {
  testing::ExpectGolden("cmd/arguments/help.txt", Help({}));
  EXPECT_EQ(Help({"--help"}), Help({}));
  EXPECT_EQ(Output({"help"}), Help({}));
  std::string text;
  for (const Command* command : Commands()) {
    if (command->IsHidden()) continue;
    text += fmt::format("--- podctl help {}\n{}\n", command->name(), HelpText(*command));
  }
  testing::ExpectGolden("cmd/arguments/help_commands.txt", text);
  EXPECT_EQ(Output({"help", "state", "list"}), HelpText(commands::kStateList));
  EXPECT_EQ(Output({"help", "frobnicate"}),
            "1: Error: there is no command `frobnicate`\n  See `podctl help`.\n");
}

TEST(Arguments, EachCommandAnswersToItsNameAndToHelp) {
  for (const Command* command : Commands()) {
    FlagWords words;
    if (!command->group().empty()) words.emplace_back(command->group());
    words.emplace_back(command->word());
    EXPECT_EQ(FindCommand(command->name()), command) << command->name();
    EXPECT_NE(command->summary(), "") << command->name();
    words.push_back("-h");
    EXPECT_EQ(Help(words), HelpText(*command)) << command->name();
    if (command->group().empty()) continue;
    const Command* group = FindCommand(command->group());
    ASSERT_NE(group, nullptr) << command->name();
    EXPECT_TRUE(group->IsGroup()) << command->name();
  }
}

// A table that was written for the options of another command would throw here.
TEST(Arguments, EachFlagIsOfItsCommandsOptions) {
  for (const Command* command : Commands()) {
    for (const Flag& flag : command->flags()) {
      std::any options = command->NewOptions();
      const bool takes = flag.takes != Flag::Takes::kNothing;
      EXPECT_NO_THROW(flag.set(flag, options, takes ? FlagWords{"x"} : FlagWords{}))
          << command->name() << " " << flag.name;
      EXPECT_NE(flag.help, "") << command->name() << " " << flag.name;
    }
  }
}

TEST(Arguments, SomeCommandsLookForNoState) {
  FlagWords without;
  for (const Command* command : Commands()) {
    if (!command->IsGroup() && !command->UsesState(command->NewOptions())) {
      without.emplace_back(command->name());
    }
  }
  EXPECT_THAT(without, ElementsAre("init", "validate", "schema", "auth status", "authorize",
                                   "ci comment", "emulator", "types", "versions", "completion",
                                   "version", "help", "__complete", "__pages"));
  for (const char* command : {"apply", "show"}) {
    const Invocation saved = Parse({command, "plan.bin"});
    EXPECT_FALSE(saved.command->UsesState(saved.options)) << "a saved plan knows its own";
  }
}

TEST(Arguments, EachCommandHasExamplesAndEachOfThemIsOne) {
  for (const Command* command : Commands()) {
    if (command->IsHidden()) continue;
    const auto examples = ExamplesOf(command->name());
    EXPECT_FALSE(examples.empty()) << command->name();
    for (const Example& example : examples) {
      const auto line = SplitShellLine(example.line);
      ASSERT_TRUE(line) << example.line;
      ASSERT_EQ(line->words.front(), "podctl") << example.line;
      const auto parsed = ParseArguments({line->words.begin() + 1, line->words.end()});
      const auto* invocation = std::get_if<Invocation>(&parsed);
      ASSERT_NE(invocation, nullptr) << example.line;
      const std::string_view means = invocation->command->name();
      EXPECT_TRUE(command->IsGroup() ? invocation->command->group() == command->name()
                                     : means == command->name())
          << example.line << " is an example of " << means;
      EXPECT_NE(example.what, "") << example.line;
    }
  }
}

TEST(Arguments, FlagsOfACommandByName) {
  EXPECT_THAT(FlagNames(commands::kStateRm), ElementsAre("--dry-run", "--force-forget", "--help"));
  EXPECT_THAT(GlobalFlagNames(), Contains("--parallelism"));
}

}  // namespace
}  // namespace podctl
