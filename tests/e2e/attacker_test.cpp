// Somebody who wants in: pages of other origins in a real browser (Debian's chromium and
// chromium-driver), another user of the machine with a copy of podctl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "providers/base/json.h"
#include "tests/e2e/harness.h"
#include "tests/e2e/web_driver.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kNode[] = R"({"acceleratorType": "v3-8", "runtimeVersion": "tpu-vm-tf-2.11.0"})";

// What a page can try against the emulator at %E: each a JavaScript expression, a promise of
// "STATUS" or "failed".
constexpr const char* kAttempts[] = {
    // What needs no leave of the server: bodies that a form can have.
    "ask({mode: 'no-cors', method: 'POST', body: node})",
    "ask({mode: 'no-cors', method: 'POST', headers: {'Content-Type': 'text/plain'}, body: node})",
    "ask({mode: 'no-cors', method: 'POST', body: new Blob([node])})",
    "ask({mode: 'no-cors', method: 'POST', referrerPolicy: 'no-referrer', body: node})",
    "ask({mode: 'no-cors', method: 'POST', headers: {'Content-Type': 'multipart/form-data; "
    "boundary=x'}, body: node})",
    "Promise.resolve(navigator.sendBeacon(url, node)).then(sent => 'sent ' + sent)",
    "Promise.resolve(navigator.sendBeacon(url, new Blob([node], {type: 'application/json'})))"
    ".then(sent => 'sent ' + sent)",
    // What has to be asked for first.
    "ask({method: 'POST', headers: {'Content-Type': 'application/json'}, body: node})",
    "ask({method: 'DELETE'})",
    "ask({method: 'POST', headers: {'X-HTTP-Method-Override': 'POST'}, body: node})",
    // A body that is a whole request, behind one that the server does not read to its end.
    "ask({mode: 'no-cors', method: 'POST', body: smuggled}, base + '/' + 'a'.repeat(9000))",
    "ask({mode: 'no-cors', method: 'POST', headers: {'Content-Type': 'multipart/form-data; "
    "boundary=x'}, body: smuggled})",
    // Without a body, and reading.
    "ask({mode: 'no-cors', method: 'POST'}, base + '/emulator/nodes/mine:terminate')",
    "ask({}, base + '/v2/projects/my-project/locations/europe-west4-a/nodes')",
    "ask({mode: 'no-cors'}, base + '/emulator/requests')",
    "load('img', base + '/emulator')",
    "load('script', base + '/v2/projects/my-project/locations/europe-west4-a/nodes')",
    "load('iframe', base + '/emulator')",
    "new Promise(done => { const s = new WebSocket(base.replace('http', 'ws') + '/emulator');"
    " s.onopen = () => done('open'); s.onerror = () => done('failed'); })",
    "form('text/plain')",
    "form('application/x-www-form-urlencoded')",
    "form('multipart/form-data')",
};

