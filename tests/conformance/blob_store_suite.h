// What every place of small objects promises (state/blob_store.h), whoever serves it: run it with
// INSTANTIATE_TEST_SUITE_P(Name, BlobStoreSuite, ::testing::Values(factory)).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "state/blob_store.h"

namespace podctl::testing {

// One place, empty at first, and doors to it as several runs of podctl have them.
class BlobBench {
 public:
  virtual ~BlobBench() = default;
  // Lives no longer than the bench. Each is for one thread at a time.
  virtual std::unique_ptr<BlobStore> Open() = 0;
  // Between two writes of one object, where the place is slow with these.
  virtual void Pause() {}
};

// Its error, where the server is missing, is an EXPECT that says so, and nullptr.
using BlobBenchFactory = std::function<std::unique_ptr<BlobBench>()>;

class BlobStoreSuite : public ::testing::TestWithParam<BlobBenchFactory> {
 protected:
  static constexpr int kWriters = 20;

  void SetUp() override {
    bench_ = GetParam()();
    ASSERT_TRUE(bench_);
    blobs_ = bench_->Open();
    other_ = bench_->Open();
  }

  std::string Content(const std::string& name) {
    const auto blob = other_->Get(name, {});
    if (!blob) return blob.error().message;
    return *blob ? (*blob)->bytes : "none";
  }
  BlobVersion VersionOf(const std::string& name) {
    const auto blob = other_->Get(name, {});
    return blob && *blob ? (*blob)->version : BlobVersion{};
  }
  BlobVersion Make(const std::string& name, const std::string& bytes) {
    auto made = blobs_->CreateIfAbsent(name, bytes, {});
    EXPECT_TRUE(made) << name << ": " << made.error().message;
    return made ? *made : BlobVersion{};
  }
  BlobVersion Replace(const std::string& name, const std::string& bytes, const BlobVersion& at) {
    bench_->Pause();
    auto made = blobs_->ReplaceIf(name, bytes, at, {});
    EXPECT_TRUE(made) << name << ": " << made.error().message;
    return made ? *made : BlobVersion{};
  }
  std::vector<std::string> Names(const std::string& prefix, const std::string& from) {
    std::vector<std::string> names;
    const auto entries = other_->ListFrom(prefix, from, {});
    EXPECT_TRUE(entries) << entries.error().message;
    if (!entries) return names;
    for (const BlobEntry& entry : *entries) {
      EXPECT_EQ(entry.version, VersionOf(entry.name)) << entry.name;
      names.push_back(entry.name);
    }
    return names;
  }
  template <typename T>
  static ErrorCode Code(const Result<T>& result) {
    return result ? ErrorCode::kUnknown : result.error().code;
  }
  // Its ninth byte is the mark. No two pieces of it are the same, and packed it is no smaller.
  static std::string Large(std::size_t bytes, char mark) {
    std::minstd_rand chance(static_cast<unsigned char>(mark));
    std::string text(bytes, mark);
    for (std::size_t i = 9; i < bytes; ++i) text[i] = static_cast<char>(chance() >> 8U);
    return text;
  }

