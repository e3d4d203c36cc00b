// What references stand for in libtpuFlags and runtimeEnv is quoted as if the spec had it.
#include "plans/spec/runtime_flags.h"

#include <gtest/gtest.h>

#include "providers/base/json.h"

namespace podctl {
namespace {

class RuntimeVariablesTest : public ::testing::Test {
 protected:
  std::optional<std::string> Render(const std::string& text) {
    return RenderRuntimeVariables(text, lookup_);
  }
  // With another pod's description in it.
  std::optional<std::string> With(const std::string& description, const std::string& name,
                                  const std::string& value) {
    node_.Set("description", description);
    return Render(ComposeRuntimeVariables({{name, value}, {"Z", "z"}}));
  }

  Value node_ = *ParseJson(R"({"ip": "10.0.0.2"})");
  ReferenceLookup lookup_ = [this](const Address& of) {
    return of == Address("pod", "b") ? &node_ : nullptr;
  };
};

TEST_F(RuntimeVariablesTest, AValueIsQuotedAsIfItWereWritten) {
  for (const std::string value : {"x --privileged; id", "a'b", "$(id)", "", "10.0.0.2", "\"", "\\",
                                  "${pod.b.ip}", "a -e B=c"}) {
    EXPECT_EQ(With(value, "X", "${pod.b.description}"),
              Render(ComposeRuntimeVariables({{"X", EscapeTemplate(value)}, {"Z", "z"}})))
        << value;
    EXPECT_EQ(With(value, "X", "it's $${a} ${pod.b.description}!"),
              Render(ComposeRuntimeVariables(
                  {{"X", EscapeTemplate("it's ${a} " + value + "!")}, {"Z", "z"}})))
        << value;
  }
  EXPECT_EQ(With("x --privileged; id", "X", "${pod.b.description}"),
            "-e X='x --privileged; id' -e Z=z");
  EXPECT_EQ(With("10.0.0.2", "X", "${pod.b.description}:1"), "-e X=10.0.0.2:1 -e Z=z");
}

TEST_F(RuntimeVariablesTest, AFlagHasNoBlank) {
  const std::string variable(kRuntimeFlagsVariable);
  const std::string flag = JoinFlags({{"a", "${pod.b.description}"}, {"b", "1"}});
  EXPECT_EQ(With("x", variable, flag), "-e LIBTPU_INIT_ARGS='--a=x --b=1' -e Z=z");
  EXPECT_EQ(With("';id", variable, flag), "-e LIBTPU_INIT_ARGS='--a='\\'';id --b=1' -e Z=z");
  EXPECT_EQ(With("x --c=2", variable, flag), std::nullopt);
  const auto why = FindUnusableVariable(ComposeRuntimeVariables({{variable, flag}}), lookup_);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->words, "`${pod.b.description}`, which has a blank in its value");
}

TEST_F(RuntimeVariablesTest, InAnEntryOfAnotherFormItIsAPlainWord) {
  node_.Set("description", "x --privileged");
  for (const std::string text :
       {"-e X=\"${pod.b.description}\"", "--env=X=${pod.b.description}", "${pod.b.description}",
        "-e X=a ${pod.b.description}", "-e 'X=${pod.b.description}",
        "-e X=1 -e X=${pod.b.description}"}) {
    EXPECT_EQ(Render(text), std::nullopt) << text;
    EXPECT_TRUE(FindUnusableVariable(text, lookup_)) << text;
  }
  EXPECT_EQ(Render("-e X=\"${pod.b.ip}\""), "-e X=\"10.0.0.2\"");
  EXPECT_EQ(Render("-e X=$${a}"), "-e X=${a}");
}

}  // namespace
}  // namespace podctl
