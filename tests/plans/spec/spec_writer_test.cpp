// What is written must load as it was meant, whatever stands in it.
#include "plans/spec/spec_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "cmd/views/snippet.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/loader.h"
#include "plans/spec/references.h"
#include "plans/spec/spec_editor.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::HasSubstr;

Spec Load(const std::string& text, std::string* report) {
  testing::FakeFileSystem files;
  files.SetFile("podctl.yaml", text);
  Diagnostics diagnostics;
  Spec spec = LoadSpec(testing::WithKinds(), files, FixedEnvironment({}), diagnostics);
  *report = FormatDiagnostics(diagnostics, {});
  return spec;
}

PodDraft Draft() {
  PodDraft draft;
  draft.name = "research";
  draft.node.Set("acceleratorType", "v3-32");
  draft.node.Set("runtimeVersion", "tpu-vm-tf-2.11.0-pod");
  return draft;
}

std::string Random(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {
      "a",  "true", "No", "1",    "0x10", "\n", "\n\n", " ",      "  ",  "\t",     "\r",
      "# ", ": ",   "-",  "- ",   "'",    "\"", "\\",   "${",     "$${", "${x}",   "ä",
      "€",  "𝄞",    "|",  ">",    "&a",   "*a", "!t",   "{",      "}",   "[",      "]",
      "%",  "@",    "`",  "\x01", "\x7f", "~",  "null", "\u0085", "?",   "\u2028", "\ufeff",
      "=",  "<<",   ",",  "2:30", "1e3",  ".5", "---",  "...",    "x:",  "echo hi"};
  std::string text;
  const auto count = random() % 7;
  for (std::size_t i = 0; i < count; ++i) text += kPieces[random() % kPieces.size()];
  return text;
}

TEST(SpecWriter, WritesAPodAsPeopleDo) {
  PodDraft draft = Draft();
  draft.comments = {"Metadata that podctl leaves alone: a, b."};
  draft.node_id = "made";
  draft.node.Set("description", "two words: and more");
  draft.node.SetPath("labels.team", "vision");
  draft.node.SetPath("labels.yes", "1");
  draft.node.SetPath("networkConfig.enableExternalIps", true);
  draft.node.SetPath("networkConfig.queueCount", 4);
  Value disk;
  disk.Set("sourceDisk", "projects/p/zones/z/disks/d");
  disk.Set("mode", "READ_ONLY");
  draft.node.Set("dataDisks", Value::List{disk, Value::EmptyMap()});
  draft.node.Set("tags", Value::List{"a", "0"});
  draft.runtime.flags = {{"xla_x", "true"}};
  draft.runtime.variables = {{"TF", "1"}};
  draft.metadata = {{"startup-script", "#!/bin/sh\n\n  echo ${HOME}\n"}, {"short", "a\nb"}};
  EXPECT_EQ(WriteSpec("my-project", "europe-west4-a", {draft}), R"(project: my-project
zone: europe-west4-a

pods:
  research:
    # Metadata that podctl leaves alone: a, b.
    nodeId: made
    acceleratorType: v3-32
    runtimeVersion: tpu-vm-tf-2.11.0-pod
    dataDisks:
      - mode: READ_ONLY
        sourceDisk: projects/p/zones/z/disks/d
      - {}
    description: "two words: and more"
    labels:
      team: vision
      "yes": "1"
    networkConfig:
      enableExternalIps: true
      queueCount: 4
    tags:
      - a
      - "0"
    libtpuFlags:
      xla_x: "true"
    runtimeEnv:
      TF: "1"
    metadata:
      short: |-
        a
        b
      startup-script: |
        #!/bin/sh

          echo $${HOME}
)");
}

TEST(SpecWriter, QuotesWhatIsNotJustText) {
  for (const char* plain : {"a", "v3-32", "a b", "https://x/y", "a=b", "tpu-vm_x.1"}) {
    EXPECT_EQ(YamlScalar(plain, 4), plain);
  }
  for (const char* text :
       {"",   "true", "NO", "y",    "Null",       "1",    "0x10", "1e3",   "2:30",  ".5",    "-",
        "~",  "a: b", "a:", "a #b", " a",         "a ",   "'",    "ä",     "*a",    "&a",    "!x",
        "%x", "@x",   "[a", "{a",   "2026-11-20", "a\tb", "\n",   "a\n\n", " a\nb", "a\r\nb"}) {
    EXPECT_EQ(YamlScalar(text, 4).front(), '"') << text;
  }
  EXPECT_EQ(YamlScalar("a\nb", 0), "\"a\\nb\"") << "a key stands on one line";
}

// Who reviews the file sees what it holds.
TEST(SpecWriter, EscapesWhatNobodySees) {
  EXPECT_EQ(YamlScalar("a\u202eb", 4), R"("a\u202eb")");
  EXPECT_EQ(YamlScalar("\u2066\ufeff\u200b", 4), R"("\u2066\ufeff\u200b")");
  EXPECT_EQ(YamlScalar("one\nt\u2067wo\n", 4), R"("one\nt\u2067wo\n")");
  EXPECT_EQ(YamlScalar("one\nt\u00adwo\n", 4), R"("one\nt\u00adwo\n")");
  EXPECT_EQ(YamlScalar("\U000E0041", 4), R"("\U000e0041")");
  YamlText text;
  text.Comment("\ufeffx\u202ey");
  EXPECT_EQ(text.text(), "# \\ufeffx\\u202ey\n");
}

