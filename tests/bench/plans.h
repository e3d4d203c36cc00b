// No-op plan, first plan and apply of many objects, podctl beside terraform in one run.
#pragma once

#include <string>

namespace podctl::bench {

// A spec of so many pods without workers, and as many `terraform_data` blocks.
std::string ManyPods(int count);
std::string ManyBlocks(int count);

// `all`: terraform's apply of 5,000 objects too, which takes minutes.
void ComparePlans(const std::string& podctl, bool all);

}  // namespace podctl::bench
