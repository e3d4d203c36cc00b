// Why workers are tried again, for an observer of a run that wants to tell it; and what to look at
// then.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace podctl::ssh {

// What an ssh::Observer may be, too: a Transport looks whether it is.
class TryAgainObserver {
 public:
  virtual ~TryAgainObserver() = default;
  // A try came to nothing, and another follows: why, in a sentence. Of several in quick succession
  // perhaps only the last. Called on the thread that called Run.
  virtual void OnTryAgain(std::size_t job, const std::string& why) = 0;
};

// What to look at where a worker was not reached and `message` says why, podctl's own or that of
// the program ssh. Empty where that is not known.
std::string_view ReachAdvice(std::string_view message);

}  // namespace podctl::ssh
