// No-op plan, first plan and apply of many objects, podctl beside terraform in one run.
#pragma once

#include <string>

namespace podctl::bench {

// `all`: terraform's apply of 5,000 objects too, which takes minutes.
void ComparePlans(const std::string& podctl, bool all);

}  // namespace podctl::bench
