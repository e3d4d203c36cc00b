// What `podctl doctor` found, as text and as a document. Knows nothing of how it was found.
#pragma once

#include <string>

#include "plans/fleet/doctor.h"
#include "providers/base/value.h"

namespace podctl {

// Healthy workers in one line; then what is wrong, each trouble once with the workers that have it,
// and what to do.
std::string DoctorText(const DoctorReport& report, bool color);
Value DoctorDocument(const DoctorReport& report);

}  // namespace podctl
