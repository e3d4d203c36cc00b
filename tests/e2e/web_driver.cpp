#include "tests/e2e/web_driver.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "providers/base/json.h"

namespace podctl::testing {
namespace {

// The name of an element's id in every answer (WebDriver, 12.3).
constexpr const char* kElement = "element-6066-11e4-a52e-4f735466cecf";

Value With(const char* key, Value value) {
  Value body = Value::EmptyMap();
  body.Set(key, std::move(value));
  return body;
}

}  // namespace

WebDriver::WebDriver(Sandbox& box) : box_(box), http_("podctl-e2e") {
  // Chromium leaves folders in TMPDIR.
  const std::string temporary = box_.Path("chromium-tmp");
  std::filesystem::create_directories(temporary);
  const std::string mark = "started successfully on port ";
  // It lets the system choose a port of IPv6, and wants the same one of IPv4, which another program
  // may have by then.
  for (int tries = 0; tries < 5; ++tries) {
    driver_ = box_.StartProgram({"env", "TMPDIR=" + temporary, "chromedriver", "--port=0"});
    if (driver_->WaitForOut(mark)) break;
    if (driver_->out().find("port not available") == std::string::npos) break;
  }
  if (driver_->out().find(mark) == std::string::npos) {
    ADD_FAILURE() << driver_->out() << driver_->err();
    return;
  }
  const std::string out = driver_->out();
  url_ =
      "http://127.0.0.1:" + std::to_string(std::atoi(out.c_str() + out.find(mark) + mark.size()));
  Value::List arguments = {"--headless=new",
                           "--window-size=1200,900",
                           "--disable-gpu",
                           "--disable-dev-shm-usage",
                           "--no-first-run",
                           "--hide-scrollbars",
                           "--user-data-dir=" + box_.Path("chromium")};
  // Chromium's sandbox wants user namespaces, which root has no need of and a container has not,
  // and refuses to do without.
  const bool namespaces = box_.RunProgram({"unshare", "--user", "true"}).code == 0;
  if (geteuid() == 0 || !namespaces) arguments.emplace_back("--no-sandbox");
  Value wishes = Value::EmptyMap();
  wishes.SetPath("capabilities.alwaysMatch.browserName", "chrome");
  wishes.SetPath("capabilities.alwaysMatch.goog:chromeOptions.args", std::move(arguments));
  session_ = Call("POST", "/session", wishes)["sessionId"].AsString();
}

WebDriver::~WebDriver() {
  if (ready()) Call("DELETE", "/session/" + session_, Value());
  if (driver_) driver_->Signal(SIGTERM);
}

Value WebDriver::Call(const std::string& method, const std::string& path, const Value& body,
                      bool may_fail) {
  http::Request request;
  request.method = method;
  request.url = url_ + path;
  request.timeout = kPatience * 2;
  request.no_proxy = true;
  if (method == "POST") request.body = ToJson(body);
  const auto response = http_.Send(request, {});
  if (!response) {
    EXPECT_TRUE(may_fail) << path << ": " << response.error().message;
    return {};
  }
  Value value = ParseJson(response->body).value_or(Value())["value"];
  if (response->status != 200) {
    EXPECT_TRUE(may_fail) << path << ": " << value["message"].AsString();
    return {};
  }
  return value;
}

void WebDriver::Open(const std::string& url) {
  Call("POST", "/session/" + session_ + "/url", With("url", url));
}

std::string WebDriver::Title() {
  return Call("GET", "/session/" + session_ + "/title", Value()).AsString();
}

bool WebDriver::Clicked(const std::string& id) {
  http::Request request;
  request.method = "POST";
  request.url = url_ + "/session/" + session_ + "/element/" + id + "/click";
  request.body = "{}";
  request.no_proxy = true;
  const auto response = http_.Send(request, {});
  return response && response->status == 200;
}

bool WebDriver::Click(const std::string& css) {
  Value how = With("using", "css selector");
  how.Set("value", css);
  return Eventually([&] {
    const std::string id =
        Call("POST", "/session/" + session_ + "/element", how, true)[kElement].AsString();
    return !id.empty() && Clicked(id);
  });
}

void WebDriver::Type(const std::string& keys) {
  const std::string id =
      Call("GET", "/session/" + session_ + "/element/active", Value())[kElement].AsString();
  Call("POST", "/session/" + session_ + "/element/" + id + "/value", With("text", keys));
}

std::string WebDriver::Script(const std::string& script) {
  Value body = With("script", script);
  body.Set("args", Value::EmptyList());
  return Call("POST", "/session/" + session_ + "/execute/sync", body, true).AsString();
}

bool WebDriver::WaitFor(const std::string& script) {
  return Eventually([&] { return Script(script) == "yes"; });
}

bool WebDriver::TurnToNewWindow() {
  return Eventually([&] {
    const Value handles = Call("GET", "/session/" + session_ + "/window/handles", Value());
    if (handles.AsList().size() < 2) return false;
    Call("POST", "/session/" + session_ + "/window", With("handle", handles.AsList().back()));
    return true;
  });
}

void WebDriver::SaveScreenshot(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  box_.WriteFile("screenshot.base64",
                 Call("GET", "/session/" + session_ + "/screenshot", Value()).AsString());
  const RunResult decoded =
      box_.RunProgram({"sh", "-c", "base64 -d screenshot.base64 > \"$0\"", path});
  EXPECT_EQ(decoded.code, 0) << decoded;
}

}  // namespace podctl::testing
