// What the runs of server_lives.h do where the state is a journal: on a place of objects.
#pragma once

#include <memory>
#include <string>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/record.h"
#include "providers/base/json.h"
#include "state/stores/journal_store.h"
#include "tests/state/stores/server_lives.h"
#include "tests/support/addresses.h"
#include "tests/support/sample_state.h"

namespace podctl::testing {

// A server with places of objects, by name.
class LiveJournalServer : public LiveServer {
 public:
  // The way of one process; what it rests on lives as long.
  virtual std::shared_ptr<BlobStore> Open(const std::string& state) = 0;

  int Run(const std::string& state, const std::string& folder, std::uint64_t seed) override {
    std::mt19937_64 chance(seed);
    const auto below = [&](std::uint64_t bound) { return chance() % bound; };
    LifeLog log(folder);
    const auto blobs = Open(state);
    RealFileSystem files;
    RealClock clock;
    RealRandom random;
    JournalStore store(*blobs, files, clock, random, LiveHolder(below(2) == 0), RememberedKinds(),
                       Options(folder));
    LockInfo info;
    info.operation = "apply";
    auto lock = store.Lock(info, std::chrono::seconds(10), {});
    if (!lock) return 0;
    auto loaded = store.Load();
    if (!loaded) {
      log.Tell("error " + loaded.error().message);
      return loaded.error().code == ErrorCode::kUnavailable ? 0 : 1;
    }
    State now = loaded->state ? *loaded->state : SampleState();
    Generation at = loaded->generation;
    const std::uint64_t marks = 1 + below(8);
    for (std::uint64_t i = 0; i < marks && store.MayAct(); ++i) {
      State next = now;
      const std::string mark = fmt::format("mark-{}-{}", ::getpid(), i);
      Pods(next)[Addr("pod.research")].current.uid = mark;
      log.Meant(mark);
      const auto saved =
          at.none() ? store.Save(next, &at) : store.Append(next, ChangesBetween(now, next), &at);
      if (!saved) break;
      log.Acknowledged(mark, at.token.substr(0, at.token.find(':')));
      now = next;
      std::this_thread::sleep_for(std::chrono::milliseconds(below(300)));
    }
    if (below(2) == 0) store.EndRun();
    return 0;
  }

  std::uint64_t Check(const std::string& state, const LifeTale& tale) override {
    const auto blobs = Open(state);
    const auto list = blobs->ListFrom("journal/", "", {});
    EXPECT_TRUE(list) << list.error().message;
    std::map<std::string, std::uint64_t> found;
    std::map<std::int64_t, std::string> writers;  // by epoch
    std::uint64_t last = 0;
    std::int64_t epoch = 0;
    std::string newest;
    for (const BlobEntry& listed : list ? *list : std::vector<BlobEntry>()) {
      EXPECT_EQ(EntryNumber(listed.name), ++last);
      const auto blob = blobs->Get(listed.name, {});
      EXPECT_TRUE(blob && *blob);
      if (!blob || !*blob) continue;
      const Value entry = ParseJson((*blob)->bytes).value_or(Value());
      const std::int64_t now = entry["entry"]["epoch"].AsInt();
      EXPECT_GE(now, epoch) << listed.name << " follows a fence of another run";
      epoch = now;
      const Value::List& objects = entry["changes"]["pod.research"]["objects"].AsList();
      const std::string mark = objects.empty() ? "" : objects[0]["uid"].AsString();
      if (!mark.starts_with("mark-")) continue;
      EXPECT_TRUE(tale.meant.contains(mark)) << mark;
      EXPECT_TRUE(found.emplace(mark, last).second) << mark << " stands there twice";
      const std::string run = mark.substr(0, mark.rfind('-'));
      EXPECT_EQ(writers.emplace(now, run).first->second, run) << "two runs write in epoch " << now;
      newest = mark;
    }
    for (const auto& [mark, number] : tale.acknowledged) {
      EXPECT_EQ(found[mark], number) << mark << " was acknowledged";
    }
    CheckNewest(*blobs, newest);
    return last;
  }

 private:
  static JournalStoreOptions Options(const std::string& folder) {
    JournalStoreOptions options;
    options.run.who = fmt::format("run {}", ::getpid());
    options.patience = std::chrono::milliseconds(10'000);
    options.ttl = std::chrono::milliseconds(2000);
    options.compact_entries = 3;
    options.most_entries = 6;
    options.keep = 3;
    options.aside_folders = {folder};
    return options;
  }
  void CheckNewest(BlobStore& blobs, const std::string& newest) const {
    RealFileSystem files;
    RealClock clock;
    RealRandom random;
    JournalStore store(blobs, files, clock, random, LiveHolder(true), RememberedKinds(),
                       Options(Folder()));
    const auto loaded = store.Load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    if (newest.empty()) return;
    ASSERT_TRUE(loaded->state);
    State state = *loaded->state;
    EXPECT_EQ(Pods(state)[Addr("pod.research")].current.uid, newest);
  }
};

}  // namespace podctl::testing
