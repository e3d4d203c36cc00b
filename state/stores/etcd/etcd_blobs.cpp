#include "state/stores/etcd/etcd_blobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "providers/base/digest.h"
#include "providers/base/gzip.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/http/url.h"

namespace podctl {
namespace {

// With what the key of a large blob begins. A small one that begins so is stored as a large one.
constexpr std::string_view kMark = R"({"podctl_chunks":)";
// With what gzip begins. What begins so by itself is packed once more.
constexpr std::string_view kGzip = "\x1f\x8b";
constexpr std::size_t kWorthGzip = 2048;  // bytes
constexpr std::string_view kChunkFolder = ".chunks/";
// Behind all others, so that every list of the whole place ends with it.
constexpr const char* kClockName = "~clock";
constexpr const char* kClockText =
    "The age of this key's lease is the time by which podctl deletes what is old.\n";
constexpr std::chrono::hours kClockLife{24 * 365 * 30};
constexpr int kPage = 1000;       // keys of a list in one answer
constexpr int kChunksAtOnce = 4;  // in one answer
// Who is overtaken by a compaction each time would have to read more slowly than anybody compacts.
constexpr int kMostRounds = 8;

bool IsBlobName(std::string_view name) {
  return !name.empty() && !name.starts_with(kChunkFolder) && name != kClockName;
}

// As it is stored: what is small stays as people can read it.
std::string Packed(const std::string& bytes) {
  if (bytes.size() < kWorthGzip && !bytes.starts_with(kGzip)) return bytes;
  std::string packed = Gzip(bytes);
  return packed.size() < bytes.size() || bytes.starts_with(kGzip) ? packed : bytes;
}

// nullopt: the token is none that this place gave.
std::optional<std::int64_t> RevisionOf(const BlobVersion& version) {
  const auto number = ParseNumber<std::int64_t>(version.token);
  return number && *number > 0 ? number : std::nullopt;
}

Error BadRequest(const std::string& name, const std::string& why) {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{} cannot be written to etcd: {}", VisibleControls(name), why));
}

// Compacted while it was read, round for round.
Error NeverWhole() {
  return MakeError(ErrorCode::kUnavailable, "etcd is compacted faster than it can be read",
                   "try again");
}

}  // namespace

struct EtcdBlobs::Chunks {
  std::string id;
  std::size_t count = 0;
  std::size_t bytes = 0;
  std::string sha256;
  std::int64_t first_revision = 0;  // that wrote the first piece; not in the text

