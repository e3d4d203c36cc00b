// Training jobs in the manner of Caliban (`trainingJobs` of a spec), run by Vertex AI.
#pragma once

#include <memory>

#include "plans/engine/kind.h"

namespace podctl {

std::unique_ptr<const Kind> MakeTrainingJobKind();

}  // namespace podctl
