// Small objects in Cloud Storage, against the emulator: the client and it share no code but the
// JSON reader, and agree only where both follow the API. PODCTL_STORAGE_URL names another server
// (Google's storage-testbench), for the tests that order no faults.
#include "state/stores/gcs/gcs_blobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "providers/emulator/emulator.h"
#include "providers/http/curl_transport.h"
#include "providers/os/process.h"

namespace podctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GcsBlobsTest : public ::testing::Test {
 protected:
  GcsBlobsTest() {
    if (const char* const url = std::getenv("PODCTL_STORAGE_URL")) {
      url_ = url;
    } else {
      emulator::Options options;
      options.listen_port = 0;
      options.workers = emulator::Options::Workers::kNone;
      auto started = emulator::Emulator::Start(options);
      if (!started) return;
      emulator_ = *std::move(started);
      url_ = emulator_->url();
    }
    client_.emplace(*gcp::ParseEndpoint(url_), transport_, credentials_, clock_, random_,
                    gcp::StorageSettings{}, http::RetryPolicy{.attempts = 1});
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    blobs_.emplace(*client_, *gcp::ParseStoragePlace("gs://state-bucket/team/" + test));
  }
  void SetUp() override {
    ASSERT_TRUE(client_);
    const auto made = client_->MakeBucket("demo", "state-bucket", "EU", {});
    // Of the test before this one, where the server is not its own.
    ASSERT_TRUE(made || !emulator_) << made.error().message;
  }

  void Admin(const std::string& path, const std::string& body) {
    http::Request request;
    request.method = "POST";
    request.url = url_ + "/emulator/" + path;
    request.headers = {{"Content-Type", "application/json"}};
    request.body = body;
    const auto answer = transport_.Send(request, {});
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->status, 200) << answer->body;
  }
  void Fault(const std::string& rule) { Admin("faults", rule); }
  void Wait() {
    if (emulator_) Admin("clock", R"({"advance":"1s"})");
  }
  std::string Content(const std::string& name) {
    const auto blob = blobs_->Get(name, {});
    if (!blob) return blob.error().message;
    return *blob ? (*blob)->bytes : "none";
  }
  BlobVersion Make(const std::string& name, const std::string& bytes) {
    auto made = blobs_->CreateIfAbsent(name, bytes, {});
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : BlobVersion{};
  }
  template <typename T>
  static ErrorCode Code(const Result<T>& result) {
    return result ? ErrorCode::kUnknown : result.error().code;
  }

  class NoPrograms final : public ProcessRunner {
    Result<ProcessResult> Run(const std::vector<std::string>&, std::chrono::milliseconds,
                              std::stop_token) override {
      return MakeError(ErrorCode::kNotFound, "there are no programs here");
    }
  };

  FixedEnvironment environment_{{}};
  RealFileSystem files_;
  NoPrograms programs_;
  http::CurlTransport transport_{"podctl-test"};
  RealClock clock_;
  RealRandom random_;
  gcp::Credentials credentials_{{environment_, files_, programs_, transport_, clock_, random_}};
  std::unique_ptr<emulator::Emulator> emulator_;  // null: it is another server
  std::string url_;
  std::optional<gcp::StorageClient> client_;
  std::optional<GcsBlobs> blobs_;
};

TEST_F(GcsBlobsTest, WhatWasWrittenIsRead) {
  EXPECT_EQ(Content("a"), "none");
  const std::string bytes("\0\r\n--\xFF", 6);
  const BlobVersion version = Make("a", bytes);
  const auto blob = blobs_->Get("a", {});
  ASSERT_TRUE(blob && *blob);
  EXPECT_EQ((*blob)->bytes, bytes);
  EXPECT_EQ((*blob)->version, version);
  Make("empty", "");
  EXPECT_EQ(Content("empty"), "");
  const std::string large(std::size_t{9} << 20, 'x');
  Make("large", large);
  EXPECT_TRUE(Content("large") == large);
  const auto listed = blobs_->ListFrom("large", "", {});
  ASSERT_TRUE(listed && listed->size() == 1U);
  EXPECT_LT(listed->at(0).bytes, large.size() / 100) << "it is stored as gzip";
  EXPECT_TRUE(listed->at(0).written) << "by the bucket's own clock";
  EXPECT_EQ(blobs_->Where(), "gs://state-bucket/team/WhatWasWrittenIsRead");
}

TEST_F(GcsBlobsTest, OfTwoWhoWriteAtOnceOneLearnsThatTheOtherWasFirst) {
  const BlobVersion first = Make("a", "1");
  EXPECT_EQ(Code(blobs_->CreateIfAbsent("a", "2", {})), ErrorCode::kFailedPrecondition);
  Wait();
  const auto second = blobs_->ReplaceIf("a", "2", first, {});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(Code(blobs_->ReplaceIf("a", "3", first, {})), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Code(blobs_->DeleteIf("a", first, {})), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Content("a"), "2");
  EXPECT_TRUE(blobs_->DeleteIf("a", *second, {}));
  EXPECT_EQ(Code(blobs_->DeleteIf("a", *second, {})), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Code(blobs_->ReplaceIf("a", "3", *second, {})), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Content("a"), "none");
}

