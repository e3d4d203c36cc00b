// Buckets and objects of Cloud Storage, as its JSON API (v1) has them: generations and
// metagenerations, versions, conditions, retention, one write a second to an object. Who may do
// what, soft deletion, life cycles, folders and classes are not played.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "providers/base/value.h"
#include "providers/emulator/service/core.h"
#include "providers/emulator/service/storage_rules.h"

namespace podctl::emulator {

// What is asked of a bucket or an object.
struct StorageCall {
  std::string project;  // of lists of buckets, and of new ones
  std::string bucket;
  std::string object;
  std::int64_t generation = 0;  // 0: of the live version
  StorageConditions conditions;
  std::string user_project;  // who pays
  std::string kms_key;
  Value body;
  // Of a rewrite, a copy and a move.
  std::string source_bucket;
  std::string source_object;
  std::int64_t source_generation = 0;
  StorageConditions source_conditions;
};

struct StorageListing {
  std::string prefix;
  std::string delimiter;
  std::string start;  // this name and those after it
  std::string end;    // those before it; "": all
  bool versions = false;
  bool trailing_delimiter = false;
  PageRequest page;
};

struct StoredObject {
  Value resource;
  std::shared_ptr<const std::string> bytes;

  bool is_live() const { return resource.Find("timeDeleted") == nullptr; }
  std::int64_t generation() const { return resource["generation"].AsInt(); }
  std::int64_t metageneration() const { return resource["metageneration"].AsInt(); }
};
using FoundObject = std::variant<StoredObject, ApiError>;

class Storage {
 public:
  enum class Copying { kRewrite, kCopy, kMove };

  explicit Storage(Core* core) : core_(core) {}  // lent

  Answer ListBuckets(const StorageCall& call, const StorageListing& listing) const;
  Answer InsertBucket(const StorageCall& call);
  Answer GetBucket(const StorageCall& call) const;
  Answer PatchBucket(const StorageCall& call);
  Answer DeleteBucket(const StorageCall& call);

  Answer List(const StorageCall& call, const StorageListing& listing) const;
  FoundObject Get(const StorageCall& call) const;
  // Whether an insert would be refused already, for who is about to send a large object.
  Refusal CheckInsert(const StorageCall& call) const;
  Answer Insert(const StorageCall& call, std::shared_ptr<const std::string> bytes);
  // `replaces`: what the body does not name goes.
  Answer Patch(const StorageCall& call, bool replaces);
  Answer Delete(const StorageCall& call);
  Answer Compose(const StorageCall& call);
  Answer Copy(const StorageCall& call, Copying how);

  // `kind`: "storageBucket" or "storageObject".
  void Restore(std::string_view kind, const std::string& name, const Value& record);

 private:
  using Versions = std::vector<StoredObject>;  // from old to new; the last one may live
  struct Bucket {
    Value resource;
    std::map<std::string, Versions> objects;
    std::map<std::string, std::int64_t> written_ms;  // of objects, as long as it matters
  };

  // Null where there is none, with the refusal.
  const Bucket* Find(const StorageCall& call, const std::string& name, Refusal* refusal) const;
  Bucket* Find(const StorageCall& call, const std::string& name, Refusal* refusal);
  static const StoredObject* Live(const Bucket& bucket, const std::string& name);
  Refusal CheckWrite(const Bucket& bucket, const std::string& name) const;
  Refusal CheckRetention(const Bucket& bucket, const StoredObject& object) const;
  Answer Store(const StorageCall& call, const Value& metadata,
               const std::shared_ptr<const std::string>& bytes, std::int64_t components);
  Value NewResource(const StorageCall& call, const Bucket& bucket, const Value& metadata,
                    const std::string& bytes, std::int64_t components);
  // Takes the live version away, or makes it a noncurrent one.
  void Retire(Bucket* bucket, const std::string& bucket_name, const std::string& name);
  Result<void> Save(const std::string& bucket, const std::string& name, const StoredObject& object);
  void Forget(const std::string& bucket, const std::string& name, const StoredObject& object);
  Result<void> SaveBucket(const std::string& name);
  std::string Now() const;  // as the service prints times

  Core* const core_;
  std::map<std::string, Bucket> buckets_;
  std::int64_t last_generation_ = 0;
  std::size_t bytes_ = 0;  // of all objects
};

}  // namespace podctl::emulator
