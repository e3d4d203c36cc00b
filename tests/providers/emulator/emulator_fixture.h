// An emulator without workers that a test may restart on its data, and a client of it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "providers/emulator/emulator.h"
#include "tests/providers/emulator/api_client.h"

namespace podctl::emulator::testing {

class EmulatorFixture : public ::testing::Test {
 protected:
  EmulatorFixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "emulator-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    Restart(std::chrono::milliseconds(0));
  }
  ~EmulatorFixture() override {
    emulator_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Restart(std::chrono::milliseconds delay, Options options = {}) {
    client_.reset();
    emulator_.reset();
    options.listen_port = 0;
    options.data_folder = folder_;
    options.workers = Options::Workers::kNone;
    options.operation_delay = delay;
    auto started = Emulator::Start(options);
    ASSERT_TRUE(started) << started.error().message;
    emulator_ = *std::move(started);
    client_ = std::make_unique<ApiClient>(emulator_->url());
  }

  Reply Send(const std::string& method, const std::string& path, const std::string& body = "") {
    return client_->Send(method, path, body);
  }
  static std::string Message(const Reply& reply) {
    return reply.body["error"]["message"].AsString();
  }
  static std::string Status(const Reply& reply) { return reply.body["error"]["status"].AsString(); }

  std::string folder_;
  std::unique_ptr<Emulator> emulator_;
  std::unique_ptr<ApiClient> client_;
};

}  // namespace podctl::emulator::testing
