// Whatever becomes of the bench (done, failed, Ctrl-C), what it started ends and its folder goes.
//
// The bench proper runs in a child process. Its servers and clients are descendants of this one,
// which inherits the orphans among them, so none is missed. Network namespaces go with the last
// process in them.
#pragma once

#include <functional>
#include <string>

namespace podctl::bench {

// Runs `work` in a child process, with a folder of its own, and returns its exit code; 130 after
// Ctrl-C. Whatever processes are left are ended, and the folder is removed.
int Supervise(const std::function<int(const std::string& folder)>& work);

}  // namespace podctl::bench
