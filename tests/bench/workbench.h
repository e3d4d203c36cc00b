// A temporary folder with an emulator that ends with it: where podctl and its peers are measured.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace podctl::bench {

// Says why on stderr and ends the program: there is nothing to go on with.
[[noreturn]] void Fail(const std::string& why);

void WriteFile(const std::filesystem::path& path, const std::string& text);

class Workbench {
 public:
  // Starts `podctl emulator` on a free port and points PODCTL_ENDPOINT, and HOME, to it.
  Workbench(const std::string& podctl, const std::vector<std::string>& emulator_flags);
  ~Workbench();
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  // Seconds of CPU that the emulator has used so far, all its threads together.
  double ServerCpuSeconds() const;

 private:
  std::string WaitForUrl() const;

  std::filesystem::path folder_;
  pid_t emulator_ = -1;
};

}  // namespace podctl::bench
