// What the service makes of a QueuedResource that a client sends: checks, expansion, states.
//
// Bodies come normalised from request_schema.h. Pure; knows neither capacity nor operations. The
// rules are those of the discovery documents of v2 and v2alpha1; what those leave open (texts, the
// expansion of a multislice into one nodeSpec a node) is said where it is decided.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/api_error.h"
#include "providers/emulator/api_version.h"
#include "providers/emulator/node_rules.h"

namespace podctl::emulator {

constexpr int kMaxSlices = 256;  // of one request: a limit of the emulator, not of the service

struct NewQueued {
  Value resource;  // state CREATING; tpu.nodeSpec has one entry a node, each with its nodeId
  std::vector<std::string> types;  // accelerator type of each node
  bool is_multislice = false;
  bool is_spot = false;
  std::string reservation;         // its last part; "-" for any; "" for none
  std::int64_t not_before_ms = 0;  // 0: at once. All times since the epoch
  std::int64_t not_after_ms = 0;   // 0: never given up
  std::int64_t run_ms = 0;         // how long its nodes live; 0: until they are deleted
};

using NewQueuedAnswer = std::variant<NewQueued, ApiError>;
NewQueuedAnswer MakeQueued(const Place& place, std::string_view id, const Value& body,
                           ApiVersion version, std::int64_t now_ms, const std::string& create_time);

// The body of node `index`, with what its queued resource gives to it.
Value QueuedNodeBody(const NewQueued& queued, std::size_t index);

// ACCEPTED and its younger name: nothing has been provisioned yet.
bool IsWaiting(std::string_view state);

// Puts the state and its data field in place of what was there. `initiator`: "USER", "SERVICE" or
// "" where the state has none; `error`: google.rpc.Status, for FAILED.
void SetQueuedState(Value* resource, std::string_view state, std::string_view initiator = {},
                    const Value& error = {});

// What a reader of that version sees.
Value QueuedView(const Value& resource, ApiVersion version);

// The last part of a reservation's name, which may be a plain id.
std::string ReservationId(std::string_view name);

}  // namespace podctl::emulator
