// A program that prints the token to be exchanged (google's "executable-sourced credentials").
#pragma once

#include <memory>

#include "providers/gcp/credentials/subject_token.h"

namespace podctl::gcp {

// The program runs only where GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES is 1, without a shell, its
// words cut at blanks, for at most `timeout_millis` (5,000 to 120,000; 30,000 by default). What it
// left in `output_file` serves until its `expiration_time`. What it prints to stderr is not shown.
Result<std::unique_ptr<SubjectToken>> MakeExecutableToken(const CredentialDoors& doors,
                                                          const Fields& source,
                                                          Federation federation);

}  // namespace podctl::gcp
