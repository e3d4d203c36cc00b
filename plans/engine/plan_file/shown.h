// Whether a saved plan does what it shows: for the reader the file holds lines beside the action
// that is carried out, and who alters one need not alter the other. Pure.
#pragma once

#include <string>

#include "plans/engine/plan_file.h"

namespace podctl {

// What speaks against it, a clause that names the address; "": nothing. Of what is made, all lines
// have to be those that its action gives. What is changed or replaced was compared with a node
// that is not in the file: for that the seal stands, so it needs a state.
std::string WhyShownOtherwise(const SavedPlan& saved, Kinds kinds);

}  // namespace podctl
