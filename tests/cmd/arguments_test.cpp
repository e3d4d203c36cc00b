// The command line: what is understood, what is refused and with which words, and the help.
#include "cmd/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/golden.h"

namespace podctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using Words = std::vector<std::string>;

Invocation Parse(const Words& words) {
  auto parsed = ParseArguments(words);
  if (const auto* error = std::get_if<UsageError>(&parsed)) ADD_FAILURE() << error->message;
  const auto* invocation = std::get_if<Invocation>(&parsed);
  return invocation == nullptr ? Invocation{} : *invocation;
}

// "message | hint".
std::string Refusal(const Words& words) {
  auto parsed = ParseArguments(words);
  const auto* error = std::get_if<UsageError>(&parsed);
  return error == nullptr ? "" : error->message + " | " + error->hint;
}

std::string Help(const Words& words) {
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
  for (const Words& words :
       {Words{"-f", "a.yaml", "-f", "b", "--json", "--project=p", "--zone", "z", "plan"},
        Words{"plan", "-f", "a.yaml", "-f", "b", "--json", "--project=p", "--zone", "z"}}) {
    const Invocation call = Parse(words);
    EXPECT_EQ(call.command, "plan");
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
  EXPECT_TRUE(call.apply.auto_approve);
}

TEST(Arguments, AskingCanBeSwitchedOff) {
  EXPECT_TRUE(Parse({"apply"}).global.input);
  EXPECT_FALSE(Parse({"apply", "--input=false"}).global.input);
  EXPECT_TRUE(Parse({"apply", "--input=true"}).global.input);
}

TEST(Arguments, PlanHasItsFlags) {
  const Invocation call = Parse({"plan", "--detailed-exitcode", "--destroy"});
  EXPECT_TRUE(call.apply.detailed_exitcode);
  EXPECT_TRUE(call.apply.destroy);
}

TEST(Arguments, WhatStandsAfterDashesIsTheCommands) {
  Invocation call = Parse({"exec", "research", "--worker", "0,2-3", "--", "ls", "-l", "--json"});
  EXPECT_EQ(call.command, "exec");
  EXPECT_EQ(call.pod.pod, "research");
  EXPECT_EQ(call.pod.workers, "0,2-3");
  EXPECT_THAT(call.pod.command, ElementsAre("ls", "-l", "--json"));
  EXPECT_FALSE(call.global.json);
  call = Parse({"exec", "research", "--", "[", "-e", "x", "]", "--", "y"});
  EXPECT_THAT(call.pod.command, ElementsAre("[", "-e", "x", "]", "--", "y"));
  call = Parse({"exec", "research", "hostname"});
  EXPECT_THAT(call.pod.command, ElementsAre("hostname"));
  call = Parse({"ssh", "research", "-t", "--worker", "3", "--", "top"});
  EXPECT_TRUE(call.pod.tty);
  EXPECT_EQ(call.pod.workers, "3");
  EXPECT_THAT(call.pod.command, ElementsAre("top"));
}

// `--worker "$FAILED"` where nothing has failed.
TEST(Arguments, AnEmptySelectionOfWorkersIsNotAllOfThem) {
  for (const Words& words :
       {Words{"exec", "research", "--worker", "", "--", "ls"},
        Words{"drain", "research", "--worker", " "},
        Words{"kill", "research", "train", "--worker", ""},
        Words{"cp", "a", "research:b", "--worker", ""}, Words{"ssh", "research", "--worker", ""}}) {
    EXPECT_EQ(Refusal(words).rfind("--worker: is empty, which names no worker", 0), 0U)
        << words[0] << ": " << Refusal(words);
  }
}

TEST(Arguments, ExecTakesWhatTheFanOutNeeds) {
  Invocation call = Parse({"exec",
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
  EXPECT_EQ(call.pod.workers, "0-255/8,!16");
  EXPECT_TRUE(call.exec.gather);
  EXPECT_TRUE(call.exec.diff);
  ASSERT_TRUE(call.exec.batch.has_value());
  EXPECT_EQ(call.exec.batch->Of(256), 64);
  EXPECT_EQ(call.exec.batch->Of(3), 0);
  EXPECT_EQ(call.exec.output_dir, "out");
  EXPECT_TRUE(call.exec.overwrite);
  EXPECT_EQ(call.exec.max_failures->Of(256), 3);
  EXPECT_EQ(call.exec.timeout, std::chrono::minutes(10));
  EXPECT_THAT(call.exec.env, ElementsAre("A=1", "B"));
  EXPECT_TRUE(call.exec.no_stdin);
  call = Parse({"exec", "research", "--retry-failed", "last", "--fail-fast"});
  EXPECT_EQ(call.exec.retry_failed, "last");
  EXPECT_TRUE(call.exec.fail_fast);
  EXPECT_THAT(call.pod.command, ElementsAre()) << "that of the last run";
  EXPECT_TRUE(Parse({"exec", "research", "--tty", "--", "top"}).pod.tty);
  EXPECT_EQ(Parse({"exec", "research", "--max-failures", "0", "--", "x"}).exec.max_failures->Of(9),
            0);
}

TEST(Arguments, TunnelTakesPorts) {
  const Invocation call = Parse({"tunnel", "research", "8888", "9000:6006", "--worker", "1"});
  EXPECT_THAT(call.pod.ports, ElementsAre("8888", "9000:6006"));
  EXPECT_EQ(call.pod.workers, "1");
  EXPECT_EQ(call.pod.open, "");
}

TEST(Arguments, TunnelOpensInABrowserUnlessToldOtherwise) {
  EXPECT_EQ(Parse({"tunnel", "research", "--open"}).pod.open, "browser");
  EXPECT_EQ(Parse({"tunnel", "research", "--open=url"}).pod.open, "url");
  // What stands behind the flag is a port, or a name.
  const Invocation call = Parse({"tunnel", "research", "--open", "jupyter"});
  EXPECT_EQ(call.pod.open, "browser");
  EXPECT_THAT(call.pod.ports, ElementsAre("jupyter"));
  EXPECT_TRUE(Parse({"tunnel", "research"}).pod.ports.empty());
}

TEST(Arguments, NestedCommands) {
  EXPECT_EQ(Parse({"state", "list"}).command, "state list");
  const Invocation call = Parse({"state", "rm", "pod.research"});
  EXPECT_EQ(call.command, "state rm");
  EXPECT_EQ(call.state.addresses, std::vector<std::string>{"pod.research"});
  const Invocation move = Parse({"state", "mv", "--dry-run", "pod.a", "pod.b"});
  EXPECT_EQ(move.command, "state mv");
  EXPECT_EQ(move.state.from + " " + move.state.to, "pod.a pod.b");
  EXPECT_TRUE(move.state.dry_run);
  EXPECT_THAT(Parse({"state", "rm", "pod.a", "pod.b"}).state.addresses,
              ElementsAre("pod.a", "pod.b"));
  EXPECT_EQ(Parse({"state", "push", "-", "--force"}).state.file, "-");
  EXPECT_TRUE(Parse({"state", "push", "-", "--force"}).state.force);
  EXPECT_EQ(Parse({"state", "restore", "41"}).state.serial, 41U);
  const Invocation import = Parse({"import", "pod.a", "z/n", "--write-spec", "a.yaml"});
  EXPECT_EQ(import.import.address + " " + import.import.id, "pod.a z/n");
  EXPECT_EQ(import.import.write_spec, "a.yaml");
  EXPECT_EQ(Parse({"--version"}).command, "version");
  EXPECT_EQ(Parse({"help", "state", "list"}).topic, "state list");
}

TEST(Arguments, TheEmulatorsFlags) {
  const Invocation call = Parse({"emulator", "--listen", "127.0.0.1:0", "--data", "d", "--workers",
                                 "none", "--operation-delay", "0.5s", "--ssh-port", "2222"});
  EXPECT_EQ(call.emulator.listen, "127.0.0.1:0");
  EXPECT_EQ(call.emulator.data, "d");
  EXPECT_EQ(call.emulator.workers, "none");
  EXPECT_EQ(call.emulator.operation_delay, std::chrono::milliseconds(500));
  EXPECT_EQ(call.emulator.ssh_port, 2222);
}

TEST(Arguments, RefusalsSayWhatWasMeant) {
  const std::vector<Words> lines = {
      {"aply"},
      {"frobnicate"},
      {"plan", "--detailed-exitcod"},
      {"plan", "--auto-approve"},
      {"plan", "--jsn"},
      {"plan", "surplus"},
      {"state"},
      {"state", "lst"},
      {"state", "show"},
      {"state", "mv", "pod.a"},
      {"state", "push"},
      {"state", "restore", "last"},
      {"state", "restore", "0"},
      {"import", "pod.a"},
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
      {"tunnel"},
      {"tunnel", "research", "--open=window"},
      {"unlock"},
      {"apply", "--input=perhaps"},
      {"apply", "--parallelism", "0"},
      {"apply", "--parallelism", "many"},
      {"apply", "--lock-timeout", "soon"},
      {"apply", "--var", "novalue"},
      {"apply", "--zone"},
      {"emulator", "--workers", "plenty"},
      {"completion", "fish"},
      {"plan", "--refresh=perhaps"},
      {"plan", "--refresh-only", "--destroy"},
      {"plan", "--refresh-only", "--refresh=false"},
      {"apply", "--destroy", "--replace", "pod.a"},
      {"apply", "--refresh-only", "--replace", "pod.a"},
      {"destroy", "--replace", "pod.a"},
  };
  std::string text;
  for (const Words& words : lines) {
    text += "podctl";
    for (const std::string& word : words) text += " " + word;
    text += "\n  " + Refusal(words) + "\n";
    EXPECT_NE(Refusal(words), "") << words.front();
  }
  testing::ExpectGolden("cmd/arguments/refusals.txt", text);
}

TEST(Arguments, PlanOptionsAreThoseOfApplyToo) {
  for (const char* command : {"plan", "apply"}) {
    const ApplyOptions options =
        Parse({command, "--target", "pod.a", "--target=bootstrap.b.x", "--replace", "pod.c",
               "--refresh=false", "--detailed-exitcode"})
            .apply;
    EXPECT_THAT(options.targets, ElementsAre("pod.a", "bootstrap.b.x"));
    EXPECT_THAT(options.replace, ElementsAre("pod.c"));
    EXPECT_FALSE(options.refresh);
    EXPECT_TRUE(options.detailed_exitcode);
    EXPECT_TRUE(Parse({command, "--refresh-only"}).apply.refresh_only);
    EXPECT_TRUE(Parse({command, "--destroy"}).apply.destroy);
  }
  EXPECT_THAT(Parse({"destroy", "--target", "pod.a"}).apply.targets, ElementsAre("pod.a"));
}

TEST(Arguments, HelpTexts) {
  testing::ExpectGolden("cmd/arguments/help.txt", Help({}));
  EXPECT_EQ(Help({"--help"}), Help({}));
  std::string text;
  for (const CommandWords& command : AllCommands()) {
    text += "--- podctl help " + command.name + "\n" + HelpFor(command.name) + "\n";
  }
  testing::ExpectGolden("cmd/arguments/help_commands.txt", text);
  EXPECT_EQ(Help({"plan", "-h"}), HelpFor("plan"));
  EXPECT_EQ(HelpFor("frobnicate"), "");
}

TEST(Arguments, WordsForCompletion) {
  std::vector<std::string> names;
  for (const CommandWords& command : AllCommands()) names.push_back(command.name);
  EXPECT_THAT(names, Contains("state show"));
  EXPECT_THAT(names, Contains("apply"));
  EXPECT_THAT(GlobalFlags(), Contains("--parallelism"));
}

}  // namespace
}  // namespace podctl
