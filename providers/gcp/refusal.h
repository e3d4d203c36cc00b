// Why the service refuses to make a node, told apart: there is none left, the reservation is full,
// the project may not have more, or it was asked too often. What is to be done differs.
//
// It looks at the code first, then at the service's words (which hold those of the error's details,
// api_error.h). Knows no transport and no pods.
#pragma once

#include "providers/base/error.h"

namespace podctl::gcp {

enum class Refusal {
  kNone,         // some other error
  kNoCapacity,   // the zone has none left of the type: passes, or another zone has some
  kReservation,  // the reservation has no room: passes when something in it is deleted
  kQuota,        // what the project may have is used up: does not pass by itself
  kRate,         // too many requests a minute: passes within a minute or two
};

// Where an error was met: admission is refused in the answer to a request, and a lack of capacity
// only by the operation that it began. That decides where the words leave it open.
enum class RefusedBy { kAnswer, kOperation };

Refusal RefusalOf(const Error& error, RefusedBy by);

}  // namespace podctl::gcp
