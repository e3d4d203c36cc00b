// Declared in metadata.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "providers/base/json.h"
#include "providers/emulator/names.h"
#include "providers/emulator/workers/metadata.h"

namespace podctl::emulator {
namespace {

using Bounds = std::array<int, 3>;

std::string Written(const Bounds& bounds) {
  return fmt::format("{},{},{}", bounds[0], bounds[1], bounds[2]);
}

// "4x4x8".
Bounds ReadTopology(std::string_view text) {
  Bounds bounds{1, 1, 1};
  for (int& bound : bounds) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), bound);
    if (problem != std::errc{} || end == text.data() + text.size()) break;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  }
  return bounds;
}

// A host of a pod has 2x2 chips; one that is alone has all of its topology.
Bounds ChipsOfHost(const Bounds& topology, std::size_t hosts) {
  return hosts <= 1 ? topology : Bounds{2, 2, 1};
}

std::string UidOf(const Value& node) {
  const std::string& id = node["id"].AsString();
  return id.empty() ? ProjectNumber(node["name"].AsString()) : id;
}

// Lines "KEY: 'value'", in order of the keys.
std::string TpuEnv(const MachineSet& machines, std::size_t worker) {
  const Value& node = machines.node;
  const Place name = PlaceOf(node["name"].AsString());
  const Value& config = node["acceleratorConfig"];
  const Bounds topology = ReadTopology(config["topology"].AsString());
  const Bounds chips = ChipsOfHost(topology, machines.addresses.size());
  Bounds hosts{};
  for (std::size_t i = 0; i < 3; ++i) hosts[i] = std::max(1, topology[i] / chips[i]);
  const Value& scheduling = node["schedulingConfig"];
  std::map<std::string, std::string> lines = {
      {"ACCELERATOR_TYPE", node["acceleratorType"].AsString()},
      {"CHIPS_PER_HOST_BOUNDS", Written(chips)},
      {"CONSUMER_PROJECT_ID", name.project},
      {"CONSUMER_PROJECT_NUMBER", ProjectNumber(name.project)},
      {"HOST_BOUNDS", Written(hosts)},
      {"NODE_ID", IdOf(node["name"].AsString())},
      {"PREEMPTIBLE",
       scheduling["preemptible"].AsBool() || scheduling["spot"].AsBool() ? "true" : "false"},
      {"SERVICE_NAME", "tpu.googleapis.com"},
      {"TOPOLOGY", config["topology"].AsString()},
      {"TPU_CHIPS_PER_PROCESS_BOUNDS", Written(chips)},
      {"TPU_PROCESS_BOUNDS", Written(hosts)},
      {"TYPE", config["type"].AsString()},
      {"UID", UidOf(node)},
      {"WORKER_ID", std::to_string(worker)},
      {"ZONE", name.zone},
  };
  if (machines.slices > 1) {
    lines["MEGASCALE_COORDINATOR_ADDRESS"] = machines.coordinator;
    lines["MEGASCALE_NUM_SLICES"] = std::to_string(machines.slices);
    lines["MEGASCALE_SLICE_ID"] = std::to_string(machines.slice);
  }
  std::string text;
  for (const auto& [key, value] : lines) text += fmt::format("{}: '{}'\n", key, value);
  return text;
}

Value Attributes(const MachineSet& machines, std::size_t worker) {
  const Value& node = machines.node;
  Value attributes = Value::EmptyMap();
  for (const auto& [key, value] : machines.metadata.AsMap()) attributes.MutableMap()[key] = value;
  std::string endpoints;  // "name:id:address,…"; only the address is anybody's business
  for (const std::string& address : machines.addresses) {
    endpoints += fmt::format("{}unknown:unknown:{}", endpoints.empty() ? "" : ",", address);
  }
  // What the service writes, whatever a user put there.
  attributes.Set("accelerator-type", node["acceleratorType"].AsString());
  attributes.Set("agent-worker-number", std::to_string(worker));
  attributes.Set("instance-id", IdOf(node["name"].AsString()));
  attributes.Set("tpu-env", TpuEnv(machines, worker));
  attributes.Set("worker-network-endpoints", std::move(endpoints));
  return attributes;
}

