// A worker for the shell texts of providers/workers: a real sshd, and a folder that stands for its
// /dev and /tmp.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "providers/os/environment.h"
#include "providers/ssh/libssh2/fan_out.h"
#include "tests/support/recording_ssh_observer.h"
#include "tests/support/ssh_server.h"

namespace podctl::testing {

// Below a home folder, on this machine.
inline std::string JobFolder(const std::string& home, const std::string& job) {
  const std::string name = ReadAll("/proc/sys/kernel/hostname");
  return home + "/.podctl/jobs/" + name.substr(0, name.find('\n')) + "/" + job;
}

// Of a log, podctl's own lines without the time at which they were written.
inline std::string WithoutTimes(const std::string& log) {
  static const std::regex kTime("podctl: [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z ");
  return std::regex_replace(log, kTime, "podctl: ");
}

// Standard input that stays open as long as the connection lives.
class OpenFeed final : public ssh::InputFeed {
 public:
  std::size_t Read(std::uint64_t, char*, std::size_t) override { return 0; }
  bool EndsAt(std::uint64_t) override { return false; }
  void Listen(std::function<void()>) override {}
};

struct Said {
  ssh::WorkerResult result;
  std::vector<std::string> out;
  std::vector<std::string> err;
};

class WorkerShell {
 public:
  WorkerShell() {
    std::filesystem::create_directories(root() + "/dev");
    std::filesystem::create_directories(root() + "/tmp");
    std::filesystem::create_directories(programs_.path());
    SshServer::Options options;
    options.programs = programs_.path();
    server_ = std::make_unique<SshServer>(options);
    // Neither this machine's docker nor its services are the worker's.
    Program("docker", "exit 1\n");
    Program("systemctl", "printf 'LoadState=not-found\\nActiveState=inactive\\nMainPID=0\\n'\n");
    Program("systemd-run", "exit 1\n");
    Program("sudo", "[ \"$1\" = -n ] || exit 9; shift; exec \"$@\"\n");
  }

  // Stands for the folder below which the worker has /dev and /tmp.
  std::string root() const { return folder_.path(); }
  std::string home() const { return server_->Home(); }
  SshServer& server() { return *server_; }

  // A stand-in for a system program.
  void Program(const std::string& name, const std::string& script) {
    const std::string path = programs_.path() + "/" + name;
    WriteAll(path, "#!/bin/sh\n" + script);
    chmod(path.c_str(), 0755);
  }

  Said Run(const std::string& command, const std::string& input = "") {
    ssh::Job job = JobOf(command, input);
    return Run(job, {}, "");
  }
  ssh::Job JobOf(const std::string& command, const std::string& input = "") const {
    ssh::Job job{server_->Access(), command, nullptr};
    if (!input.empty()) job.input = std::make_shared<const std::string>(input);
    return job;
  }
  // Calls `then` once the command has written the line `at`.
  Said Run(const ssh::Job& job, const std::function<void(std::stop_source&)>& then,
           const std::string& at) {
    ssh::FanOut fan_out(keyring_, clock_, random_);
    ssh::Limits limits;
    limits.retry = std::chrono::milliseconds(0);
    limits.command = std::chrono::seconds(60);
    limits.termination = std::chrono::seconds(60);
    std::stop_source stop;
    struct Recorder final : ssh::Observer {
      void OnLine(std::size_t, ssh::Stream stream, std::string_view line) override {
        (stream == ssh::Stream::kOut ? said.out : said.err).emplace_back(line);
        if (on_line) on_line(line);
      }
      void OnPhase(std::size_t, ssh::Phase) override {}
      Said said;
      std::function<void(std::string_view)> on_line;
    } recorder;
    recorder.on_line = [&](std::string_view line) {
      if (then && line == at) then(stop);
    };
    recorder.said.result = fan_out.Run({job}, limits, recorder, stop.get_token()).at(0);
    return recorder.said;
  }

 private:
  TempFolder folder_;
  TempFolder programs_;
  FixedEnvironment environment_{{}};
  RealFileSystem files_;
  RealClock clock_;
  RealRandom random_;
  ssh::Keyring keyring_{environment_, files_};
  std::unique_ptr<SshServer> server_;
};

}  // namespace podctl::testing
