// How changes of pods are told. Pure.
#pragma once

#include "plans/engine/kind.h"

namespace podctl {

ChangeWords WordsOfPod(const Change& change);

}  // namespace podctl
