// Entries and snapshots of a state that is kept as a journal, and locks: what another podctl,
// another tool or a bad transfer may have left in a bucket.
#include "plans/kinds/kinds.h"
#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "state/state_json.h"
#include "state/stores/journal_format.h"
#include "state/stores/journal_reader.h"
#include "state/stores/lease.h"
#include "tests/fuzz/fuzz_target.h"

namespace podctl::fuzz {
namespace {

constexpr const char* kWhere = "gs://bucket/prefix";

void ReadEntry(std::string_view text) {
  const auto document = ParseJson(text);
  const std::int64_t number = document ? (*document)["entry"]["number"].AsInt() : 1;
  const auto entry =
      EntryFromText(text, static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0)),
                    RememberedKinds(), kWhere);
  if (!entry) {
    ExpectShowable(entry.error());
    return;
  }
  const std::string written = EntryText(*entry);
  const auto again = EntryFromText(written, entry->id.number, RememberedKinds(), kWhere);
  Expect(again.has_value(), "an entry that was read can be written and read", written);
  Expect(EntryText(*again) == written, "equal entries are written alike", written);
  JournalView view;
  if (auto followed = view.Follow(*entry, text.size(), kWhere); !followed) {
    ExpectShowable(followed.error());
  }
}

void ReadSnapshot(std::string_view text) {
  const auto snapshot = SnapshotFromText(text, kSnapshotName, RememberedKinds(), kWhere);
  if (!snapshot) {
    ExpectShowable(snapshot.error());
    return;
  }
  const std::string written = SnapshotText(*snapshot);
  const auto again = SnapshotFromText(written, kSnapshotName, RememberedKinds(), kWhere);
  Expect(again.has_value(), "a snapshot that was read can be written and read", written);
  Expect(again->state == snapshot->state && SnapshotText(*again) == written,
         "equal snapshots are written alike", written);
}

void ReadLease(std::string_view text) {
  const auto lease = LeaseFromJson(text);
  if (!lease) return;
  const auto again = LeaseFromJson(LeaseToJson(*lease));
  Expect(again.has_value() && again->ttl == lease->ttl && again->info.id == lease->info.id,
         "a lock is read back equal", LeaseToJson(*lease));
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using podctl::Value;
  const std::string_view text = podctl::fuzz::TextOf(data, size);
  podctl::fuzz::ReadEntry(text);
  podctl::fuzz::ReadSnapshot(text);
  podctl::fuzz::ReadLease(text);
  // Any change breaks a checksum; made anew, the reader behind it is reached.
  auto document = podctl::ParseJson(text);
  if (!document || !document->is_map()) return 0;
  if (document->Find("entry") != nullptr) {
    std::string sound = "{\"entry\":" + podctl::ToJson((*document)["entry"]) +
                        ",\"changes\":" + podctl::ToJson((*document)["changes"]);
    const std::string sum = podctl::Sha256Hex(sound);
    podctl::fuzz::ReadEntry(sound + ",\"checksum\":\"sha256:" + sum + "\"}\n");
  }
  if ((*document)["journal"].is_map()) {
    Value head = (*document)["journal"];
    head.Erase("checksum");
    head.Set("checksum", "sha256:" + podctl::Sha256Hex(podctl::ToJson(head)));
    document->Set("journal", std::move(head));
    podctl::fuzz::ReadSnapshot(podctl::ToJson(*document));
  }
  return 0;
}
