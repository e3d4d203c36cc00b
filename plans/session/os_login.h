// OS Login, for who is about to enter workers: whether it is on, as whom it lets us in, and that it
// knows our key. Knows no SSH connections.
#pragma once

#include <optional>
#include <string>

#include "plans/engine/change.h"
#include "plans/kinds/pod/record.h"
#include "plans/kinds/pod/refresh.h"
#include "plans/spec/spec.h"

namespace podctl {

// The door to whoever decides it.
class OsLogin {
 public:
  virtual ~OsLogin() = default;
  // Whether the project's metadata turns it on, for nodes that say nothing themselves. Who may not
  // look hears no.
  virtual bool IsOnIn(const std::string& project) = 0;
  // Our user name there. With `import` the public key of `identity_file` is put into our profile
  // where it is not, or not for long any more; it expires after a day.
  virtual Result<std::string> User(const std::string& project, const std::string& identity_file,
                                   bool import) = 0;
  // That User is empty.
  virtual Error NoUser(const std::string& project) = 0;
};

// Which pods are entered by OS Login, by what their spec, their node, or their project says, in
// this order; these get the user name into `ssh`, and no `ssh-keys`. `known` tells the rest: pods
// of which nobody asks. Nothing is changed, and a name that is not there yet stays empty. With
// `will_enter` the project is asked although the state knows, and it is an error that nobody can be
// let in.
Result<void> UseOsLogin(OsLogin& login, const State& known, const Observation& observation,
                        bool will_enter, Spec* spec);

// For the pods of a plan that is about to be applied, and knows which these are: the name of
// whoever applies it. What is missing in the profile is put there.
Result<void> EnterPlanned(OsLogin& login, Plan* plan);

// For a pod whose record says that OS Login decides: the name of whoever runs podctl now. Where
// there is none, the one that was noted stands.
struct NotAsMyself {
  Error why;
  bool asked = false;   // and there is no name; else nobody could be asked
  std::string instead;  // empty: the local user
};
std::optional<NotAsMyself> EnterAsMyself(OsLogin& login, PodRecord* record);

}  // namespace podctl
