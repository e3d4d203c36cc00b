// Access tokens that somebody else has got and put somewhere: a file, a variable.
#pragma once

#include <memory>
#include <string>

#include "providers/gcp/credentials/token_source.h"

namespace podctl::gcp {

// The file is read each time, since who wrote it may have renewed it. `named_by` is the variable
// that names it, for messages.
std::unique_ptr<TokenSource> MakeTokenFile(const CredentialDoors& doors, std::string path,
                                           std::string named_by);
std::unique_ptr<TokenSource> MakeTokenVariable(const CredentialDoors& doors, std::string name);

}  // namespace podctl::gcp