TEST_F(GcsBlobsTest, OfManyWhoCreateOneDoes) {
  std::atomic<int> won = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto made = blobs_->CreateIfAbsent("journal/1", std::to_string(i), {});
      won += made ? 1 : 0;
      refused += Code(made) == ErrorCode::kFailedPrecondition ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(refused, 7);
}

TEST_F(GcsBlobsTest, HasteIsRefusedAndNothingIsWritten) {
  if (!emulator_) GTEST_SKIP() << "only the emulator does that";
  const BlobVersion version = Make("a", "1");
  EXPECT_EQ(Code(blobs_->ReplaceIf("a", "2", version, {})), ErrorCode::kUnavailable);
  EXPECT_EQ(Content("a"), "1");
}

TEST_F(GcsBlobsTest, ListsBeginWhereTheyAreTold) {
  for (const char* name : {"journal/001", "journal/002", "journal/010", "lock", "journal.x"}) {
    Make(name, name);
  }
  const auto names = [&](const std::string& prefix, const std::string& from) {
    std::vector<std::string> found;
    const auto entries = blobs_->ListFrom(prefix, from, {});
    EXPECT_TRUE(entries) << entries.error().message;
    if (!entries) return found;
    for (const BlobEntry& entry : *entries) {
      EXPECT_EQ(entry.bytes, entry.name.size());
      found.push_back(entry.name);
    }
    return found;
  };
  EXPECT_THAT(names("journal/", ""), ElementsAre("journal/001", "journal/002", "journal/010"));
  EXPECT_THAT(names("journal/", "journal/002"), ElementsAre("journal/002", "journal/010"));
  EXPECT_THAT(names("journal/", "journal/9"), ElementsAre());
  EXPECT_EQ(names("", "").size(), 5U);
}

TEST_F(GcsBlobsTest, ManyPagesAreOneList) {
  for (int i = 0; i < 1001; ++i) Make("j/" + std::to_string(10000 + i), "x");
  const auto entries = blobs_->ListFrom("j/", "", {});
  ASSERT_TRUE(entries) << entries.error().message;
  EXPECT_EQ(entries->size(), 1001U);
}

TEST_F(GcsBlobsTest, ALostAnswerIsNoRefusal) {
  if (!emulator_) GTEST_SKIP() << "only the emulator does that";
  Fault(R"({"call":"storage.objects.insert","path":"ALostAnswerIsNoRefusal/a","drop":"after"})");
  EXPECT_EQ(Code(blobs_->CreateIfAbsent("a", "1", {})), ErrorCode::kReplyLost);
  EXPECT_EQ(Content("a"), "1");
  Fault(R"({"call":"storage.objects.insert","drop":"before"})");
  EXPECT_EQ(Code(blobs_->CreateIfAbsent("b", "1", {})), ErrorCode::kReplyLost);
  EXPECT_EQ(Content("b"), "none");
  Fault(R"({"call":"storage.objects.insert","cutAfter":20})");
  EXPECT_EQ(Code(blobs_->CreateIfAbsent("c", "1", {})), ErrorCode::kReplyLost);
  EXPECT_EQ(Content("c"), "1");
  const BlobVersion version = Make("d", "1");
  Fault(R"({"call":"storage.objects.delete","drop":"after"})");
  EXPECT_EQ(Code(blobs_->DeleteIf("d", version, {})), ErrorCode::kReplyLost);
  EXPECT_EQ(Content("d"), "none");
  Fault(R"({"call":"storage.objects.get","cutAfter":0})");
  EXPECT_EQ(Code(blobs_->Get("c", {})), ErrorCode::kReplyLost);
}

TEST_F(GcsBlobsTest, EachRefusalHasItsCode) {
  if (!emulator_) GTEST_SKIP() << "only the emulator does that";
  const std::vector<std::pair<int, ErrorCode>> codes = {
      {400, ErrorCode::kInvalidArgument},  {401, ErrorCode::kUnauthenticated},
      {403, ErrorCode::kPermissionDenied}, {412, ErrorCode::kFailedPrecondition},
      {429, ErrorCode::kUnavailable},      {500, ErrorCode::kReplyLost},
      {503, ErrorCode::kReplyLost}};
  for (const auto& [status, code] : codes) {
    // Twice: after a 401 it is asked once more.
    Fault(R"({"call":"storage.objects.insert","times":2,"status":)" + std::to_string(status) + "}");
    EXPECT_EQ(Code(blobs_->CreateIfAbsent("a", "1", {})), code) << status;
    http::Request forget;
    forget.method = "DELETE";
    forget.url = url_ + "/emulator/faults";
    ASSERT_TRUE(transport_.Send(forget, {}));
  }
  EXPECT_EQ(Content("a"), "none");
}

TEST_F(GcsBlobsTest, ABucketThatIsNotThereIsNoEmptyPlace) {
  GcsBlobs elsewhere(*client_, *gcp::ParseStoragePlace("gs://no-such-bucket"));
  for (const ErrorCode code :
       {Code(elsewhere.Get("a", {})), Code(elsewhere.ListFrom("", "", {})),
        Code(elsewhere.CreateIfAbsent("a", "1", {})), Code(elsewhere.DeleteIf("a", {"7"}, {}))}) {
    EXPECT_EQ(code, ErrorCode::kNotFound);
  }
  EXPECT_THAT(elsewhere.Get("a", {}).error().hint,
              HasSubstr("gcloud storage buckets create gs://no-such-bucket"));
}

}  // namespace
}  // namespace podctl
