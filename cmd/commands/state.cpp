#include "cmd/commands/state.h"

#include <fmt/format.h>

#include "cmd/commands/plan_run.h"
#include "cmd/views/state_view.h"
#include "providers/base/json.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// The stored state, and (where asked for) which generation it is; shows the error itself.
std::optional<State> LoadStored(Wiring& wiring, StateStore& store,
                                Generation* generation = nullptr) {
  auto stored = store.Load();
  if (!stored) {
    ShowError(wiring, nullptr, "", stored.error());
    return std::nullopt;
  }
  if (generation != nullptr) *generation = stored->generation;
  return std::move(stored->state).value_or(State{});
}

int NoSuchAddress(Wiring& wiring, const State& state, const std::string& address) {
  const std::string near = NearestWord(address, AddressesOf(state));
  ShowError(wiring, nullptr, "",
            MakeError(ErrorCode::kNotFound, fmt::format("`{}` is not in the state", address),
                      near.empty() ? "`podctl state list` shows the addresses there are."
                                   : fmt::format("Did you mean `{}`?", near)));
  return 1;
}

}  // namespace

int RunShow(Wiring& wiring) {
  auto store = wiring.OpenStore(wiring.StatePath());
  const auto state = LoadStored(wiring, *store);
  if (!state) return 1;
  Streams& streams = wiring.streams();
  if (wiring.options().json) {
    streams.out << ToJson(StateDocument(*state), JsonStyle::kIndented) << "\n";
    return 0;
  }
  const auto addresses = AddressesOf(*state);
  if (addresses.empty()) streams.out << "The state is empty.\n";
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    streams.out << (i > 0 ? "\n" : "") << ShowAddress(*state, addresses[i]);
  }
  return 0;
}

int RunStatus(Wiring& wiring) {
  auto store = wiring.OpenStore(wiring.StatePath());
  const auto state = LoadStored(wiring, *store);
  if (!state) return 1;
  auto provider = wiring.provider();
  if (!provider) {
    ShowError(wiring, nullptr, "", provider.error());
    return 1;
  }
  auto observation =
      Observe({}, *state, **provider, wiring.options().parallelism, wiring.interrupt().drain());
  if (!observation) {
    if (wiring.interrupt().requested()) return kInterruptedExitCode;
    ShowError(wiring, nullptr, "", observation.error());
    return 1;
  }
  std::vector<std::string> notes;
  const auto rows = StatusRows(Settle(*state, *observation, &notes), *observation);
  Streams& streams = wiring.streams();
  if (wiring.options().json) {
    Value document = Value::EmptyMap();
    document.Set("format_version", "1.0");
    Value::List pods;
    for (const StatusRow& row : rows) {
      Value pod = Value::EmptyMap();
      pod.Set("pod", row.pod);
      pod.Set("state", row.state);
      pod.Set("health", row.health);
      pod.Set("acceleratorType", row.type);
      pod.Set("zone", row.zone);
      pod.Set("workers", Value(row.workers).AsInt());
      pods.push_back(std::move(pod));
    }
    document.Set("pods", std::move(pods));
    streams.out << ToJson(document, JsonStyle::kIndented) << "\n";
  } else if (rows.empty()) {
    streams.out << "There are no pods in the state.\n";
  } else {
    streams.out << StatusTable(rows, streams.color && streams.out_is_terminal);
  }
  return 0;
}

int RunStateList(Wiring& wiring) {
  auto store = wiring.OpenStore(wiring.StatePath());
  const auto state = LoadStored(wiring, *store);
  if (!state) return 1;
  if (wiring.options().json) {
    Value document = Value::EmptyMap();
    document.Set("format_version", "1.0");
    Value::List addresses;
    for (const std::string& address : AddressesOf(*state)) addresses.emplace_back(address);
    document.Set("addresses", std::move(addresses));
    wiring.streams().out << ToJson(document, JsonStyle::kIndented) << "\n";
    return 0;
  }
  for (const std::string& address : AddressesOf(*state)) wiring.streams().out << address << "\n";
  return 0;
}

int RunStateShow(Wiring& wiring, const std::string& address) {
  auto store = wiring.OpenStore(wiring.StatePath());
  const auto state = LoadStored(wiring, *store);
  if (!state) return 1;
  const std::string text = ShowAddress(*state, address);
  if (text.empty()) return NoSuchAddress(wiring, *state, address);
  if (wiring.options().json) {
    State only = *state;
    std::erase_if(only.pods, [&](const auto& pod) { return pod.first != address; });
    std::erase_if(only.steps, [&](const auto& step) { return step.first != address; });
    wiring.streams().out << ToJson(StateDocument(only), JsonStyle::kIndented) << "\n";
    return 0;
  }
  wiring.streams().out << text;
  return 0;
}

int RunStateRemove(Wiring& wiring, const std::string& address) {
  auto store = wiring.OpenStore(wiring.StatePath());
  auto lock = store->Lock(wiring.LockFor("state rm"), wiring.options().lock_timeout,
                          wiring.interrupt().drain());
  if (!lock) {
    ShowError(wiring, nullptr, "", lock.error());
    return 1;
  }
  Generation generation;
  auto state = LoadStored(wiring, *store, &generation);
  if (!state) return 1;
  const std::size_t pods = state->pods.erase(address);
  const std::size_t steps = state->steps.erase(address);
  if (pods + steps == 0) return NoSuchAddress(wiring, *state, address);
  if (pods > 0) {
    std::erase_if(state->steps, [&](const auto& step) { return step.second.pod == address; });
  }
  auto saved = store->Save(*state, &generation);
  for (const std::string& warning : store->TakeWarnings()) {
    wiring.streams().err << "Warning: " << warning << "\n";
  }
  if (!saved) {
    ShowError(wiring, nullptr, "the state could not be saved", saved.error());
    return 1;
  }
  wiring.streams().out << fmt::format("Removed {} from the state.{}\n", address,
                                      pods > 0 ? " The node itself was left alone." : "");
  return 0;
}

int RunUnlock(Wiring& wiring, const std::string& id) {
  auto store = wiring.OpenStore(wiring.StatePath());
  if (auto unlocked = store->ForceUnlock(id); !unlocked) {
    ShowError(wiring, nullptr, "", unlocked.error());
    return 1;
  }
  wiring.streams().out << "The state is unlocked.\n";
  return 0;
}

}  // namespace podctl
