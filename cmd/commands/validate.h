// `podctl validate`: reads the spec and says what is wrong with it. Contacts nothing.
#pragma once

#include "cmd/output_filter.h"
#include "plans/spec/loader.h"
#include "plans/spec/spec.h"
#include "providers/base/diagnostic.h"
#include "providers/base/value.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"

namespace podctl {

// A spec, and what is wrong with it.
struct Validated {
  Spec spec;
  Diagnostics problems;
};
Validated ValidateSpec(const LoadOptions& load, FileSystem& files, const Environment& environment);

// 0 when there are no errors (warnings may be), else 1. `load`: by which it was read.
int ShowValidated(const Validated& validated, const LoadOptions& load, Streams& streams);
int RunValidate(const LoadOptions& load, FileSystem& files, const Environment& environment,
                Streams& streams);

// {format_version, valid, error_count, warning_count, diagnostics}, in the form of `terraform
// validate -json`, which editors and CI systems read already.
Value DiagnosticsDocument(const Diagnostics& diagnostics);

}  // namespace podctl
