// A notebook on worker 0, as a user of the template `colab` gets it: applied, tunnelled to, opened
// in a browser, and a cell run there. Needs Debian's jupyter-notebook, chromium and
// chromium-driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <regex>

#include "providers/base/text.h"
#include "tests/e2e/harness.h"
#include "tests/e2e/web_driver.h"
#include "tests/support/long_case.h"
#include "tests/support/ssh_server.h"

namespace podctl::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class NotebookTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string program : {"jupyter-notebook", "chromium", "chromedriver"}) {
      if (box_.RunProgram({"sh", "-c", "command -v " + program}).code != 0) {
        GTEST_SKIP() << program << " is not installed (./dev test installs it)";
      }
    }
    box_.StartEmulator();
    const RunResult made = box_.Run({"init", "--template", "colab"});
    ASSERT_EQ(made.code, 0) << made;
    // Workers have no network to install from.
    box_.WriteFile("podctl.yaml",
                   Replace(box_.ReadFile("podctl.yaml"),
                           "default: jupyter_http_over_ws matplotlib scipy", "default: \"\""));
    // Workers that share this machine's network share its ports too, with another run of this
    // suite.
    if (!box_.WorkersAreMachines()) {
      port_ = std::to_string(FreePort("127.0.0.1"));
      const std::string spec = box_.ReadFile("podctl.yaml");
      box_.WriteFile("podctl.yaml", std::regex_replace(spec, std::regex("8888"), port_));
    }
    // Nor are they on port 22 then.
    if (const std::string more = box_.SpecDefaults(); !more.empty()) {
      box_.WriteFile("podctl.yaml", box_.ReadFile("podctl.yaml") + more);
    }
    applied_ = box_.Apply();
  }
  std::string OnWorkerZero(const std::string& command) {
    const RunResult run = box_.Run({"exec", "research/0", "--", command});
    EXPECT_EQ(run.code, 0) << run;
    const std::string mark = "research/0 | ";
    return run.out.size() < mark.size() ? "" : std::string(TrimBlanks(run.out.substr(mark.size())));
  }
  // As a user types it; but for a port of this machine that the worker has already.
  std::unique_ptr<Process> Tunnel() {
    Arguments words = {"tunnel", "research", "--open"};
    if (!box_.WorkersAreMachines()) words.push_back("0:" + port_);
    auto tunnel = box_.Start(words);
    EXPECT_TRUE(tunnel->WaitForOut("In Colab")) << tunnel->out() << tunnel->err();
    EXPECT_TRUE(tunnel->WaitForOut("localhost")) << tunnel->out() << tunnel->err();
    return tunnel;
  }
  static std::string LineWith(const std::string& text, const std::string& part) {
    for (const std::string& line : SplitLines(text)) {
      if (line.find(part) != std::string::npos) return std::string(TrimBlanks(line));
    }
    return {};
  }

  Sandbox box_;
  std::string port_ = "8888";  // of the notebook, on the worker
  RunResult applied_;
};

TEST_F(NotebookTest, ACellRunsOnWorkerZeroInABrowserThatOpensThePrintedUrl) {
  if (IsSkipped()) return;
  EXPECT_THAT(applied_.err, HasSubstr("research/0 | Jupyter answers")) << applied_;
  // What a program finds: of light workers it is the name of this machine.
  const std::string host = OnWorkerZero("uname -n");
  auto tunnel = Tunnel();
  const std::string url = LineWith(tunnel->out(), "http://127.0.0.1:");
  const std::string page = LineWith(tunnel->out(), "/?token=");
  EXPECT_THAT(url, HasSubstr("-> research/0 port " + port_));
  EXPECT_THAT(page, MatchesRegex("http://127.0.0.1:[0-9]+/\\?token=[0-9a-f]{48}"));
  EXPECT_EQ(LineWith(tunnel->out(), "http://localhost"),
            Replace(page, "http://127.0.0.1", "http://localhost"));

  WebDriver browser(box_);
  ASSERT_TRUE(browser.ready());
  browser.Open(page);
  EXPECT_THAT(browser.Title(), HasSubstr("Home Page"));
  ASSERT_TRUE(browser.Click("#new-dropdown-button"));
  ASSERT_TRUE(browser.Click("#kernel-python3 a"));
  ASSERT_TRUE(browser.TurnToNewWindow());
  ASSERT_TRUE(
      browser.WaitFor("return window.Jupyter && Jupyter.notebook && Jupyter.notebook.kernel && "
                      "Jupyter.notebook.kernel.is_connected() ? 'yes' : 'no'"))
      << browser.Title() << "\n"
      << OnWorkerZero("cat ~/.podctl/jupyter/log");
  ASSERT_TRUE(browser.Click(".code_cell .CodeMirror"));
  // Shift and Enter (WebDriver, 17.4.2) run the cell.
  browser.Type("import os, socket; print(socket.gethostname(), os.environ['TPU_LOAD_LIBRARY'])");
  browser.Type("\xEE\x80\x88\xEE\x80\x87");
  EXPECT_TRUE(browser.WaitFor("return document.querySelector('.output_stdout') ? 'yes' : 'no'"));
  const std::string shown =
      browser.Script("return document.querySelector('.output_stdout').textContent");
  browser.SaveScreenshot(PODCTL_TEST_OUTPUT "/notebook.png");
  EXPECT_EQ(TrimBlanks(shown), host + " 0");
  tunnel->Signal(SIGINT);
  EXPECT_EQ(tunnel->Wait(), 0) << tunnel->err();
}

