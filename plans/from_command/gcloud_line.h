// The flags of gcloud's commands that create TPUs, as of gcloud 528; data.
#pragma once

#include <span>
#include <string_view>

#include "plans/from_command/flag_words.h"

namespace podctl {

std::span<const FlagRule> GcloudFlags();
// Of a flag that says nothing about the pod: what podctl has instead. Empty for every other.
std::string_view WhyLeftAside(std::string_view flag);

}  // namespace podctl
