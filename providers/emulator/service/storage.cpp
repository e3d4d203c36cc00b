#include "providers/emulator/service/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/emulator/service/checksums.h"

namespace podctl::emulator {
namespace {

constexpr std::int64_t kWritePauseMs = 1000;  // between two writes to one object
constexpr std::size_t kMostComponents = 32;
// Behind the name of an object in a page's token; no name holds it.
constexpr char kBehindName = '\n';

std::string LinkOf(std::string_view folder, std::string_view bucket, std::string_view name) {
  return fmt::format("https://www.googleapis.com/{}/b/{}/o/{}", folder, bucket, PathPart(name));
}

void Number(const std::string& bucket, const std::string& name, std::int64_t generation,
            std::int64_t metageneration, Value* resource) {
  resource->Set("id", fmt::format("{}/{}/{}", bucket, name, generation));
  resource->Set("generation", std::to_string(generation));
  resource->Set("metageneration", std::to_string(metageneration));
  resource->Set("etag", StorageEtag(generation, metageneration));
  resource->Set("mediaLink", fmt::format("{}?generation={}&alt=media",
                                         LinkOf("download/storage/v1", bucket, name), generation));
}

}  // namespace

const StoredObject* Storage::Live(const Bucket& bucket, const std::string& name) {
  const auto found = bucket.objects.find(name);
  if (found == bucket.objects.end() || !found->second.back().is_live()) return nullptr;
  return &found->second.back();
}

// ---- Reading

FoundObject Storage::Get(const StorageCall& call) const {
  Refusal refusal = CheckObjectName(call.object);
  const Bucket* bucket = refusal ? nullptr : Find(call, call.bucket, &refusal);
  if (bucket == nullptr) return *std::move(refusal);
  const StoredObject* live = Live(*bucket, call.object);
  const StoredObject* wanted = live;
  if (call.generation != 0) {
    wanted = nullptr;
    const auto found = bucket->objects.find(call.object);
    if (found != bucket->objects.end()) {
      for (const StoredObject& version : found->second) {
        if (version.generation() == call.generation) wanted = &version;
      }
    }
  }
  if (wanted == nullptr) return NoSuchObject(call.bucket, call.object);
  refusal =
      call.conditions.Check(live == nullptr ? 0 : live->generation(), wanted->metageneration());
  if (refusal) return *std::move(refusal);
  return *wanted;
}

Answer Storage::List(const StorageCall& call, const StorageListing& listing) const {
  Refusal refusal;
  const Bucket* bucket = Find(call, call.bucket, &refusal);
  if (bucket == nullptr) return *std::move(refusal);
  const std::string& after = listing.page.after;
  const std::size_t sign = after.find(kBehindName);
  const std::string after_name = after.substr(0, std::min(sign, after.size()));
  std::int64_t after_generation = 0;
  if (sign != std::string::npos) {
    static_cast<void>(ReadNumber(after.substr(sign + 1), &after_generation));
  }
  // What begins with a prefix that was listed is listed.
  const std::string listed = !after.empty() && sign == std::string::npos ? after : std::string();
  const std::size_t limit =
      listing.page.size <= 0 ? 1000 : static_cast<std::size_t>(std::min(listing.page.size, 1000));
  Value::List items;
  Value::List prefixes;
  std::string last;
  Value answer = Value::Map{{"kind", "storage#objects"}};
  const auto full = [&] {
    if (items.size() + prefixes.size() < limit) return false;
    answer.Set("nextPageToken", MakePageToken(last));
    return true;
  };
  const std::string& begin = std::max({listing.prefix, listing.start, after_name});
  for (auto at = bucket->objects.lower_bound(begin); at != bucket->objects.end(); ++at) {
    const std::string& name = at->first;
    if (!name.starts_with(listing.prefix)) break;
    if (!listing.end.empty() && name >= listing.end) break;
    const bool has_one = listing.versions || at->second.back().is_live();
    if (!has_one || (!listed.empty() && name.starts_with(listed))) continue;
    const std::size_t delimiter = listing.delimiter.empty()
                                      ? std::string::npos
                                      : name.find(listing.delimiter, listing.prefix.size());
    if (delimiter != std::string::npos) {
      std::string prefix = name.substr(0, delimiter + listing.delimiter.size());
      const bool also_item = listing.trailing_delimiter && prefix == name;
      if (!prefixes.empty() && prefixes.back().AsString() == prefix) continue;
      if (full()) break;
      last = prefix;
      prefixes.emplace_back(std::move(prefix));
      if (also_item) items.push_back(at->second.back().resource);
      continue;
    }
    bool stopped = false;
    for (const StoredObject& version : at->second) {
      if (!listing.versions && !version.is_live()) continue;
      if (sign != std::string::npos && name == after_name &&
          version.generation() <= after_generation) {
        continue;
      }
      if ((stopped = full())) break;
      last = fmt::format("{}{}{}", name, kBehindName, version.generation());
      items.push_back(version.resource);
    }
    if (stopped) break;
  }
  if (!items.empty()) answer.Set("items", std::move(items));
  if (!prefixes.empty()) answer.Set("prefixes", std::move(prefixes));
  return answer;
}

// ---- Writing

// Google lets short bursts through; here nothing is left to luck.
Refusal Storage::CheckWrite(const Bucket& bucket, const std::string& name) const {
  const auto written = bucket.written_ms.find(name);
  if (written == bucket.written_ms.end()) return std::nullopt;
  const std::int64_t passed = core_->clock.NowMs() - written->second;
  if (passed < 0 || passed >= kWritePauseMs) return std::nullopt;
  return StorageError(
      429, "rateLimitExceeded",
      fmt::format("The object {}/{} exceeded the rate limit for object mutation operations "
                  "(create, update, and delete). Please reduce your request rate. See "
                  "https://cloud.google.com/storage/docs/gcs429.",
                  bucket.resource["name"].AsString(), name));
}

Refusal Storage::CheckRetention(const Bucket& bucket, const StoredObject& object) const {
  const std::string name = fmt::format("{}/{}", object.resource["bucket"].AsString(),
                                       object.resource["name"].AsString());
  const Value& resource = object.resource;
  if (resource["temporaryHold"].AsBool() || resource["eventBasedHold"].AsBool()) {
    return StorageError(403, "objectUnderActiveHold",
                        fmt::format("Object '{}' is under active Temporary hold or Event-Based "
                                    "hold and cannot be deleted, overwritten or archived until "
                                    "hold is removed.",
                                    name));
  }
  const Value& policy = bucket.resource["retentionPolicy"];
  const auto made = TimestampMs(resource["timeCreated"].AsString());
  if (!policy.is_map() || !made) return std::nullopt;
  const std::int64_t until = *made + policy["retentionPeriod"].AsInt() * 1000;
  if (core_->clock.NowMs() >= until) return std::nullopt;
  return StorageError(403, "retentionPolicyNotMet",
                      fmt::format("Object '{}' is subject to bucket's retention policy or object "
                                  "retention and cannot be deleted or overwritten until {}",
                                  name, TimeText(until)));
}

Refusal Storage::CheckInsert(const StorageCall& call) const {
  Refusal refusal;
  const Bucket* bucket = Find(call, call.bucket, &refusal);
  if (!refusal) refusal = CheckObjectName(call.object);
  if (refusal) return refusal;
  const StoredObject* live = Live(*bucket, call.object);
  refusal = live == nullptr ? call.conditions.Check(0, 0)
                            : call.conditions.Check(live->generation(), live->metageneration());
  if (!refusal) refusal = CheckMetadata(call.body["metadata"]);
  if (!refusal) refusal = CheckKmsKey(call.kms_key);
  // With versions, what is overwritten stays.
  const bool archives = bucket->resource["versioning"]["enabled"].AsBool();
  if (!refusal && live != nullptr && !archives) refusal = CheckRetention(*bucket, *live);
  if (!refusal) refusal = CheckWrite(*bucket, call.object);
  return refusal;
}

Value Storage::NewResource(const StorageCall& call, const Bucket& bucket, const Value& metadata,
                           const std::string& bytes, std::int64_t components) {
  last_generation_ = std::max(last_generation_ + 1, core_->clock.NowMs() * 1000);
  const std::string now = Now();
  Value resource = Value::Map{{"kind", "storage#object"},
                              {"selfLink", LinkOf("storage/v1", call.bucket, call.object)},
                              {"name", call.object},
                              {"bucket", call.bucket},
                              {"storageClass", bucket.resource["storageClass"]},
                              {"size", std::to_string(bytes.size())},
                              {"crc32c", Crc32cText(bytes)},
                              {"timeCreated", now},
                              {"timeFinalized", now},
                              {"timeStorageClassUpdated", now},
                              {"updated", now}};
  // Of what was composed Google tells no MD5.
  if (components == 0) resource.Set("md5Hash", Md5Text(bytes));
  if (components != 0) resource.Set("componentCount", components);
  for (const auto& [member, value] : metadata.AsMap()) {
    if (IsWritableOfObject(member) && !value.is_null()) resource.Set(member, value);
  }
  if (resource["metadata"].AsMap().empty()) resource.Erase("metadata");
  const std::string& bucket_key = bucket.resource["encryption"]["defaultKmsKeyName"].AsString();
  const std::string& key = call.kms_key.empty() ? bucket_key : call.kms_key;
  if (!key.empty()) resource.Set("kmsKeyName", key + "/cryptoKeyVersions/1");
  if (const Value& policy = bucket.resource["retentionPolicy"]; policy.is_map()) {
    resource.Set("retentionExpirationTime",
                 TimeText(core_->clock.NowMs() + policy["retentionPeriod"].AsInt() * 1000));
  }
  Number(call.bucket, call.object, last_generation_, 1, &resource);
  return resource;
}

void Storage::Retire(Bucket* bucket, const std::string& bucket_name, const std::string& name) {
  const auto found = bucket->objects.find(name);
  if (found == bucket->objects.end() || !found->second.back().is_live()) return;
  StoredObject& live = found->second.back();
  if (bucket->resource["versioning"]["enabled"].AsBool()) {
    live.resource.Set("timeDeleted", Now());
    static_cast<void>(Save(bucket_name, name, live));
    return;
  }
  Forget(bucket_name, name, live);
  found->second.pop_back();
  if (found->second.empty()) bucket->objects.erase(found);
}

Answer Storage::Store(const StorageCall& call, const Value& metadata,
                      const std::shared_ptr<const std::string>& bytes, std::int64_t components) {
  Refusal refusal = CheckInsert(call);
  if (refusal) return *std::move(refusal);
  const std::size_t size = bytes->size();
  if (size > kLargestObject || bytes_ + size > kLargestStorage) {
    return StorageError(403, "quotaExceeded",
                        "The emulator keeps objects of 64 MiB at most, and of 256 MiB together.");
  }
  Bucket* bucket = Find(call, call.bucket, &refusal);
  StoredObject object{NewResource(call, *bucket, metadata, *bytes, components), bytes};
  if (auto saved = Save(call.bucket, call.object, object); !saved) {
    return StorageError(500, "internalError", saved.error().message);
  }
  Retire(bucket, call.bucket, call.object);
  const std::int64_t now = core_->clock.NowMs();
  std::erase_if(bucket->written_ms,
                [&](const auto& entry) { return now - entry.second >= kWritePauseMs; });
  bucket->written_ms[call.object] = now;
  bytes_ += size;
  Value resource = object.resource;
  bucket->objects[call.object].push_back(std::move(object));
  return resource;
}

Answer Storage::Insert(const StorageCall& call, std::shared_ptr<const std::string> bytes) {
  if (auto refusal = CheckInsert(call)) return *std::move(refusal);
  if (auto refusal = CheckSums(call.body, *bytes)) return *std::move(refusal);
  return Store(call, call.body, std::move(bytes), 0);
}

Answer Storage::Patch(const StorageCall& call, bool replaces) {
  StorageCall found = call;
  found.conditions = {};
  FoundObject wanted = Get(found);
  if (auto* refusal = std::get_if<ApiError>(&wanted)) return std::move(*refusal);
  const StoredObject before = std::get<StoredObject>(std::move(wanted));
  Refusal refusal;
  Bucket* bucket = Find(call, call.bucket, &refusal);
  const StoredObject* live = Live(*bucket, call.object);
  const std::int64_t number = before.metageneration();
  refusal = call.conditions.Check(live == nullptr ? 0 : live->generation(), number);
  if (!refusal) refusal = CheckWrite(*bucket, call.object);
  if (refusal) return *std::move(refusal);
  StoredObject after = before;
  Value change = Value::EmptyMap();
  for (const auto& [member, value] : before.resource.AsMap()) {
    if (replaces && IsWritableOfObject(member)) after.resource.Erase(member);
  }
  for (const auto& [member, value] : call.body.AsMap()) {
    if (IsWritableOfObject(member)) change.Set(member, value);
  }
  MergePatch(change, &after.resource);
  if (after.resource["metadata"].AsMap().empty()) after.resource.Erase("metadata");
  if (refusal = CheckMetadata(after.resource["metadata"]); refusal) return *std::move(refusal);
  after.resource.Set("updated", Now());
  Number(call.bucket, call.object, before.generation(), number + 1, &after.resource);
  if (auto saved = Save(call.bucket, call.object, after); !saved) {
    return StorageError(500, "internalError", saved.error().message);
  }
  bucket->written_ms[call.object] = core_->clock.NowMs();
  for (StoredObject& version : bucket->objects.at(call.object)) {
    if (version.generation() == after.generation()) version = after;
  }
  return after.resource;
}

Answer Storage::Delete(const StorageCall& call) {
  StorageCall found = call;
  found.conditions = {};
  FoundObject wanted = Get(found);
  if (auto* refusal = std::get_if<ApiError>(&wanted)) return std::move(*refusal);
  const StoredObject& object = std::get<StoredObject>(wanted);
  Refusal refusal;
  Bucket* bucket = Find(call, call.bucket, &refusal);
  const StoredObject* live = Live(*bucket, call.object);
  refusal =
      call.conditions.Check(live == nullptr ? 0 : live->generation(), object.metageneration());
  // A version that stays as a noncurrent one is not deleted.
  const bool archives = call.generation == 0 && bucket->resource["versioning"]["enabled"].AsBool();
  if (!refusal && !archives) refusal = CheckRetention(*bucket, object);
  if (refusal) return *std::move(refusal);
  if (call.generation == 0) {
    Retire(bucket, call.bucket, call.object);
    return Value();
  }
  Forget(call.bucket, call.object, object);
  Versions& versions = bucket->objects.at(call.object);
  std::erase_if(versions, [&](const StoredObject& version) {
    return version.generation() == call.generation;
  });
  if (versions.empty()) bucket->objects.erase(call.object);
  return Value();
}

Answer Storage::Compose(const StorageCall& call) {
  const Value::List& sources = call.body["sourceObjects"].AsList();
  if (sources.empty()) {
    return StorageError(400, "required", "You must provide at least one source component.");
  }
  if (sources.size() > kMostComponents) {
    return StorageInvalid(fmt::format(
        "The number of source components provided ({}) exceeds the maximum (32)", sources.size()));
  }
  std::string bytes;
  std::int64_t components = 0;
  for (const Value& source : sources) {
    StorageCall one;
    one.bucket = call.bucket;
    one.user_project = call.user_project;
    one.object = source["name"].AsString();
    one.generation = source["generation"].AsInt();
    FoundObject found = Get(one);
    if (auto* refusal = std::get_if<ApiError>(&found)) return std::move(*refusal);
    const StoredObject& object = std::get<StoredObject>(found);
    const Value* wanted = source["objectPreconditions"].Find("ifGenerationMatch");
    if (wanted != nullptr) one.conditions.generation = wanted->AsInt();
    if (auto refusal = one.conditions.Check(object.generation(), 0)) {
      return *std::move(refusal);
    }
    bytes += *object.bytes;
    components += object.resource["componentCount"].AsInt(1);
  }
  StorageCall write = call;
  write.body = call.body["destination"];
  return Store(write, write.body, std::make_shared<const std::string>(std::move(bytes)),
               components);
}

Answer Storage::Copy(const StorageCall& call, Copying how) {
  StorageCall read;
  read.bucket = call.source_bucket;
  read.object = call.source_object;
  read.generation = call.source_generation;
  read.user_project = call.user_project;
  FoundObject found = Get(read);
  if (auto* refusal = std::get_if<ApiError>(&found)) return std::move(*refusal);
  const StoredObject source = std::get<StoredObject>(std::move(found));
  if (auto refusal = call.source_conditions.Check(source.generation(), source.metageneration())) {
    return *std::move(refusal);
  }
  // Metadata that the request names takes the place of all of the source's.
  const Value::Map& named = call.body.AsMap();
  const bool renames = std::any_of(named.begin(), named.end(), [](const auto& member) {
    return IsWritableOfObject(member.first);
  });
  Answer stored = Store(call, renames ? call.body : source.resource, source.bytes,
                        source.resource["componentCount"].AsInt());
  const Value* resource = std::get_if<Value>(&stored);
  if (resource == nullptr || how == Copying::kCopy) return stored;
  if (how == Copying::kMove) {
    read.generation = 0;
    Answer gone = Delete(read);
    if (std::holds_alternative<ApiError>(gone)) return gone;
    return stored;
  }
  const std::string size = std::to_string(source.bytes->size());
  return Value::Map{{"kind", "storage#rewriteResponse"},
                    {"totalBytesRewritten", size},
                    {"objectSize", size},
                    {"done", true},
                    {"resource", *resource}};
}

}  // namespace podctl::emulator