TEST_F(NotebookTest, ItIsKeptAliveAndItsTokenIsNobodyElses) {
  if (IsSkipped()) return;
  auto tunnel = Tunnel();
  const std::string page = LineWith(tunnel->out(), "/?token=");
  const std::string token = page.substr(page.find('=') + 1);
  EXPECT_EQ(OnWorkerZero("cat ~/.podctl/jupyter/token"), token);
  EXPECT_EQ(OnWorkerZero("stat -c %a ~/.podctl/jupyter/token ~/.podctl/jupyter | tr '\\n' ' '"),
            "600 700");
  EXPECT_THAT(OnWorkerZero("cat ~/.podctl/jupyter/log"), Not(HasSubstr(token)));
  EXPECT_THAT(OnWorkerZero("ps -eo args"), AllOf(HasSubstr("=" + port_), Not(HasSubstr(token))));
  EXPECT_THAT(box_.ReadFile("podctl.state.json"), Not(HasSubstr(token)));
  EXPECT_THAT(applied_.out + applied_.err + tunnel->err(), Not(HasSubstr(token)));

  const auto served = [&] {
    const RunResult run =
        box_.RunProgram({"curl", "-s", "--max-time", "20", "-o", "/dev/null", "-w", "%{http_code}",
                         page.substr(0, page.find('?')) + "api/contents?token=" + token});
    return run.out == "200";
  };
  EXPECT_TRUE(Eventually(served));
  const std::vector<pid_t> killed = box_.OnWorkers("-m notebook --no-browser");
  EXPECT_FALSE(killed.empty());
  for (const pid_t server : killed) kill(server, SIGKILL);
  EXPECT_TRUE(Eventually(served)) << "nobody started it again";
  EXPECT_THAT(box_.OnWorkers("-m notebook --no-browser"), Not(::testing::IsSubsetOf(killed)));

  // The step run again: the old one goes, the new one has the same token.
  const RunResult again =
      box_.Run({"apply", "--auto-approve", "--replace", "bootstrap.research.jupyter"});
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_TRUE(Eventually(served));
  EXPECT_TRUE(Eventually([&] { return box_.OnWorkers(".podctl/jupyter/keep").size() == 1; }))
      << OnWorkerZero("ps -eo args");
  const RunResult plan = box_.Run({"plan", "--detailed-exitcode"});
  EXPECT_EQ(plan.code, 0) << plan;
}

// Where nothing can be installed: what is left of the attempt is not in the way of the next one.
TEST_F(NotebookTest, AVenvThatWasCutShortIsNotPreferredAndTheErrorNamesTheWayOut) {
  PODCTL_LONG_CASE(25);
  if (IsSkipped()) return;
  const Arguments again = {"apply", "--auto-approve", "--replace", "bootstrap.research.jupyter"};
  // So `python3 -m venv` leaves one in which it could not put pip.
  OnWorkerZero("/usr/bin/python3 -m venv --without-pip ~/.podctl/jupyter/venv && echo made");
  const RunResult left = box_.Run(again);
  EXPECT_EQ(left.code, 0) << left;
  EXPECT_EQ(OnWorkerZero("cat ~/.podctl/jupyter/python"), "python3");

  // Without it apt-get would be asked, and might install it on this machine.
  if (box_.RunProgram({"/usr/bin/python3", "-c", "import ensurepip"}).code != 0) return;
  Arguments more = again;
  more.insert(more.end(), {"--var", "packages=./nowhere"});  // for which no index is asked
  const RunResult failed = box_.Run(more);
  EXPECT_EQ(failed.code, 1) << failed;
  EXPECT_THAT(failed.err, AllOf(HasSubstr("Could not be installed: ./nowhere ("),
                                HasSubstr("Without them: podctl apply --var packages=")))
      << failed;
  const RunResult without = box_.Run({"apply", "--auto-approve", "--var", "packages="});
  EXPECT_EQ(without.code, 0) << without;
}

}  // namespace
}  // namespace podctl::testing
