// Apply and no-op plan with the state in each place where it can be, beside terraform's backends,
// in one run.
#pragma once

#include <string>

namespace podctl::bench {

// `all`: terraform's 5,000 objects too, which take many minutes.
void CompareStates(const std::string& podctl, bool all);

}  // namespace podctl::bench
