// Reads a long-running operation (google.longrunning.Operation with the OperationMetadata of the
// Cloud TPU API). Waiting for one is the executor's business.
#pragma once

#include "providers/provider.h"

namespace podctl::gcp {

// Reads google.longrunning.Operation; `done` absent is false.
Operation ParseOperation(const Value& json);

}  // namespace podctl::gcp
