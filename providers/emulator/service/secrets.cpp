#include "providers/emulator/service/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

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

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Of either alphabet, as protobuf's JSON takes it; nullopt: it is no base64.
std::optional<std::string> BytesOf(std::string_view text) {
  std::string bytes;
  unsigned buffer = 0;
  int bits = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (char c : text) {
    c = c == '-' ? '+' : c == '_' ? '/' : c;
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    buffer = (buffer << 6U) | static_cast<unsigned>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>((buffer >> static_cast<unsigned>(bits)) & 0xFFU);
  }
  return bytes;
}

std::string Base64Of(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group =
          (group << 8U) | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const bool is_padding = i + k > bytes.size();
      text += is_padding ? '=' : kDigits[(group >> (18U - 6U * k)) & 63U];
    }
  }
  return text;
}

// CRC-32C by a table, from the polynomial as it is written: of another make than the client's.
std::int64_t Crc32cOf(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> kTable = [] {
    constexpr std::uint32_t kPolynomial = 0x1EDC6F41;
    const auto mirror = [](std::uint32_t value, int width) {
      std::uint32_t mirrored = 0;
      for (int bit = 0; bit < width; ++bit) {
        mirrored |= ((value >> static_cast<unsigned>(bit)) & 1U)
                    << static_cast<unsigned>(width - 1 - bit);
      }
      return mirrored;
    };
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t rest = mirror(byte, 8) << 24U;
      for (int bit = 0; bit < 8; ++bit) {
        rest = (rest << 1U) ^ ((rest >> 31U) != 0 ? kPolynomial : 0U);
      }
      table[byte] = mirror(rest, 32);
    }
    return table;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) {
    crc = (crc >> 8U) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFU];
  }
  return static_cast<std::int64_t>(crc ^ 0xFFFFFFFFU);
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
  const auto bytes = BytesOf(payload["data"].AsString());
  if (!bytes) {
    return FieldViolation("payload.data",
                          "Invalid value at 'payload.data' (TYPE_BYTES), Base64 decoding failed");
  }
  if (bytes->empty()) return InvalidArgument("Secret Payload cannot be empty.");
  if (bytes->size() > kLargestPayload) {
    return InvalidArgument("The secret payload is too large. The maximum size is 65536 bytes.");
  }
  const Value* sum = payload.Find("dataCrc32c");
  if (sum != nullptr && sum->AsInt(-1) != Crc32cOf(*bytes)) {
    return InvalidArgument("The payload's checksum does not match its data.");
  }
  const std::size_t number = secret->versions.AsList().size() + 1;
  Value version = Value::Map{{"name", fmt::format("{}/versions/{}", name, number)},
                             {"createTime", core_->clock.Timestamp()},
                             {"state", "ENABLED"},
                             {"data", Base64Of(*bytes)}};
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
       Value::Map{{"data", data}, {"dataCrc32c", std::to_string(Crc32cOf(*BytesOf(data)))}}}};
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