  std::string Text() const {
    return ToJson(Value::Map{{"podctl_chunks", Value::Map{{"bytes", std::uint64_t{bytes}},
                                                          {"count", std::uint64_t{count}},
                                                          {"id", id},
                                                          {"sha256", sha256}}}});
  }
  static std::optional<Chunks> Parse(const std::string& text) {
    const Result<Value> json = ParseJson(text);
    if (!json) return std::nullopt;
    const Value& of = (*json)["podctl_chunks"];
    Chunks chunks;
    chunks.id = of["id"].AsString();
    const std::int64_t count = of["count"].AsInt(-1);
    const std::int64_t bytes = of["bytes"].AsInt(-1);
    chunks.sha256 = of["sha256"].AsString();
    const auto limit = static_cast<std::int64_t>(kLargestBlob);
    if (chunks.id.empty() || count < 1 || count > limit || bytes < 0 || bytes > limit) {
      return std::nullopt;
    }
    chunks.count = static_cast<std::size_t>(count);
    chunks.bytes = static_cast<std::size_t>(bytes);
    return chunks;
  }
  // Below the folder of its blob's pieces.
  std::string Folder() const { return id + "/"; }
  std::string Name(std::size_t number) const { return fmt::format("{}/{:05}", id, number); }
};

std::string EtcdBlobs::Full(const std::string& name) const {
  return fmt::format("{}/{}", client_.place().prefix, name);
}

// Encoded, so that no blob's pieces lie in another's folder.
std::string EtcdBlobs::ChunkFolder(const std::string& name) const {
  return Full(fmt::format("{}{}/", kChunkFolder, http::PercentEncode(name)));
}

Error EtcdBlobs::Damaged(const std::string& name, std::string_view why) const {
  return MakeError(ErrorCode::kDataLoss,
                   fmt::format("{} in {} is damaged: {}", VisibleControls(name), Where(), why));
}

// kOutOfRange: compacted meanwhile.
Result<std::string> EtcdBlobs::ReadChunks(const std::string& name, const etcd::KeyValue& head,
                                          std::int64_t revision, const std::stop_token& stop) {
  const auto damaged = [&](std::string_view why) { return Damaged(name, why); };
  const std::optional<Chunks> chunks = Chunks::Parse(head.value);
  if (!chunks) return damaged("it does not say what its pieces are");
  const std::string folder = ChunkFolder(name);
  etcd::KeyRange range = etcd::BelowPrefix(folder + chunks->Folder());
  std::string bytes;
  bytes.reserve(chunks->bytes);
  for (std::size_t number = 0; number < chunks->count;) {
    range.key = folder + chunks->Name(number);
    auto found = client_.Read(range, {revision, kChunksAtOnce, false}, stop);
    if (!found) return found.error();
    for (const etcd::KeyValue& chunk : found->keys) {
      if (chunk.key != folder + chunks->Name(number)) return damaged("pieces are missing");
      bytes += chunk.value;
      ++number;
    }
    if (found->keys.empty()) return damaged("pieces are missing");
  }
  if (bytes.size() != chunks->bytes || Sha256Hex(bytes) != chunks->sha256) {
    return damaged("its pieces are not those that were written");
  }
  return bytes;
}

Result<std::optional<Blob>> EtcdBlobs::Get(const std::string& name, std::stop_token stop) {
  for (int round = 0; round < kMostRounds; ++round) {
    auto found = client_.Read({Full(name), ""}, {}, stop);
    if (!found) return found.error();
    if (found->keys.empty()) return std::optional<Blob>();
    const etcd::KeyValue& head = found->keys.front();
    std::string stored = head.value;
    if (stored.starts_with(kMark)) {
      auto pieces = ReadChunks(name, head, found->revision, stop);
      if (!pieces && pieces.error().code == ErrorCode::kOutOfRange) continue;
      if (!pieces) return pieces.error();
      stored = *std::move(pieces);
    }
    if (stored.starts_with(kGzip)) {
      auto text = Gunzip(stored, kLargestBlob);
      if (!text) return Damaged(name, text.error().message);
      stored = *std::move(text);
    }
    return std::make_optional(Blob{std::move(stored), {std::to_string(head.revision)}});
  }
  return NeverWhole();
}

struct EtcdBlobs::Listing {
  std::vector<BlobEntry> entries;
  std::int64_t clock = 0;  // the lease; 0: there is none
};

// All pages as of the first one's revision. kOutOfRange: compacted meanwhile.
Result<EtcdBlobs::Listing> EtcdBlobs::ListOnce(const std::string& prefix, const std::string& from,
                                               const std::stop_token& stop) {
  const std::size_t skip = Full("").size();
  etcd::KeyRange range = etcd::BelowPrefix(Full(prefix));
  range.key = std::max(range.key, Full(from));
  Listing listing;
  etcd::ReadOptions options{0, kPage, true};
  while (range.key < range.end) {
    auto found = client_.Read(range, options, stop);
    if (!found) return found.error();
    for (const etcd::KeyValue& key : found->keys) {
      const std::string name = key.key.substr(skip);
      if (name == kClockName) listing.clock = key.lease;
      if (!IsBlobName(name)) continue;
      listing.entries.push_back({name, {std::to_string(key.revision)}, {}});
    }
    if (!found->more || found->keys.empty()) break;
    range.key = found->keys.back().key + '\0';
    options.revision = found->revision;
  }
  return listing;
}

Result<std::vector<BlobEntry>> EtcdBlobs::ListFrom(const std::string& prefix,
                                                   const std::string& from, std::stop_token stop) {
  for (int round = 0; round < kMostRounds; ++round) {
    auto listing = ListOnce(prefix, from, stop);
    if (!listing && listing.error().code == ErrorCode::kOutOfRange) continue;
    if (!listing) return listing.error();
    if (prefix.empty()) without_clock_ = listing->clock == 0;
    // Asked after the list, so that nothing on it can have been written later. A plan, which finds
    // a snapshot alone, does not ask: where one object lies none is old beside it.
    const bool asks = listing->clock != 0 && listing->entries.size() > 1;
    const auto age =
        asks ? client_.AgeOf(listing->clock, stop) : Result<std::chrono::seconds>(Error{});
    for (BlobEntry& entry : listing->entries) {
      if (age) entry.written = std::chrono::system_clock::time_point(*age);
    }
    return std::move(listing->entries);
  }
  return NeverWhole();
}

// Who cannot, or comes second, does without.
void EtcdBlobs::StartClock(const std::stop_token& stop) {
  if (!without_clock_.exchange(false)) return;
  const auto lease = client_.Grant(kClockLife, stop);
  if (!lease) return;
  etcd::Transaction start;
  start.conditions = {{Full(kClockName), 0}};
  start.puts = {{Full(kClockName), kClockText, *lease}};
  const auto started = client_.Commit(start, stop);
  if (!started && started.error().code == ErrorCode::kFailedPrecondition) {
    (void)client_.Revoke(*lease, stop);
  }
}

// Each piece by itself, and only while the blob's key is what it is to replace.
Result<EtcdBlobs::Chunks> EtcdBlobs::WriteChunks(const std::string& name, const std::string& bytes,
                                                 std::int64_t revision,
                                                 const std::stop_token& stop) {
  Chunks chunks{random_.Uuid(), 0, bytes.size(), Sha256Hex(bytes), 0};
  const std::string folder = ChunkFolder(name);
  do {
    etcd::Transaction one;
    one.conditions = {{Full(name), revision}};
    one.puts = {
        {folder + chunks.Name(chunks.count), bytes.substr(chunks.count * kChunk, kChunk), 0}};
    auto written = client_.Commit(one, stop);
    if (!written) {
      Error error = written.error();
      // Whether the piece is there or not: the blob is what it was.
      if (error.code == ErrorCode::kReplyLost) error.code = ErrorCode::kUnavailable;
      if (error.code == ErrorCode::kFailedPrecondition && chunks.count > 0) {
        etcd::Transaction back;
        back.deletes = {etcd::BelowPrefix(folder + chunks.Folder())};
        (void)client_.Commit(back, stop);
      }
      return error;
    }
    if (chunks.count++ == 0) chunks.first_revision = *written;
  } while (chunks.count * kChunk < bytes.size());
  return chunks;
}

Result<BlobVersion> EtcdBlobs::Write(const std::string& name, const std::string& text,
                                     std::int64_t revision, const std::stop_token& stop) {
  if (!IsBlobName(name)) return BadRequest(name, "that is no name for it");
  if (text.size() > kLargestBlob) {
    return BadRequest(name, fmt::format("it has {} bytes", text.size()));
  }
  const std::string bytes = Packed(text);
  const std::string folder = ChunkFolder(name);
  const etcd::KeyRange all = etcd::BelowPrefix(folder);
  etcd::Transaction last;
  last.conditions = {{Full(name), revision}};
  std::string own;  // the folder of this version's pieces, if it has any
  if (bytes.size() <= kChunk && !bytes.starts_with(kMark)) {
    last.deletes = {all};
    last.puts = {{Full(name), bytes, 0}};
  } else {
    auto chunks = WriteChunks(name, bytes, revision, stop);
    if (!chunks) return chunks.error();
    own = folder + chunks->Folder();
    // Where another wrote meanwhile, the pieces are gone, although there may be no blob again.
    last.conditions.push_back({folder + chunks->Name(0), chunks->first_revision});
    const etcd::KeyRange kept = etcd::BelowPrefix(own);
    last.deletes = {{all.key, kept.key}, {kept.end, all.end}};
    last.puts = {{Full(name), chunks->Text(), 0}};
  }
  auto written = client_.Commit(last, stop);
  if (written) {
    StartClock(stop);
    return BlobVersion{std::to_string(*written)};
  }
  if (!own.empty() && written.error().code == ErrorCode::kFailedPrecondition) {
    etcd::Transaction back;
    back.deletes = {etcd::BelowPrefix(own)};
    (void)client_.Commit(back, stop);
  }
  return written.error();
}

Result<BlobVersion> EtcdBlobs::CreateIfAbsent(const std::string& name, const std::string& bytes,
                                              std::stop_token stop) {
  return Write(name, bytes, 0, stop);
}

Result<BlobVersion> EtcdBlobs::ReplaceIf(const std::string& name, const std::string& bytes,
                                         const BlobVersion& version, std::stop_token stop) {
  const auto revision = RevisionOf(version);
  if (!revision) return BadRequest(name, "the version to replace is none of etcd's");
  return Write(name, bytes, *revision, stop);
}

Result<void> EtcdBlobs::DeleteIf(const std::string& name, const BlobVersion& version,
                                 std::stop_token stop) {
  const auto revision = RevisionOf(version);
  if (!revision || !IsBlobName(name)) {
    return BadRequest(name, "the version to delete is none of etcd's");
  }
  etcd::Transaction transaction;
  transaction.conditions = {{Full(name), *revision}};
  transaction.deletes = {{Full(name), ""}, etcd::BelowPrefix(ChunkFolder(name))};
  auto deleted = client_.Commit(transaction, stop);
  if (deleted) return {};
  return deleted.error();
}

}  // namespace podctl
