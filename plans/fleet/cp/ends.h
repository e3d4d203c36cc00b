// What the words of `podctl cp SRC… DST` mean: which of them lie on a pod's workers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"

namespace podctl {

struct CopyPlan {
  bool upload = false;               // from here to the workers; else from them
  std::string pod;                   // without "pod."
  std::string workers;               // as WorkerSelection reads them; empty: none were named
  std::vector<std::string> sources;  // local paths, or remote ones without their pod
  std::string destination;           // likewise; empty: the home folder
};

// "research:~/x", "research/0,2-3:x", "pod.research:". A word is a local path when what stands
// before its first colon cannot name workers: "./a:b", "/tmp/a:b".
struct RemotePath {
  std::string pod;
  std::string workers;
  std::string path;
};
std::optional<RemotePath> ReadRemotePath(std::string_view word);

// `workers`: of --worker; may be empty. kInvalidArgument says what to write in place of it.
Result<CopyPlan> ReadCopy(const std::vector<std::string>& words, const std::string& workers);

}  // namespace podctl
