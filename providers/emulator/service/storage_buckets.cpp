// The buckets of storage.h, and the journal.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "providers/emulator/service/checksums.h"
#include "providers/emulator/service/storage.h"

namespace podctl::emulator {
namespace {

constexpr std::string_view kBucketLinks = "https://www.googleapis.com/storage/v1/b/";

bool IsWritableOfBucket(std::string_view member) {
  constexpr std::array<std::string_view, 11> kWritable = {
      "versioning", "retentionPolicy", "labels",           "lifecycle",
      "encryption", "billing",         "iamConfiguration", "defaultEventBasedHold",
      "cors",       "logging",         "softDeletePolicy"};
  return std::find(kWritable.begin(), kWritable.end(), member) != kWritable.end();
}

ApiError StorageFull(const Error& error) {
  return StorageError(500, "internalError", error.message);
}

// What the service itself adds to what whoever writes a bucket says.
void CompleteBucket(const std::string& now, const Value& before, Value* bucket) {
  const Value& policy = (*bucket)["retentionPolicy"];
  if (policy.is_map() && policy != before["retentionPolicy"]) {
    bucket->SetPath("retentionPolicy.retentionPeriod",
                    std::to_string(policy["retentionPeriod"].AsInt()));
    bucket->SetPath("retentionPolicy.effectiveTime", now);
  }
  const bool uniform =
      (*bucket)["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"].AsBool();
  bucket->SetPath("iamConfiguration.uniformBucketLevelAccess.enabled", uniform);
  bucket->SetPath("iamConfiguration.bucketPolicyOnly.enabled", uniform);
  if ((*bucket)["iamConfiguration"].Find("publicAccessPrevention") == nullptr) {
    bucket->SetPath("iamConfiguration.publicAccessPrevention", "inherited");
  }
}

Refusal CheckBucket(const Value& body) {
  const Value* period = body["retentionPolicy"].Find("retentionPeriod");
  if (period != nullptr && period->AsInt() <= 0) {
    return StorageInvalid("Invalid value for: retentionPolicy.retentionPeriod");
  }
  return CheckKmsKey(body["encryption"]["defaultKmsKeyName"].AsString());
}

bool IsMultiRegion(std::string_view location) {
  return location == "US" || location == "EU" || location == "ASIA";
}

}  // namespace

std::string Storage::Now() const {
  std::string text = TimeText(core_->clock.NowMs());
  return text.replace(text.size() - 4, 3, "");  // microseconds to milliseconds
}

Result<void> Storage::SaveBucket(const std::string& name) {
  return core_->journal->Put("storageBucket:" + name, buckets_.at(name).resource);
}

Result<void> Storage::Save(const std::string& bucket, const std::string& name,
                           const StoredObject& object) {
  return core_->journal->Put(
      fmt::format("storageObject:{}/{}#{}", bucket, name, object.generation()),
      Value::Map{{"resource", object.resource}, {"bytes", Base64Text(*object.bytes)}});
}

void Storage::Forget(const std::string& bucket, const std::string& name,
                     const StoredObject& object) {
  bytes_ -= object.bytes->size();
  static_cast<void>(core_->journal->Erase(
      fmt::format("storageObject:{}/{}#{}", bucket, name, object.generation())));
}

// The journal's keys come in their order: buckets before objects.
void Storage::Restore(std::string_view kind, const std::string& name, const Value& record) {
  if (kind == "storageBucket") {
    buckets_[name].resource = record;
    return;
  }
  const std::size_t slash = name.find('/');
  const std::size_t sign = name.rfind('#');
  auto bytes = Base64Bytes(record["bytes"].AsString());
  if (slash == std::string::npos || sign == std::string::npos || !bytes) return;
  StoredObject object{record["resource"], std::make_shared<const std::string>(*std::move(bytes))};
  last_generation_ = std::max(last_generation_, object.generation());
  bytes_ += object.bytes->size();
  Versions& versions =
      buckets_[name.substr(0, slash)].objects[name.substr(slash + 1, sign - slash - 1)];
  const auto at = std::upper_bound(versions.begin(), versions.end(), object,
                                   [](const StoredObject& one, const StoredObject& other) {
                                     return one.generation() < other.generation();
                                   });
  versions.insert(at, std::move(object));
}

const Storage::Bucket* Storage::Find(const StorageCall& call, const std::string& name,
                                     Refusal* refusal) const {
  const auto found = buckets_.find(name);
  if (found == buckets_.end()) {
    *refusal = NoSuchBucket();
    return nullptr;
  }
  if (found->second.resource["billing"]["requesterPays"].AsBool() && call.user_project.empty()) {
    *refusal = StorageError(400, "required",
                            "Bucket is a requester pays bucket but no user project provided.");
    return nullptr;
  }
  return &found->second;
}

Storage::Bucket* Storage::Find(const StorageCall& call, const std::string& name, Refusal* refusal) {
  return const_cast<Bucket*>(std::as_const(*this).Find(call, name, refusal));
}

Answer Storage::ListBuckets(const StorageCall& call, const StorageListing& listing) const {
  if (call.project.empty()) return StorageRequired("project");
  const std::string number = ProjectNumber(call.project);
  Page page("items", listing.page);
  EachOfPage(buckets_, listing.prefix, listing.page,
             [&](const std::string& name, const Bucket& bucket) {
               if (bucket.resource["projectNumber"].AsString() != number) return true;
               return page.Add(name, bucket.resource);
             });
  Value answer = page.Take();
  answer.Set("kind", "storage#buckets");
  return answer;
}

Answer Storage::InsertBucket(const StorageCall& call) {
  if (call.project.empty()) return StorageRequired("project");
  const std::string name = call.body["name"].AsString();
  if (name.empty()) return StorageRequired("name");
  if (auto refusal = CheckBucketName(name)) return *std::move(refusal);
  if (auto refusal = CheckBucket(call.body)) return *std::move(refusal);
  if (buckets_.contains(name)) {
    return StorageError(409, "conflict",
                        "Your previous request to create the named bucket succeeded and you "
                        "already own it.");
  }
  std::string location = call.body["location"].AsString();
  std::transform(location.begin(), location.end(), location.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  if (location.empty()) location = "US";
  const std::string now = Now();
  const std::string& storage_class = call.body["storageClass"].AsString();
  Value resource = Value::Map{{"kind", "storage#bucket"},
                              {"id", name},
                              {"selfLink", fmt::format("{}{}", kBucketLinks, name)},
                              {"projectNumber", ProjectNumber(call.project)},
                              {"name", name},
                              {"location", location},
                              {"locationType", IsMultiRegion(location) ? "multi-region" : "region"},
                              {"storageClass", storage_class.empty() ? "STANDARD" : storage_class},
                              {"timeCreated", now},
                              {"updated", now},
                              {"generation", std::to_string(core_->clock.NowMs() * 1000)},
                              {"metageneration", "1"},
                              {"etag", "CAE="}};
  for (const auto& [member, value] : call.body.AsMap()) {
    if (IsWritableOfBucket(member)) resource.Set(member, value);
  }
  CompleteBucket(now, Value(), &resource);
  buckets_[name].resource = resource;
  if (auto saved = SaveBucket(name); !saved) {
    buckets_.erase(name);
    return StorageFull(saved.error());
  }
  return resource;
}

Answer Storage::GetBucket(const StorageCall& call) const {
  Refusal refusal;
  const Bucket* bucket = Find(call, call.bucket, &refusal);
  if (bucket == nullptr) return *std::move(refusal);
  refusal = call.conditions.Check(0, bucket->resource["metageneration"].AsInt());
  if (refusal) return *std::move(refusal);
  return bucket->resource;
}

Answer Storage::PatchBucket(const StorageCall& call) {
  Refusal refusal;
  Bucket* bucket = Find(call, call.bucket, &refusal);
  if (bucket == nullptr) return *std::move(refusal);
  const std::int64_t number = bucket->resource["metageneration"].AsInt();
  refusal = call.conditions.Check(0, number);
  if (!refusal) refusal = CheckBucket(call.body);
  if (refusal) return *std::move(refusal);
  Value change = Value::EmptyMap();
  for (const auto& [member, value] : call.body.AsMap()) {
    if (IsWritableOfBucket(member)) change.Set(member, value);
  }
  const Value before = bucket->resource;
  MergePatch(change, &bucket->resource);
  const std::string now = Now();
  CompleteBucket(now, before, &bucket->resource);
  bucket->resource.Set("metageneration", std::to_string(number + 1));
  bucket->resource.Set("etag", StorageEtag(0, number + 1));
  bucket->resource.Set("updated", now);
  if (auto saved = SaveBucket(call.bucket); !saved) {
    bucket->resource = before;
    return StorageFull(saved.error());
  }
  return bucket->resource;
}

Answer Storage::DeleteBucket(const StorageCall& call) {
  Refusal refusal;
  const Bucket* bucket = Find(call, call.bucket, &refusal);
  if (bucket == nullptr) return *std::move(refusal);
  refusal = call.conditions.Check(0, bucket->resource["metageneration"].AsInt());
  if (refusal) return *std::move(refusal);
  if (!bucket->objects.empty()) {
    return StorageError(409, "conflict", "The bucket you tried to delete is not empty.");
  }
  static_cast<void>(core_->journal->Erase("storageBucket:" + call.bucket));
  buckets_.erase(call.bucket);
  return Value();
}

}  // namespace podctl::emulator
