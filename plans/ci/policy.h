// What the policies of a repository say of a plan: rules in Rego, which conftest (of Open Policy
// Agent) holds against the plan's JSON. Knows no plan and no forge.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "providers/base/diagnostic.h"
#include "providers/base/error.h"
#include "providers/os/environment.h"
#include "providers/os/file_system.h"
#include "providers/os/process.h"

namespace podctl {

struct PolicyDoors {
  ProcessRunner& processes;
  const Environment& environment;
  std::stop_token stop;
};

// Where the policies are: `given` where that says so, else the folder `policy` here, else that of
// the repository. Empty: there are none. An error where `given` is no folder.
Result<std::string> FindPolicies(FileSystem& files, const std::string& given,
                                 const std::string& checkout);

// What is denied is an error, what is warned of a warning. `file`: the plan, as `podctl show
// --json` writes it. conftest gets nothing of the environment but PATH, HOME and TMPDIR: a policy
// can read what it is given, and call servers, and a branch may have brought it along. Errors:
// kNotFound where there is no conftest; kInvalidArgument where the policies cannot be evaluated;
// else as those of ProcessRunner::Run.
Result<Diagnostics> AskPolicies(const PolicyDoors& doors, const std::string& folder,
                                const std::string& file);

// conftest's answer (--output json). kInvalidArgument and kDataLoss for what is no such answer.
Result<Diagnostics> ReadVerdicts(std::string_view json);

}  // namespace podctl
