// plan, apply and destroy.
#pragma once

#include <string>
#include <vector>

namespace podctl {

class Wiring;

struct ApplyOptions {  // plan, apply, destroy and show
  bool auto_approve = false;
  bool detailed_exitcode = false;
  bool destroy = false;
  bool refresh_only = false;
  bool refresh = true;               // --refresh=false: the state alone tells what there is
  std::vector<std::string> targets;  // --target
  std::vector<std::string> replace;  // --replace
  std::string plan_file;             // apply and show: a saved plan; empty: none
  std::string out;                   // plan: where to save it; empty: nowhere
  bool wait = true;                  // apply --no-wait: leave requests in the queue
  bool markdown = false;             // plan and show: as a comment for a pull request
};

int RunPlan(Wiring& wiring, const ApplyOptions& options);
// With `options.destroy` the empty spec is applied.
int RunApply(Wiring& wiring, const ApplyOptions& options);

}  // namespace podctl
