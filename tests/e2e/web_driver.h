// A browser without a window, driven through chromedriver (the W3C's WebDriver).
#pragma once

#include <memory>
#include <string>

#include "providers/http/curl_transport.h"
#include "tests/e2e/harness.h"

namespace podctl::testing {

// Every call that fails is a failure of the test, with the driver's own words.
class WebDriver {
 public:
  // chromedriver and Chromium, started from `box` with a profile of its own.
  explicit WebDriver(Sandbox& box);
  ~WebDriver();  // ends both
  WebDriver(const WebDriver&) = delete;
  WebDriver& operator=(const WebDriver&) = delete;

  bool ready() const { return !session_.empty(); }
  // Of the driver itself, a server on loopback as any other: "http://127.0.0.1:40123".
  const std::string& url() const { return url_; }
  void Open(const std::string& url);
  std::string Title();
  // Waits until the element is there and can be clicked.
  bool Click(const std::string& css);
  // Keys for what has the focus.
  void Type(const std::string& keys);
  // The text that a script returns: "return document.title", or the promise of one. "" for anything
  // else.
  std::string Script(const std::string& script);
  bool WaitFor(const std::string& script);  // until it returns "yes"
  // Turns to the window that was opened last.
  bool TurnToNewWindow();
  // A PNG; its folder is made.
  void SaveScreenshot(const std::string& path);

 private:
  bool Clicked(const std::string& id);
  Value Call(const std::string& method, const std::string& path, const Value& body,
             bool may_fail = false);

  Sandbox& box_;
  http::CurlTransport http_;
  std::unique_ptr<Process> driver_;
  std::string url_;
  std::string session_;
};

}  // namespace podctl::testing
