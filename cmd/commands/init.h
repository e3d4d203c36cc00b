// `podctl init`: writes a starter spec from a template or from another tool's command, or lists the
// templates.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cmd/output_filter.h"
#include "providers/base/error.h"
#include "providers/os/file_system.h"

namespace podctl {

struct InitOptions {
  std::string template_name = "minimal";
  std::string forge = {};  // of the template `gitops`: for this one, by `podctl ci`; empty: none
  std::string folder = ".";
  bool list = false;
  std::string from_command = {};  // a command line; empty: none
  bool legacy_request = false;    // with it: the request of the old service, and no spec
  std::string now = {};           // RFC 3339, for that request
  // For the spec, in place of the template's; of a command line only where that names none.
  std::optional<std::string> project = {};
  std::optional<std::string> zone = {};
  // The JSON Schema of a spec. It is written beside the spec, whose first line names it, so that
  // editors find it; empty: neither.
  std::string schema = {};
};

// Writes what it did to `streams`. A podctl.yaml that is there already is never overwritten, nor is
// a schema, which stays as it is. The folder "-" is standard output, with a command only.
Result<void> RunInit(const InitOptions& options, FileSystem& files, Streams& streams);

// The part of it that `--from-command` asks for.
Result<void> RunInitFromCommand(const InitOptions& options, FileSystem& files, Streams& streams);
}  // namespace podctl
