// What completion offers: by the table, and through the script of bash, run by bash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cmd/command.h"
#include "cmd/completing.h"
#include "providers/base/text.h"
#include "providers/os/process.h"

namespace podctl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class FakeWorld final : public CompletionWorld {
 public:
  explicit FakeWorld(const GlobalOptions& global) : state_(global.state) {}

  std::vector<std::string> Addresses() override {
    if (!state_.empty()) return {"pod." + state_};
    return {"bootstrap.research.x", "file.env", "pod.other", "pod.research"};
  }
  std::vector<std::string> PlannedAddresses() override {
    return {"pod.other", "pod.planned", "pod.research", "trainingJob.t"};
  }
  std::vector<std::string> Jobs(const std::string& pod) override {
    if (pod == "other") return {"by-hand"};
    return {"train"};
  }
  std::vector<std::string> Serials() override { return {"41", "40"}; }
  std::vector<std::string> Workers(const std::string& pod) override {
    if (pod == "research") return {"0", "1", "2", "3"};
    if (pod == "train") return {"0", "1"};  // a job, which names its pod
    return {};
  }
  std::vector<std::string> Local(const std::string& folder) override {
    if (folder == "src/") return {"a b.py", "main.py"};
    return {"-rf", ".git/", "new\nline", "research.txt", "src/"};
  }
  std::vector<std::string> Remote(const std::string& pod, const std::string& workers,
                                  const std::string& folder) override {
    return {"of-" + pod + "-" + workers + "-" + std::to_string(folder.size()),
            "$(touch x)",
            ".cache/",
            "a\x1b[31mb",
            "logs/",
            "\xFF"};
  }

 private:
  const std::string state_;
};

std::vector<std::string> Complete(const std::vector<std::string>& words) {
  const Completions completions = CompletionsFor(
      words, [](const GlobalOptions& global) { return std::make_unique<FakeWorld>(global); });
  std::vector<std::string> texts;
  for (const Completion& completion : completions.words) texts.push_back(completion.text);
  if (completions.files) texts.emplace_back("(files)");
  return texts;
}