Value NetworkInterfaces(const MachineSet& machines, std::size_t worker) {
  const std::string& address = machines.addresses[worker];
  const auto& cards = machines.node["networkConfigs"].AsList();
  const Value& first = cards.empty() ? machines.node["networkConfig"] : cards.front();
  Value card;
  card.Set("ip", address);
  const Place name = PlaceOf(machines.node["name"].AsString());
  const std::string& written = first["network"].AsString();
  const std::string short_name = written.substr(written.rfind('/') + 1);
  card.Set("network", fmt::format("projects/{}/networks/{}", ProjectNumber(name.project),
                                  short_name.empty() ? "default" : short_name));
  Value::List access;
  if (first["enableExternalIps"].AsBool()) {
    Value one;
    one.Set("external-ip", address);
    one.Set("type", "ONE_TO_ONE_NAT");
    access.push_back(std::move(one));
  }
  card.Set("access-configs", std::move(access));
  return Value::List{card};
}

Value ServiceAccounts(const Value& node) {
  const Value& said = node["serviceAccount"];
  Value account;
  account.Set("aliases", Value::List{"default"});
  account.Set("email", said["email"]);
  account.Set("scopes", said["scope"].is_list() ? said["scope"] : Value::EmptyList());
  Value accounts;
  accounts.Set("default", account);
  accounts.Set(said["email"].AsString(), account);
  return accounts;
}

std::string Base64Url(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string coded;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    bits = (bits << 8U) | static_cast<unsigned char>(c);
    for (held += 8; held >= 6;) {
      held -= 6;
      coded += kLetters[(bits >> static_cast<unsigned>(held)) & 63U];
    }
  }
  if (held > 0) coded += kLetters[(bits << static_cast<unsigned>(6 - held)) & 63U];
  return coded;
}

}  // namespace

Value MetadataTree(const MachineSet& machines, std::size_t worker) {
  const Value& node = machines.node;
  const Place name = PlaceOf(node["name"].AsString());
  const std::string number = ProjectNumber(name.project);
  const std::string host = fmt::format("{}-w-{}", machines.host, worker);
  const Value& scheduling = node["schedulingConfig"];
  const bool may_go = scheduling["preemptible"].AsBool() || scheduling["spot"].AsBool();
  const auto number_of = [](const std::string& text) {
    std::int64_t read = 0;
    ReadNumber(ProjectNumber(text), &read);
    return read;
  };
  Value instance =
      Value::Map{{"attributes", Attributes(machines, worker)},
                 {"description", ""},
                 {"hostname", fmt::format("{}.{}.c.{}.internal", host, name.zone, name.project)},
                 {"id", number_of(node["name"].AsString() + "/" + host)},
                 {"maintenance-event", "NONE"},
                 {"name", host},
                 {"network-interfaces", NetworkInterfaces(machines, worker)},
                 {"preempted", "FALSE"},  // one that was taken back has no processes left to ask
                 {"scheduling", Value::Map{{"automatic-restart", may_go ? "FALSE" : "TRUE"},
                                           {"on-host-maintenance", "TERMINATE"},
                                           {"preemptible", may_go ? "TRUE" : "FALSE"}}},
                 {"service-accounts", ServiceAccounts(node)},
                 {"tags", node["tags"].is_list() ? node["tags"] : Value::EmptyList()},
                 {"zone", fmt::format("projects/{}/zones/{}", number, name.zone)}};
  Value project =
      Value::Map{{"attributes", machines.project_metadata.is_map() ? machines.project_metadata
                                                                   : Value::EmptyMap()},
                 {"numeric-project-id", number_of(name.project)},
                 {"project-id", name.project}};
  return Value::Map{{"instance", std::move(instance)},
                    {"project", std::move(project)},
                    {"universe", Value::Map{{"universe-domain", "googleapis.com"}}}};
}

Value MakeToken(std::string_view account) {
  return Value::Map{
      {"access_token", fmt::format("fake-token-of-the-podctl-emulator-for-{}", account)},
      {"expires_in", 3599},
      {"token_type", "Bearer"}};
}

std::string MakeIdentity(std::string_view account, std::string_view audience, std::int64_t now) {
  Value head = Value::Map{{"alg", "RS256"}, {"kid", "podctl-emulator"}, {"typ", "JWT"}};
  Value claims = Value::Map{
      {"aud", audience},   {"email", account}, {"email_verified", true},
      {"exp", now + 3600}, {"iat", now},       {"iss", "https://podctl-emulator.invalid"}};
  return fmt::format("{}.{}.{}", Base64Url(ToJson(head)), Base64Url(ToJson(claims)),
                     Base64Url("signed by nobody: the podctl emulator"));
}

}  // namespace podctl::emulator
