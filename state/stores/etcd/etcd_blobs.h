// The door to small objects (state/blob_store.h) for a place in etcd: etcd://HOSTS/PREFIX.
//
//   PREFIX/NAME                     the blob; its version is the revision that wrote this key last
//   PREFIX/.chunks/NAME/ID/00000    a piece of it, where it is larger than etcd takes at once
//   PREFIX/~clock                   a key whose lease tells the time
//
// From two KiB on a blob is kept as gzip; what is smaller stays as people can read it.
//
// Of a large blob the key PREFIX/NAME holds only what its pieces are (`{"podctl_chunks":…`). They
// are written first, under an ID of their own, and count from the moment in which one transaction
// writes that key; the same transaction removes the pieces of all other versions of this name. A
// reader takes the key and the pieces as of one revision. Who dies, or is overtaken, before that
// transaction leaves pieces behind that nobody reads; whoever next writes this name removes them.
//
// etcd tells no time, but how long a lease has been running out: by the age of one that lasts for
// decades a list of the whole place tells what time it is there. As `written` this is the latest
// moment at which that version can have been written, and never runs ahead of the time that passes;
// when etcd's leader changes, it begins anew. The key is made by the first who writes after a list
// has shown that it is missing; until then, and in lists of one object or of a part of the place,
// nothing is told.
//
// Nor does etcd tell a size without the bytes: `bytes` of a list is 0.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "providers/etcd/client.h"
#include "providers/os/clock.h"
#include "state/blob_store.h"

namespace podctl {

// Thread safe. The client must outlive it. Errors are the client's; kDataLoss also: pieces are
// missing, or are not those that were written, or the gzip is damaged.
class EtcdBlobs final : public BlobStore {
 public:
  static constexpr std::size_t kChunk = 1'000'000;                    // bytes in one key
  static constexpr std::size_t kLargestBlob = std::size_t{60} << 20;  // in bytes

  EtcdBlobs(etcd::Client& client, Random& random) : client_(client), random_(random) {}

  Result<std::optional<Blob>> Get(const std::string& name, std::stop_token stop) override;
  Result<std::vector<BlobEntry>> ListFrom(const std::string& prefix, const std::string& from,
                                          std::stop_token stop) override;
  // kInvalidArgument: the name begins like those of pieces, or the bytes are too many.
  Result<BlobVersion> CreateIfAbsent(const std::string& name, const std::string& bytes,
                                     std::stop_token stop) override;
  Result<BlobVersion> ReplaceIf(const std::string& name, const std::string& bytes,
                                const BlobVersion& version, std::stop_token stop) override;
  Result<void> DeleteIf(const std::string& name, const BlobVersion& version,
                        std::stop_token stop) override;
  std::string Where() const override { return client_.place().url; }

 private:
  struct Chunks;
  struct Listing;
  std::string Full(const std::string& name) const;
  std::string ChunkFolder(const std::string& name) const;
  Error Damaged(const std::string& name, std::string_view why) const;
  Result<BlobVersion> Write(const std::string& name, const std::string& text, std::int64_t revision,
                            const std::stop_token& stop);
  Result<Chunks> WriteChunks(const std::string& name, const std::string& bytes,
                             std::int64_t revision, const std::stop_token& stop);
  Result<std::string> ReadChunks(const std::string& name, const etcd::KeyValue& head,
                                 std::int64_t revision, const std::stop_token& stop);
  Result<Listing> ListOnce(const std::string& prefix, const std::string& from,
                           const std::stop_token& stop);
  void StartClock(const std::stop_token& stop);

  etcd::Client& client_;
  Random& random_;
  std::atomic<bool> without_clock_ = false;  // a list has shown so
};

}  // namespace podctl