class AttackerTest : public ::testing::Test {
 protected:
  void StartBrowser() {
    for (const std::string program : {"chromium", "chromedriver"}) {
      if (box_.RunProgram({"sh", "-c", "command -v " + program}).code != 0) {
        GTEST_SKIP() << program << " is not installed (./dev test installs it)";
      }
    }
    browser_ = std::make_unique<WebDriver>(box_);
    ASSERT_TRUE(browser_->ready());
  }
  std::string Port() const { return box_.url().substr(box_.url().rfind(':') + 1); }
  std::string Run(const std::string& attempt) {
    const std::string prelude =
        "const base = '" + box_.url() + "', node = '" + kNode +
        "', parent = '/v2/projects/my-project/locations/europe-west4-a';"
        "const url = base + parent + '/nodes?nodeId=pwn';"
        "const smuggled = 'POST ' + parent + '/nodes?nodeId=pwn HTTP/1.1\\r\\nHost: ' +"
        " base.substr(7) + '\\r\\nContent-Type: application/json\\r\\nContent-Length: ' +"
        " node.length + '\\r\\n\\r\\n' + node;"
        "const ask = (options, where = url) => fetch(where, options)"
        ".then(r => r.type + ' ' + r.status, e => 'failed');"
        "const load = (tag, src) => new Promise(done => { const e = document.createElement(tag);"
        " e.onload = () => done('loaded'); e.onerror = () => done('failed'); e.src = src;"
        " document.documentElement.append(e); setTimeout(() => done('silent'), 3000); });"
        // A form's answer goes into a frame, so that the page stays.
        "const form = type => new Promise(done => { const i = document.createElement('iframe');"
        " i.name = 'f' + Math.random(); document.documentElement.append(i);"
        " const f = document.createElement('form'), v = document.createElement('input');"
        " f.method = 'POST'; f.action = url; f.enctype = type; f.target = i.name;"
        " v.name = node.slice(0, -1) + ', \"x\": \"'; v.value = '\"}'; f.append(v);"
        " document.documentElement.append(f); i.onload = () => done('answered');"
        " f.submit(); setTimeout(() => done('silent'), 3000); });";
    return browser_->Script(prelude + "return " + attempt + ";");
  }
  void ExpectNothingCame(const std::string& page, const std::string& attempt) {
    EXPECT_EQ(box_.Requests()["total"].AsInt(), 1) << page << ": " << attempt;  // the own node
    const Value nodes =
        box_.Http("GET", "/v2/projects/my-project/locations/europe-west4-a/nodes").body;
    EXPECT_EQ(nodes["nodes"].AsList().size(), 1U) << page << ": " << attempt;
    EXPECT_EQ(nodes["nodes"].AsList()[0]["state"].AsString(), "READY") << page << ": " << attempt;
    box_.CountAnew();
    box_.GetNode("mine");
  }

  Sandbox box_;
  std::unique_ptr<WebDriver> browser_;
};

TEST_F(AttackerTest, APageOfAnotherOriginGetsNothing) {
  StartBrowser();
  if (IsSkipped()) return;
  box_.StartEmulator("none", "0s");
  box_.Change(
      "POST",
      std::string("/v2/projects/my-project/locations/europe-west4-a/nodes") + "?nodeId=mine",
      kNode);
  box_.CountAnew();
  box_.GetNode("mine");
  const std::string other = browser_->url();
  for (const std::string& page :
       {other + "/status", Replace(other, "127.0.0.1", "localhost") + "/status",
        std::string("data:text/html,<title>null</title>"),
        "http://rebound.localhost:" + Port() + "/emulator"}) {
    browser_->Open(page);
    for (const char* attempt : kAttempts) {
      const std::string got = Run(attempt);
      // What a page may not read has the status 0.
      EXPECT_THAT(got, ::testing::AnyOf("failed", "opaque 0", "sent true", "sent false", "silent",
                                        "answered", "loaded"))
          << page << ": " << attempt;
      ExpectNothingCame(page, attempt);
    }
  }
}

// The browser itself is no obstacle: the emulator's own page may do what its origin may.
TEST_F(AttackerTest, TheEmulatorsOwnPageIsServed) {
  StartBrowser();
  if (IsSkipped()) return;
  box_.StartEmulator("none", "0s");
  browser_->Open(box_.url() + "/emulator");
  EXPECT_THAT(browser_->Script("return document.body.innerText"),
              HasSubstr("The Cloud TPU emulator"));
  EXPECT_EQ(Run("ask({method: 'POST', headers: {'Content-Type': 'application/json'}, body: node})"),
            "basic 200");
  EXPECT_EQ(Run("ask({method: 'POST', headers: {'Content-Type': 'text/plain'}, body: node})"),
            "basic 415");
  // A name that leads here is no name of the emulator's.
  browser_->Open("http://rebound.localhost:" + Port() + "/emulator");
  EXPECT_THAT(browser_->Script("return document.body.innerText"),
              HasSubstr("so that no page in a browser can use it"));
}

}  // namespace
}  // namespace podctl::testing
