// What is said of a program that leads to a worker (`ssh -W`, gcloud's tunnel), and what is made of
// its own last words. Knows no processes.
#pragma once

#include <string>
#include <string_view>

#include "providers/worker.h"

namespace podctl::ssh {

// At once, of all connections that are open or kept: each costs a process, and gcloud is a big one.
inline constexpr int kMostPrograms = 64;

// Who leads there, for messages: "the jump host alice@bastion", "`gcloud`".
std::string WayName(const WorkerAccess& worker);

// Whether what the program said before it ended means that another try ends alike: it was not let
// in, or took the jump host for another one. What a machine that boots says is not among it.
bool WillNotPass(std::string_view last_words);

// The errno that such a program or ssh itself tells of, as strerror words it; EKEYREJECTED: it was
// let in with none of its keys; 0: none that is known here.
int ErrorInWords(std::string_view words);

}  // namespace podctl::ssh