TEST(Completion, Commands) {
  EXPECT_THAT(Complete({"ap"}), ElementsAre("apply"));
  EXPECT_THAT(Complete({""}),
              AllOf(Contains("emulator"), Not(Contains("list")), Not(Contains("__complete"))));
  EXPECT_THAT(Complete({"help", "val"}), ElementsAre("validate"));
  EXPECT_THAT(Complete({"help", "state", "sh"}), ElementsAre("show"));
  EXPECT_THAT(Complete({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(Complete({"state", ""}), Contains("show"));
  EXPECT_THAT(Complete({"frobnicate", ""}), IsEmpty());
}

TEST(Completion, FlagsAndTheirValues) {
  EXPECT_THAT(Complete({"plan", "--det"}), ElementsAre("--detailed-exitcode"));
  EXPECT_THAT(Complete({"apply", "--auto"}), ElementsAre("--auto-approve"));
  EXPECT_THAT(Complete({"plan", "--auto"}), IsEmpty());
  EXPECT_THAT(Complete({"--par"}), ElementsAre("--parallelism"));
  EXPECT_THAT(Complete({"state", "list", "--js"}), ElementsAre("--json"));
  EXPECT_THAT(Complete({"init", "--template", "col"}), ElementsAre("colab"));
  EXPECT_THAT(Complete({"init", "--template=col"}), ElementsAre("--template=colab"));
  EXPECT_THAT(Complete({"plan", "--refresh="}), ElementsAre("--refresh=true", "--refresh=false"));
  EXPECT_THAT(Complete({"types", "--zone", "us-central2"}), ElementsAre("us-central2-b"));
  EXPECT_THAT(Complete({"plan", "--out", ""}), ElementsAre("(files)"));
  EXPECT_THAT(Complete({"-f", "sp"}), ElementsAre("(files)"));
  EXPECT_THAT(Complete({"-f", "spec.yaml", "ap"}), ElementsAre("apply")) << "a value is no command";
  EXPECT_THAT(Complete({"--zone", "z", "plan", "--det"}), ElementsAre("--detailed-exitcode"));
}

TEST(Completion, NamesOfTheStateAndOfTheSpec) {
  EXPECT_THAT(Complete({"exec", "re"}), ElementsAre("research"));
  EXPECT_THAT(Complete({"exec", "--gather", ""}), ElementsAre("other", "research"));
  EXPECT_THAT(Complete({"run", ""}), ElementsAre("train"));
  EXPECT_THAT(Complete({"logs", "research", ""}), ElementsAre("train"));
  EXPECT_THAT(Complete({"kill", "research", "t"}), ElementsAre("train"));
  EXPECT_THAT(Complete({"logs", "pod.other", ""}), ElementsAre("by-hand"));
  EXPECT_THAT(Complete({"logs", "--follow", "other/0", ""}), ElementsAre("by-hand"));
  EXPECT_THAT(Complete({"state", "show", "f"}), ElementsAre("file.env"));
  EXPECT_THAT(Complete({"state", "mv", "pod.b", "pod.r"}), ElementsAre("pod.research"));
  EXPECT_THAT(Complete({"state", "rm", "pod.b", "boot"}), ElementsAre("bootstrap.research.x"));
  EXPECT_THAT(Complete({"state", "restore", ""}), ElementsAre("41", "40"));
  EXPECT_THAT(Complete({"plan", "--target", "pod.p"}), ElementsAre("pod.planned"));
  EXPECT_THAT(Complete({"apply", "--replace=tr"}), ElementsAre("--replace=trainingJob.t"));
  EXPECT_THAT(Complete({"--state", "elsewhere", "exec", ""}), ElementsAre("elsewhere"))
      << "the flags before say which state";
}

TEST(Completion, WorkersAsFarAsThePodHasSome) {
  EXPECT_THAT(Complete({"exec", "research", "--worker", ""}),
              ElementsAre("all", "0", "1", "2", "3"));
  EXPECT_THAT(Complete({"exec", "pod.research", "--worker=0,"}),
              ElementsAre("--worker=0,0", "--worker=0,1", "--worker=0,2", "--worker=0,3"));
  EXPECT_THAT(Complete({"ssh", "research", "--worker", "!2"}), ElementsAre("!2"));
  EXPECT_THAT(Complete({"ssh", "research", "--worker", ""}), ElementsAre("0", "1", "2", "3"))
      << "a shell is opened on one";
  EXPECT_THAT(Complete({"cp", "a", "research:b", "--worker", "3"}), ElementsAre("3"));
  EXPECT_THAT(Complete({"run", "train", "--on", ""}), ElementsAre("all", "0", "1"));
  EXPECT_THAT(Complete({"exec", "unknown", "--worker", ""}), IsEmpty());
}

TEST(Completion, PathsHereAndOnWorkers) {
  EXPECT_THAT(Complete({"cp", "re"}), ElementsAre("research:", "research.txt"));
  EXPECT_THAT(Complete({"cp", "src/m"}), ElementsAre("src/main.py"));
  EXPECT_THAT(Complete({"cp", "."}), ElementsAre(".git/"));
  EXPECT_THAT(Complete({"cp", "a", ""}),
              ElementsAre("other:", "research:", "./-rf", "research.txt", "src/"))
      << "no other program takes it for flags; and a name with a newline is none";
  EXPECT_THAT(Complete({"cp", "~/"}), ElementsAre("(files)"));
  EXPECT_THAT(Complete({"cp", "research:~/l"}), ElementsAre("research:~/logs/"));
  EXPECT_THAT(
      Complete({"cp", "src", "research/3:"}),
      ElementsAre("research/3:of-research-3-0", "research/3:$(touch x)", "research/3:logs/"))
      << "what would drive the terminal, and what is no text, is left out";
  EXPECT_THAT(Complete({"cp", "research:~/x/."}), ElementsAre("research:~/x/.cache/"));
}

TEST(Completion, NothingAfterTheDashes) {
  EXPECT_THAT(Complete({"exec", "research", "--", "ap"}), IsEmpty());
}

TEST(Completion, AWordAsItWasTyped) {
  const auto text = [](std::string_view raw) { return ReadTypedWord(raw, ":=").text; };
  EXPECT_EQ(text(R"(research:~/my\ file)"), "research:~/my file");
  EXPECT_EQ(text(R"('a b'"c\"d\e"'$x)"), R"(a bc"d\e$x)");
  EXPECT_EQ(text("\"open"), "open");
  const auto put = [](std::string_view raw, const std::string& completion) {
    return ForBash(ReadTypedWord(raw, ":="), completion);
  };
  EXPECT_EQ(put("pod.r", "pod.research"), "pod.research");
  EXPECT_EQ(put("--target=pod.r", "--target=pod.research"), "pod.research");
  EXPECT_EQ(put("research:~/a", "research:~/a b"), R"(~/a\ b)");
  EXPECT_EQ(put("research:", "research:$(touch x);`y`!&'\""), R"(\$\(touch\ x\)\;\`y\`\!\&\'\")");
  EXPECT_EQ(put("", "~alice"), "\\~alice");
  EXPECT_EQ(put("'research:a", "research:a b"), "research:a b");
  EXPECT_EQ(put("\"research:a", "research:a$(x)"), "") << "it would be executed there";
}

// What bash offers for the last of `words`, with a podctl that is a script here.
std::vector<std::string> ByBash(const std::string& line, const std::vector<std::string>& words,
                                const std::string& answer) {
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{out, err};
  const GlobalOptions global;
  Context context(global, streams);
  EXPECT_EQ(commands::kCompletion.Run(context, commands::kCompletion.NewOptions()), 0);
  std::string script =
      "folder=$(mktemp -d); PATH=\"$folder:$PATH\"\ncat > \"$folder/podctl\" <<'END'\n"
      "#!/bin/sh\nshift 3\nprintf '%s\\n' " +
      answer + "\nEND\nchmod +x \"$folder/podctl\"\n" + out.str();
  script += "COMP_LINE=" + ShellQuote(line) + "\nCOMP_WORDS=(podctl";
  for (const std::string& word : words) script += " " + ShellQuote(word);
  script += ")\nCOMP_CWORD=" + std::to_string(words.size()) +
            "\n_podctl\nprintf '%s\\n' \"${COMPREPLY[@]}\"; rm -r \"$folder\"\n";
  RealProcessRunner runner;
  const auto result =
      runner.Run({"bash", "--norc", "-c", script}, std::chrono::milliseconds(10'000));
  EXPECT_TRUE(result.has_value());
  if (!result) return {};
  EXPECT_EQ(result->err, "");
  std::vector<std::string> completions = SplitLines(result->out);
  std::erase(completions, "");
  return completions;
}

TEST(Completion, BashHandsOnWholeWordsAndTakesTextAsText) {
  // The answer is what podctl was asked: words that bash had cut are whole again.
  EXPECT_THAT(
      ByBash("podctl cp a research:~/x", {"cp", "a", "research", ":", "~/x"}, "words \"$@\""),
      ElementsAre("--", "cp", "a", "research:~/x"));
  EXPECT_THAT(
      ByBash("podctl plan --target=pod.a ", {"plan", "--target", "=", "pod.a", ""}, "words \"$@\""),
      ElementsAre("--", "plan", "--target=pod.a"));
  EXPECT_THAT(ByBash("podctl cp research:", {"cp", "research", ":"}, "words \"$@\""),
              ElementsAre("--", "cp", "research:"));
  EXPECT_THAT(ByBash("podctl exec ", {"exec", ""}, "words '$(date)' \"*\""),
              ElementsAre("$(date)", "*"))
      << "nothing of an answer is evaluated";
}

}  // namespace
}  // namespace podctl
