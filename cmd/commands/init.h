// `podctl init`: writes a starter spec from a template, or lists the templates.
#pragma once

#include <string>

#include "cmd/streams.h"
#include "providers/os/file_system.h"

namespace podctl {

struct InitOptions {
  std::string template_name = "minimal";
  std::string folder = ".";
  bool list = false;
  bool json = false;
};

// The exit code. A podctl.yaml that is there already is never overwritten.
int RunInit(const InitOptions& options, FileSystem& files, Streams& streams);

}  // namespace podctl