// load(write(x)) == x, for texts that are hard on YAML, on templates, and on shells.
TEST(SpecWriter, LoadsAsItWasMeant) {
  std::mt19937 random(20261120);
  for (int i = 0; i < 3000; ++i) {
    PodDraft draft = Draft();
    const std::string key = "k" + std::to_string(i % 7);
    draft.metadata[key] = Random(random);
    draft.metadata["last"] = Random(random);
    draft.node.Set("description", Random(random));
    draft.node.Set("tags", Value::List{Random(random), Random(random)});
    draft.runtime.variables["X"] = Random(random);
    const std::string text = WriteSpec("p", "europe-west4-a", {draft});
    std::string report;
    const Spec spec = Load(text, &report);
    ASSERT_EQ(report, "") << i << "\n" << text;
    ASSERT_EQ(testing::PodsOf(spec).size(), 1U);
    const PodSpec& pod = testing::PodsOf(spec)[0];
    const auto plain = [](const std::string& template_text) {
      return RenderText(template_text, [](const Address&) -> const Value* { return nullptr; });
    };
    EXPECT_EQ(plain(pod.metadata.at(key).text), draft.metadata[key]) << i << "\n" << text;
    EXPECT_EQ(plain(pod.metadata.at("last").text), draft.metadata["last"]) << i << "\n" << text;
    EXPECT_EQ(plain(pod.runtime_env.at("X")), draft.runtime.variables["X"]) << i << "\n" << text;
    EXPECT_EQ(RenderValue(pod.node, nullptr, nullptr), draft.node) << i << "\n" << text;
    if (HasFailure()) return;
  }
}

TEST(RuntimeKeys, GiveTheSameTextAgainOrNone) {
  const auto composed = [](const RuntimeKeys& keys) {
    std::map<std::string, std::string> all = keys.variables;
    if (!keys.flags.empty()) all["LIBTPU_INIT_ARGS"] = JoinFlags(keys.flags);
    return ComposeRuntimeVariables(all);
  };
  for (const char* text :
       {"-e LIBTPU_INIT_ARGS=--a=1", "-e LIBTPU_INIT_ARGS='--a=1 --b=2'",
        "-e LIBTPU_INIT_ARGS='--a=1 --b=2' -e X=3", "-e X='it'\\''s'", "-e A= -e B=2", "-e A=''"}) {
    const auto keys = SplitRuntimeVariables(text);
    EXPECT_EQ(keys ? composed(*keys) : text, text);
  }
  const auto flags = SplitRuntimeVariables("-e LIBTPU_INIT_ARGS='--a=1 --b=x=y' -e X='3 4'");
  ASSERT_TRUE(flags);
  EXPECT_EQ(flags->flags, (std::map<std::string, std::string>{{"a", "1"}, {"b", "x=y"}}));
  EXPECT_EQ(flags->variables, (std::map<std::string, std::string>{{"X", "3 4"}}));
  // Flags in another order, or without a value, stay one variable.
  const auto unsorted = SplitRuntimeVariables("-e LIBTPU_INIT_ARGS='--b=1 --a=2'");
  ASSERT_TRUE(unsorted);
  EXPECT_TRUE(unsorted->flags.empty());
  EXPECT_EQ(unsorted->variables.at("LIBTPU_INIT_ARGS"), "--b=1 --a=2");
  EXPECT_TRUE(SplitRuntimeVariables("-e LIBTPU_INIT_ARGS=--verbose")->flags.empty());
  // What would come out as another text is none of ours.
  for (const char* text :
       {"", "-e", "-e X", "-e X=\"1\"", "-e X='1'", "-e X=1 -e LIBTPU_INIT_ARGS=--a=1",
        "-e B=1 -e A=2", "-e X=1 -e X=2", "-e X=1  -e Y=2", " -e X=1", "-e X=1 ", "--env X=1",
        "-e X='1", "-e 1X=2", "-v /a:/b -e X=1", "-e LIBTPU_INIT_ARGS='--a=1  --b=2' "}) {
    EXPECT_FALSE(SplitRuntimeVariables(text)) << text;
  }
}

// "libtpuFlags.a=1;runtimeEnv.X=2;rest", or "no".
std::string Apart(std::string_view text) {
  const auto parts = TakeRuntimeVariablesApart(text);
  if (!parts) return "no";
  std::string all;
  for (const auto& [path, value] : parts->by_path) all += path + "=" + value + ";";
  return all + parts->rest;
}

