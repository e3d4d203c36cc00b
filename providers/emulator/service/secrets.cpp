#include "providers/emulator/service/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "providers/emulator/service/checksums.h"

namespace podctl::emulator {
namespace {

constexpr std::size_t kLargestPayload = 65536;

// By number, as the service calls a project in its answers.
std::string ParentOf(const Call& call) {
  const std::string project = "projects/" + ProjectNumber(call.place.project);
  return call.place.zone.empty() ? project : project + "/locations/" + call.place.zone;
}

std::string SecretNameOf(const Call& call) {
  return fmt::format("{}/secrets/{}", ParentOf(call), call.id);
}

ApiError NoSecret(const std::string& name) {
  return MakeStatus("NOT_FOUND", fmt::format("Secret [{}] not found.", name));
}

bool IsSecretId(std::string_view id) {
  constexpr std::size_t kLongest = 255;
  return !id.empty() && id.size() <= kLongest && std::all_of(id.begin(), id.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
}

// Without what it holds.
Value ViewOf(Value version) {
  version.Erase("data");
  return version;
}

ApiError Full(const Error& error) {
  return MakeStatus("INTERNAL", error.message);
}

}  // namespace

Answer SecretTable::List(const Call& call) const {
  Page page("secrets", call.page);
  std::int64_t total = 0;
  const std::string prefix = ParentOf(call) + "/secrets/";
  for (const auto& [name, secret] : secrets_.rows()) total += name.starts_with(prefix) ? 1 : 0;
  EachOfPage(secrets_.rows(), prefix, call.page, [&](const std::string& name, const Secret& row) {
    return page.Add(name, row.resource);
  });
  Value answer = page.Take();
  answer.Set("totalSize", total);
  return answer;
}

Answer SecretTable::Create(const Call& call) {
  if (!IsSecretId(call.id)) {
    return InvalidArgument(
        fmt::format("The provided Secret ID [{}] does not match the expected "
                    "format [[a-zA-Z_0-9-]+]",
                    call.id));
  }
  const bool regional = !call.place.zone.empty();
  const bool replicated = call.body["replication"].is_map();
  if (replicated == regional) {
    return InvalidArgument(regional ? "Replication must not be set for a regional secret."
                                    : "Replication is required.");
  }
  const std::string name = SecretNameOf(call);
  if (secrets_.Find(name) != nullptr) {
    return MakeStatus("ALREADY_EXISTS", fmt::format("Secret [{}] already exists.", name));
  }
  Secret secret;
  secret.resource = call.body;
  secret.resource.Set("name", name);
  secret.resource.Set("createTime", core_->clock.Timestamp());
  if (auto saved = secrets_.Put(name, std::move(secret)); !saved) return Full(saved.error());
  return secrets_.at(name).resource;
}

Answer SecretTable::Get(const Call& call) const {
  const Secret* secret = secrets_.Find(SecretNameOf(call));
  if (secret == nullptr) return NoSecret(SecretNameOf(call));
  return secret->resource;
}

Answer SecretTable::Patch(const Call& call) {
  const std::string name = SecretNameOf(call);
  Secret* secret = secrets_.Find(name);
  if (secret == nullptr) return NoSecret(name);
  for (const std::string& field : call.fields) {
    const std::string path = field == "version_aliases" ? "versionAliases" : field;
    if (path != "labels" && path != "annotations" && path != "versionAliases") {
      return MakeStatus("UNIMPLEMENTED", fmt::format("The emulator cannot change {}.", field));
    }
    secret->resource.Set(path, call.body[path]);
  }
  secrets_.Keep(name);
  return secret->resource;
}

Answer SecretTable::Delete(const Call& call) {
  const std::string name = SecretNameOf(call);
  if (!secrets_.Erase(name)) return NoSecret(name);
  return Value::EmptyMap();
}

Answer SecretTable::AddVersion(const Call& call) {
  const std::string name = SecretNameOf(call);
  Secret* secret = secrets_.Find(name);
  if (secret == nullptr) return NoSecret(name);
  const Value& payload = call.body["payload"];
  const auto bytes = Base64Bytes(payload["data"].AsString());
  if (!bytes) {
    return FieldViolation("payload.data",
                          "Invalid value at 'payload.data' (TYPE_BYTES), Base64 decoding failed");
  }
  if (bytes->empty()) return InvalidArgument("Secret Payload cannot be empty.");
  if (bytes->size() > kLargestPayload) {
    return InvalidArgument("The secret payload is too large. The maximum size is 65536 bytes.");
  }
  const Value* sum = payload.Find("dataCrc32c");
  if (sum != nullptr && sum->AsInt(-1) != static_cast<std::int64_t>(Crc32cOf(*bytes))) {
    return InvalidArgument("The payload's checksum does not match its data.");
  }
  const std::size_t number = secret->versions.AsList().size() + 1;
  Value version = Value::Map{{"name", fmt::format("{}/versions/{}", name, number)},
                             {"createTime", core_->clock.Timestamp()},
                             {"state", "ENABLED"},
                             {"data", Base64Text(*bytes)}};
  if (sum != nullptr) version.Set("clientSpecifiedPayloadChecksum", true);
  Value view = ViewOf(version);
  secret->versions.MutableList().push_back(std::move(version));
  if (auto saved = secrets_.Save(name); !saved) {
    secret->versions.MutableList().pop_back();
    return Full(saved.error());
  }
  return view;
}

// The newest first.
Answer SecretTable::ListVersions(const Call& call) const {
  const Secret* secret = secrets_.Find(SecretNameOf(call));
  if (secret == nullptr) return NoSecret(SecretNameOf(call));
  const Value::List& versions = secret->versions.AsList();
  std::size_t before = versions.size() + 1;
  if (!call.page.after.empty() && !ReadNumber(call.page.after, &before)) before = 1;
  Page page("versions", call.page);
  for (std::size_t number = std::min(before, versions.size() + 1); --number > 0;) {
    if (!page.Add(std::to_string(number), ViewOf(versions[number - 1]))) break;
  }
  Value answer = page.Take();
  answer.Set("totalSize", static_cast<std::int64_t>(versions.size()));
  return answer;
}

std::variant<std::size_t, ApiError> SecretTable::Find(const Call& call) const {
  const std::string name = SecretNameOf(call);
  const Secret* secret = secrets_.Find(name);
  const std::size_t count = secret == nullptr ? 0 : secret->versions.AsList().size();
  if (call.version_id == "latest") {
    if (count > 0) return count - 1;
    return MakeStatus("NOT_FOUND", fmt::format("Secret [{}] not found or has no versions.", name));
  }
  std::size_t number = 0;
  const Value* alias =
      secret == nullptr ? nullptr : secret->resource["versionAliases"].Find(call.version_id);
  if (alias != nullptr) number = static_cast<std::size_t>(alias->AsInt());
  const bool found = alias != nullptr || ReadNumber(call.version_id, &number);
  if (found && number >= 1 && number <= count) return number - 1;
  return MakeStatus("NOT_FOUND", fmt::format("Secret Version [{}/versions/{}] not found.", name,
                                             call.version_id));
}

Answer SecretTable::GetVersion(const Call& call) const {
  auto found = Find(call);
  if (auto* refusal = std::get_if<ApiError>(&found)) return std::move(*refusal);
  const Secret& secret = *secrets_.Find(SecretNameOf(call));
  return ViewOf(secret.versions.AsList()[std::get<std::size_t>(found)]);
}

Answer SecretTable::Access(const Call& call) const {
  auto found = Find(call);
  if (auto* refusal = std::get_if<ApiError>(&found)) return std::move(*refusal);
  const Secret& secret = *secrets_.Find(SecretNameOf(call));
  const Value& version = secret.versions.AsList()[std::get<std::size_t>(found)];
  const std::string& name = version["name"].AsString();
  if (const std::string& state = version["state"].AsString(); state != "ENABLED") {
    return FailedPrecondition(fmt::format("Secret Version [{}] is in {} state.", name, state));
  }
  const std::string& data = version["data"].AsString();
  return Value::Map{
      {"name", name},
      {"payload",
       Value::Map{{"data", data}, {"dataCrc32c", std::to_string(Crc32cOf(*Base64Bytes(data)))}}}};
}

Answer SecretTable::SetState(const Call& call, const char* state) {
  auto found = Find(call);
  if (auto* refusal = std::get_if<ApiError>(&found)) return std::move(*refusal);
  const std::string name = SecretNameOf(call);
  Value& version = secrets_.at(name).versions.MutableList()[std::get<std::size_t>(found)];
  if (version["state"] == Value("DESTROYED")) {
    return FailedPrecondition(
        fmt::format("Secret Version [{}] is in DESTROYED state.", version["name"].AsString()));
  }
  version.Set("state", state);
  if (version["state"] == Value("DESTROYED")) {
    version.Erase("data");
    version.Set("destroyTime", core_->clock.Timestamp());
  }
  secrets_.Keep(name);
  return ViewOf(version);
}

}  // namespace podctl::emulator
