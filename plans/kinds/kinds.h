// The kinds of things that podctl looks after. Whoever adds one adds it here.
#pragma once

#include "state/record_codec.h"

namespace podctl {

// As a state remembers them.
RecordKinds RememberedKinds();

}  // namespace podctl
