// podctl completion bash: made from the same table as parsing and help.
#pragma once

#include "cmd/streams.h"

namespace podctl {

int RunCompletion(Streams& streams);

}  // namespace podctl