TEST(RuntimeParts, AreTheSameInAnyOrderAndQuotes) {
  const std::string same = "libtpuFlags.a=1;libtpuFlags.b=x=y;runtimeEnv.X=3 4;";
  for (const char* text : {"-e LIBTPU_INIT_ARGS='--a=1 --b=x=y' -e X='3 4'",
                           "-e X='3 4' -e LIBTPU_INIT_ARGS='--b=x=y --a=1'",
                           "  --env X=\"3 4\"\n--env=LIBTPU_INIT_ARGS=\"--a=1  --b=x=y \" ",
                           "-e X=3\\ 4 -e 'LIBTPU_INIT_ARGS=--b=x=y --a=1'"}) {
    EXPECT_EQ(Apart(text), same) << text;
  }
}

TEST(RuntimeParts, WhatIsNoFlagStaysAText) {
  EXPECT_EQ(Apart(""), "");
  EXPECT_EQ(Apart("-e A= -e B='it'\\''s' -e C=\"a\\\"b\\n\""),
            "runtimeEnv.A=;runtimeEnv.B=it's;runtimeEnv.C=a\"b\\n;");
  EXPECT_EQ(Apart("-e LIBTPU_INIT_ARGS='--a=1 --verbose -x'"),
            "libtpuFlags.a=1;runtimeEnv.LIBTPU_INIT_ARGS=--verbose -x;");
  EXPECT_EQ(Apart("-e LIBTPU_INIT_ARGS="), "runtimeEnv.LIBTPU_INIT_ARGS=;");
  EXPECT_EQ(Apart("-v '/a b:/c' -e X=1 -e Y --privileged -e 1X=2"),
            "runtimeEnv.X=1;-v '/a b:/c' -e Y --privileged -e 1X=2");
  EXPECT_EQ(Apart("-e"), "-e");
}

TEST(RuntimeParts, WhatIsAmbiguousIsNotTakenApart) {
  for (const char* text :
       {"-e X='1", "-e X=\"1", "-e X=1 -e X=1", "-e LIBTPU_INIT_ARGS='--a=1 --a=2'",
        "-e LIBTPU_INIT_ARGS=--a=1 -e LIBTPU_INIT_ARGS=--b=2"}) {
    EXPECT_EQ(Apart(text), "no") << text;
  }
}

class SpecEditor : public ::testing::Test {
 protected:
  static std::string Append(const std::string& text) {
    auto edited = AppendPods("podctl.yaml", text, {Draft()});
    return edited ? *edited : "refused: " + edited.error().message;
  }
  static std::string Pod(const std::string& indent, const std::string& end = "\n") {
    return indent + "research:" + end + indent + "  acceleratorType: v3-32" + end + indent +
           "  runtimeVersion: tpu-vm-tf-2.11.0-pod" + end;
  }
};

TEST_F(SpecEditor, PutsThePodBelowTheOthers) {
  EXPECT_EQ(Append("pods:\n  a:\n    x: 1\n"), "pods:\n  a:\n    x: 1\n" + Pod("  "));
  EXPECT_EQ(Append("pods:\n  a:\n    x: 1"), "pods:\n  a:\n    x: 1\n" + Pod("  "));
  EXPECT_EQ(
      Append("pods:\n    a: # c\n        x: 1\n\n# of zone\n\nzone: z # e\n# end"),
      "pods:\n    a: # c\n        x: 1\n" + Pod("    ") + "\n# of zone\n\nzone: z # e\n# end");
  EXPECT_EQ(Append("zone: z\r\npods:\r\n  a: {x: 1}\r\n"),
            "zone: z\r\npods:\r\n  a: {x: 1}\r\n" + Pod("  ", "\r\n"));
  // What looks like a comment is a line of the script; what is indented belongs to the pods.
  EXPECT_EQ(Append("pods:\n  a:\n    x: |\n      # no comment\n  # b: {}\n\nzone: z\n"),
            "pods:\n  a:\n    x: |\n      # no comment\n  # b: {}\n" + Pod("  ") + "\nzone: z\n");
}

TEST_F(SpecEditor, FillsEmptyPods) {
  EXPECT_EQ(Append("zone: z\npods: {}\nproject: p\n"),
            "zone: z\npods:\n" + Pod("  ") + "project: p\n");
  EXPECT_EQ(Append("pods: { }  # none yet"), "pods:  # none yet\n" + Pod("  "));
  EXPECT_EQ(Append("project: p\nzone: z\n"), "project: p\nzone: z\n\npods:\n" + Pod("  "));
  EXPECT_EQ(Append("zone: z"), "zone: z\n\npods:\n" + Pod("  "));
}

TEST_F(SpecEditor, RefusesWhatItCouldDamage) {
  for (const char* text :
       {"pods: {a: {x: 1}}\n", "pods: {\n  a: {x: 1}}\n", "x: &p\n  a: {}\npods: *p\n",
        "{zone: z}\n", "pods:\n", "pods: [a]\n", "- a\n", "pods:\n  a: {\n", "",
        "pods:\n  a:\n    x: |+\n      text\n\n", "pods:\n  a: 1\n...\n", "{pods:\n  {a: 1}}\n"}) {
    EXPECT_THAT(Append(text), HasSubstr("refused: the pod cannot be added to podctl.yaml safely"))
        << text;
  }
}

}  // namespace
}  // namespace podctl
