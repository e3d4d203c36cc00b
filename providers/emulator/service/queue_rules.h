// What the service makes of a QueuedResource that a client sends: checks, expansion, states.
//
// Bodies come normalised from api/schema.h. Pure; knows neither capacity nor operations. The
// rules are those of the discovery documents of v2 and v2alpha1; what those leave open (texts, the
// expansion of a multislice into one nodeSpec a node) is said where it is decided.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/names.h"
#include "providers/emulator/service/api_error.h"

namespace podctl::emulator {

constexpr int kMaxSlices = 256;  // of one request: a limit of the emulator, not of the service

struct Queued {
  Value resource;                  // tpu.nodeSpec has one entry a node, each with its nodeId
  std::vector<std::string> types;  // accelerator type of each node
  bool is_multislice = false;
  bool is_spot = false;
  std::string reservation;         // its last part; "-" for any; "" for none
  std::int64_t not_before_ms = 0;  // 0: at once. All times since the epoch
  std::int64_t not_after_ms = 0;   // 0: never given up
  std::int64_t run_ms = 0;         // how long its nodes live; 0: until they are deleted
  ApiVersion version = ApiVersion::kV2;
  std::int64_t arrived_ms = 0;
  std::int64_t since_ms = 0;      // of the state
  std::int64_t run_until_ms = 0;  // 0: nobody ends it
  std::int64_t look_ms = 0;       // when there may be something to do; not kept
  Value failure;                  // google.rpc.Status: why a node of it could not be made

  const std::string& state() const { return resource["state"]["state"].AsString(); }
  // The full names that its nodes have, or will have.
  std::vector<std::string> NodeNames() const;
  template <typename Archive>
  void Fields(Archive& archive) {
    archive("resource", resource);
    archive("types", types);
    archive("multislice", is_multislice);
    archive("spot", is_spot);
    archive("reservation", reservation);
    archive("notBeforeMs", not_before_ms);
    archive("notAfterMs", not_after_ms);
    archive("runMs", run_ms);
    archive("version", version);
    archive("arrivedMs", arrived_ms);
    archive("sinceMs", since_ms);
    archive("runUntilMs", run_until_ms);
    archive("failure", failure);
  }
};

// State CREATING.
using NewQueuedAnswer = std::variant<Queued, ApiError>;
NewQueuedAnswer MakeQueued(const Place& place, std::string_view id, const Value& body,
                           ApiVersion version, std::int64_t now_ms, const std::string& create_time);

// The body of node `index`, with what its queued resource gives to it.
Value QueuedNodeBody(const Queued& queued, std::size_t index);

// ACCEPTED and its younger name: nothing has been provisioned yet.
bool IsWaiting(std::string_view state);

// Puts the state and its data field in place of what was there. `initiator`: "USER", "SERVICE" or
// "" where the state has none; `error`: google.rpc.Status, for FAILED.
void SetQueuedState(Value* resource, std::string_view state, std::string_view initiator = {},
                    const Value& error = {});

// What a reader of that version sees.
Value QueuedView(const Value& resource, ApiVersion version);

}  // namespace podctl::emulator