  std::unique_ptr<BlobBench> bench_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<BlobStore> other_;  // reads
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BlobStoreSuite);

TEST_P(BlobStoreSuite, WhatWasWrittenIsRead) {
  EXPECT_EQ(Content("a"), "none");
  std::string bytes("\0\r\n--\xFF", 6);
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const BlobVersion version = Make("a", bytes);
  EXPECT_EQ(Content("a"), bytes);
  EXPECT_EQ(VersionOf("a"), version);
  Make("empty", "");
  EXPECT_EQ(Content("empty"), "");
  EXPECT_FALSE(blobs_->Where().empty());
}

TEST_P(BlobStoreSuite, OfTwoWhoWriteAtOnceOneLearnsThatTheOtherWasFirst) {
  const BlobVersion first = Make("a", "1");
  EXPECT_EQ(Code(blobs_->CreateIfAbsent("a", "2", {})), ErrorCode::kFailedPrecondition);
  const BlobVersion second = Replace("a", "2", first);
  EXPECT_FALSE(first == second);
  EXPECT_EQ(Code(blobs_->ReplaceIf("a", "3", first, {})), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Code(blobs_->DeleteIf("a", first, {})), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Content("a"), "2");
  EXPECT_TRUE(blobs_->DeleteIf("a", second, {}));
  EXPECT_EQ(Code(blobs_->DeleteIf("a", second, {})), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Code(blobs_->ReplaceIf("a", "3", second, {})), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Content("a"), "none");
  // The same bytes again are another version.
  bench_->Pause();
  const BlobVersion third = Make("a", "2");
  EXPECT_FALSE(third == second);
  EXPECT_EQ(Code(blobs_->DeleteIf("a", second, {})), ErrorCode::kFailedPrecondition);
}

TEST_P(BlobStoreSuite, OfManyWhoCreateOneDoes) {
  std::atomic<int> won = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<BlobStore>> doors;
  for (int i = 0; i < kWriters; ++i) doors.push_back(bench_->Open());
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      const auto made =
          doors[static_cast<std::size_t>(i)]->CreateIfAbsent("journal/1", std::to_string(i), {});
      won += made ? 1 : 0;
      refused += Code(made) == ErrorCode::kFailedPrecondition ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(refused, kWriters - 1);
}

TEST_P(BlobStoreSuite, ListsBeginWhereTheyAreTold) {
  using ::testing::ElementsAre;
  for (const char* name : {"journal/001", "journal/002", "journal/010", "lock", "journal.x"}) {
    Make(name, name);
  }
  EXPECT_THAT(Names("journal/", ""), ElementsAre("journal/001", "journal/002", "journal/010"));
  EXPECT_THAT(Names("journal/", "journal/002"), ElementsAre("journal/002", "journal/010"));
  EXPECT_THAT(Names("journal/", "journal/0015"), ElementsAre("journal/002", "journal/010"));
  EXPECT_THAT(Names("journal/", "journal/9"), ElementsAre());
  EXPECT_THAT(Names("journal/", "z"), ElementsAre());
  EXPECT_THAT(Names("", "journal/010"), ElementsAre("journal/010", "lock"));
  EXPECT_EQ(Names("", "").size(), 5U);
}

TEST_P(BlobStoreSuite, ManyPagesAreOneList) {
  for (int i = 0; i < 1001; ++i) Make("j/" + std::to_string(10000 + i), "x");
  const auto entries = blobs_->ListFrom("j/", "", {});
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->size(), 1001U);
  EXPECT_TRUE(std::is_sorted(entries->begin(), entries->end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
}

TEST_P(BlobStoreSuite, ALargeBlobIsAsGoodAsASmallOne) {
  using ::testing::ElementsAre;
  const std::string first = Large(std::size_t{5} << 20, 'a');
  const std::string second = Large((std::size_t{5} << 20) + 1, 'b');
  const BlobVersion one = Make("state", first);
  EXPECT_TRUE(Content("state") == first);
  EXPECT_EQ(VersionOf("state"), one);
  EXPECT_THAT(Names("", ""), ElementsAre("state"));
  EXPECT_EQ(Code(blobs_->CreateIfAbsent("state", second, {})), ErrorCode::kFailedPrecondition);
  const BlobVersion two = Replace("state", second, one);
  EXPECT_TRUE(Content("state") == second);
  EXPECT_EQ(Code(blobs_->ReplaceIf("state", first, one, {})), ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(Content("state") == second);
  // Names that begin with another's are others all the same.
  Make("state/x", first);
  const BlobVersion three = Replace("state", "small", two);
  EXPECT_EQ(Content("state"), "small");
  EXPECT_TRUE(Content("state/x") == first);
  const BlobVersion four = Replace("state", first, three);
  EXPECT_TRUE(blobs_->DeleteIf("state", four, {}));
  EXPECT_EQ(Content("state"), "none");
  EXPECT_TRUE(Content("state/x") == first);
  EXPECT_THAT(Names("", ""), ElementsAre("state/x"));
}

TEST_P(BlobStoreSuite, WhoReadsALargeBlobWhileItIsReplacedSeesOneOfThem) {
  constexpr std::size_t kBytes = 2'500'000;
  constexpr int kTimes = 3;
  BlobVersion at = Make("state", Large(kBytes, 'a'));
  std::atomic<bool> done = false;
  std::thread reader([&] {
    do {
      const auto blob = other_->Get("state", {});
      ASSERT_TRUE(blob && *blob) << blob.error().message;
      const std::string& bytes = (*blob)->bytes;
      ASSERT_TRUE(bytes == Large(kBytes, bytes[8]));
    } while (!done);
  });
  for (int i = 1; i <= kTimes; ++i) {
    at = Replace("state", Large(kBytes, static_cast<char>('a' + i)), at);
  }
  done = true;
  reader.join();
}

}  // namespace podctl::testing
