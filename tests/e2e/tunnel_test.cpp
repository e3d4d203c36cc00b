// `podctl tunnel` as a user has it: what the spec says is forwarded, opened, shown and closed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>

#include "providers/base/text.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TunnelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    box_.StartEmulator();
    box_.WriteSpec(kPod);
    box_.Apply();
    // Port 0 asks for a free one, since plain workers share the network of this machine.
    server_ = box_.Start({"exec", "research", "--worker", "1", "--", "perl", "-e", kServer});
    ASSERT_TRUE(server_->WaitForOut("\n")) << server_->err();
    const std::string line = SplitLines(server_->out()).front();  // "research/1 | 40001"
    box_.WriteSpec(std::string(kPod) + "    tunnels:\n      - {name: page, worker: 1, remote: " +
                   line.substr(line.rfind(' ') + 1) + ", local: 0, open: http}\n");
  }
  // The address that stands behind `mark`.
  static std::string Behind(const std::string& text, const std::string& mark) {
    const auto at = text.find(mark);
    if (at == std::string::npos) return {};
    const auto begin = text.find_first_not_of(" \r\n", at + mark.size());
    const auto end = text.find_first_of(" \r\n", begin);
    return end == std::string::npos ? "" : text.substr(begin, end - begin);
  }

  static constexpr const char* kPod =
      "  research: \n"
      "    acceleratorType: v3-32\n"
      "    runtimeVersion: tpu-vm-tf-2.11.0-pod\n";
  static constexpr const char* kServer =
      "use IO::Socket::INET;\n"
      "my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) or die;\n"
      "$| = 1; print $s->sockport, \"\\n\";\n"
      "while (my $c = $s->accept) {\n"
      "  while (my $line = <$c>) { last if $line =~ /^\\r?\\n$/ }\n"
      "  print $c \"HTTP/1.0 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhere\\n\"; close $c }\n";
  Sandbox box_;
  std::unique_ptr<Process> server_;
};

TEST_F(TunnelTest, WhatTheSpecSaysIsForwardedAndOpenedUntilCtrlC) {
  const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(plan.code, 0) << "tunnels are nothing of the cloud's\n" << plan;

  auto tunnel = box_.Start({"tunnel", "research", "--open"});
  ASSERT_TRUE(tunnel->WaitForOut("In a browser:\n  http")) << tunnel->out() << tunnel->err();
  EXPECT_THAT(tunnel->out(), AllOf(HasSubstr("-> research/1 port"), Not(HasSubstr("Colab"))));
  const std::string url = Behind(tunnel->out(), "In a browser:");
  const RunResult fetched = box_.RunProgram({"curl", "-sS", "--max-time", "30", url});
  EXPECT_EQ(fetched.out, "here\n") << fetched;
  tunnel->Signal(SIGINT);
  EXPECT_EQ(tunnel->Wait(), 0) << tunnel->err();

  auto json = box_.Start({"tunnel", "research", "page", "--open=url", "--json"});
  ASSERT_TRUE(json->WaitForOut("\"open\"")) << json->out() << json->err();
  json->Signal(SIGTERM);
  EXPECT_EQ(json->Wait(), 0) << json->err();
  const auto events = JsonLines(json->out());
  ASSERT_EQ(events.size(), 2U) << json->out();
  EXPECT_EQ(events[0]["type"].AsString(), "forward");
  EXPECT_EQ(events[0]["worker"].AsString(), "research/1");
  EXPECT_EQ(events[1]["url"].AsString(), events[0]["url"].AsString() + "/");
}

TEST_F(TunnelTest, ABrowserIsStartedWhereSomebodyLooksOn) {
  box_.WriteFile("browser", "#!/bin/sh\necho \"$1\" > " + box_.Path("shown") + "\n");
  chmod(box_.Path("browser").c_str(), 0755);
  box_.SetVariable("BROWSER", box_.Path("browser"));
  {
    auto unseen = box_.Start({"tunnel", "research", "--open"});
    ASSERT_TRUE(unseen->WaitForOut("In a browser:\n  http")) << unseen->err();
    unseen->Signal(SIGINT);
    EXPECT_EQ(unseen->Wait(), 0);
    EXPECT_FALSE(box_.Exists("shown")) << "nobody is there to look at it";
  }
  auto tunnel = box_.RunInPty({"tunnel", "research", "--open"});
  ASSERT_TRUE(tunnel->WaitForText("In a browser:")) << tunnel->shown();
  // The terminal's text comes in pieces, and the browser's file beside it.
  EXPECT_TRUE(Eventually([&] {
    const std::string url = Behind(tunnel->shown(), "In a browser:");
    return !url.empty() && box_.ReadFile("shown") == url + "\n";
  })) << box_.ReadFile("shown")
      << tunnel->shown();
  tunnel->SendKeys("\x03");
  EXPECT_EQ(tunnel->Wait(), 0) << tunnel->shown();
}

TEST_F(TunnelTest, WhatCannotBeForwardedIsAnError) {
  const RunResult unknown = box_.Run({"tunnel", "research", "pages"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no tunnel `pages`"), HasSubstr("Did you mean `page`?")))
      << unknown;
  box_.WriteSpec(kPod);
  const RunResult none = box_.Run({"tunnel", "research"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("podctl tunnel research 8888")) << none;
}

}  // namespace
}  // namespace podctl::testing
