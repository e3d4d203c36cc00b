// Small objects in Cloud Storage, against the emulator: the client and it share no code but the
// JSON reader, and agree only where both follow the API. PODCTL_STORAGE_URL names another server
// (Google's storage-testbench), for the tests that order no faults.
#include "state/stores/gcs/gcs_blobs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "providers/base/gzip.h"
#include "providers/emulator/emulator.h"
#include "providers/http/curl_transport.h"
#include "providers/os/process.h"
#include "tests/conformance/blob_store_suite.h"

namespace podctl::testing {
namespace {

using ::testing::HasSubstr;

// A bucket in the emulator, or in the server that PODCTL_STORAGE_URL names.
class GcsBench final : public BlobBench {
 public:
  GcsBench() {
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
    const auto made = client_->MakeBucket("demo", "state-bucket", "EU", {});
    // Of the test before this one, where the server is not its own.
    EXPECT_TRUE(made || !emulator_) << made.error().message;
    // A parametrised test's name ends with "/0".
    std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    place_ = "gs://state-bucket/team/" + test.substr(0, test.find('/'));
  }

  std::unique_ptr<BlobStore> Open() override { return Open(place_); }
  std::unique_ptr<BlobStore> Open(const std::string& place) {
    return std::make_unique<GcsBlobs>(*client_, *gcp::ParseStoragePlace(place));
  }
  void Pause() override {
    if (emulator_) Admin("POST", "clock", R"({"advance":"1s"})");
  }
  void Admin(const std::string& method, const std::string& path, const std::string& body = "") {
    http::Request request;
    request.method = method;
    request.url = url_ + "/emulator/" + path;
    request.headers = {{"Content-Type", "application/json"}};
    request.body = body;
    const auto answer = transport_.Send(request, {});
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->status, 200) << answer->body;
  }
  void PatchBucket(const std::string& change) {
    http::Request request;
    request.method = "PATCH";
    request.url = url_ + "/storage/v1/b/state-bucket";
    request.headers = {{"Content-Type", "application/json"}};
    request.body = change;
    const auto answer = transport_.Send(request, {});
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->status, 200) << answer->body;
  }
  // An object of these bytes that is said to be gzip.
  void PutAsGzip(const std::string& name, const std::string& bytes) {
    const gcp::StoragePlace place = *gcp::ParseStoragePlace(place_);
    http::Request request;
    request.method = "POST";
    request.url = url_ + "/upload/storage/v1/b/state-bucket/o?uploadType=multipart";
    request.headers = {{"Content-Type", "multipart/related; boundary=mark"}};
    request.body = fmt::format(
        "--mark\r\nContent-Type: application/json\r\n\r\n{{\"name\":\"{}/{}\","
        "\"contentEncoding\":\"gzip\"}}\r\n--mark\r\nContent-Type: application/json\r\n\r\n{}"
        "\r\n--mark--\r\n",
        place.prefix, name, bytes);
    const auto answer = transport_.Send(request, {});
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->status, 200) << answer->body;
  }
  bool is_ready() const { return client_.has_value(); }
  gcp::StorageClient& client() { return *client_; }
  bool is_emulator() const { return emulator_ != nullptr; }

 private:
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
  std::string place_;
  std::optional<gcp::StorageClient> client_;
};

INSTANTIATE_TEST_SUITE_P(Gcs, BlobStoreSuite, ::testing::Values([]() -> std::unique_ptr<BlobBench> {
                           auto bench = std::make_unique<GcsBench>();
                           EXPECT_TRUE(bench->is_ready()) << "the emulator does not start";
                           if (!bench->is_ready()) return nullptr;
                           return bench;
                         }));

class GcsBlobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(bench_.is_ready());
    blobs_ = bench_.Open();
  }

  void Fault(const std::string& rule) { bench_.Admin("POST", "faults", rule); }
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

  GcsBench bench_;
  std::unique_ptr<BlobStore> blobs_;
};

TEST_F(GcsBlobsTest, WhatIsLargeIsStoredAsGzip) {
  const std::string large(std::size_t{9} << 20, 'x');
  Make("large", large);
  EXPECT_TRUE(Content("large") == large);
  const auto listed = blobs_->ListFrom("large", "", {});
  ASSERT_TRUE(listed && listed->size() == 1U);
  const auto stored =
      bench_.client().List("state-bucket", "team/WhatIsLargeIsStoredAsGzip/", "", {});
  ASSERT_TRUE(stored && stored->size() == 1U);
  EXPECT_LT(stored->at(0).bytes, large.size() / 100);
  EXPECT_TRUE(listed->at(0).written) << "by the bucket's own clock";
}

// No fault of the network: nobody asks again.
TEST_F(GcsBlobsTest, GzipThatIsDamagedOrTooLargeIsTheObjectsDamage) {
  if (!bench_.is_emulator()) GTEST_SKIP() << "only the emulator does that";
  const std::string whole = Gzip("{}");
  const std::pair<std::string, const char*> cases[] = {
      {whole + "more", "not gzip, cut or damaged"},
      {whole.substr(0, whole.size() - 3), "not gzip, cut or damaged"},
      {"no gzip", "not gzip, cut or damaged"},
      {Gzip(std::string(std::size_t{70} << 20, 'x')), "gzip holds more than 62914560 bytes"}};
  std::string name = "a";
  for (const auto& [bytes, why] : cases) {
    name += "a";
    bench_.PutAsGzip(name, bytes);
    const auto read = blobs_->Get(name, {});
    ASSERT_FALSE(read) << why;
    EXPECT_EQ(read.error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(read.error().message,
              fmt::format("{}/{} is damaged: {}", blobs_->Where(), name, why));
  }
  bench_.PutAsGzip("whole", whole);
  EXPECT_EQ(Content("whole"), "{}");
}

TEST_F(GcsBlobsTest, ItsNameIsItsUrl) {
  EXPECT_EQ(blobs_->Where(), "gs://state-bucket/team/ItsNameIsItsUrl");
}

TEST_F(GcsBlobsTest, HasteIsRefusedAndNothingIsWritten) {
  if (!bench_.is_emulator()) GTEST_SKIP() << "only the emulator does that";
  const BlobVersion version = Make("a", "1");
  EXPECT_EQ(Code(blobs_->ReplaceIf("a", "2", version, {})), ErrorCode::kUnavailable);
  EXPECT_EQ(Content("a"), "1");
}

TEST_F(GcsBlobsTest, ALostAnswerIsNoRefusal) {
  if (!bench_.is_emulator()) GTEST_SKIP() << "only the emulator does that";
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
  if (!bench_.is_emulator()) GTEST_SKIP() << "only the emulator does that";
  const std::vector<std::pair<int, ErrorCode>> codes = {
      {400, ErrorCode::kInvalidArgument},  {401, ErrorCode::kUnauthenticated},
      {403, ErrorCode::kPermissionDenied}, {412, ErrorCode::kFailedPrecondition},
      {429, ErrorCode::kUnavailable},      {500, ErrorCode::kReplyLost},
      {503, ErrorCode::kReplyLost}};
  for (const auto& [status, code] : codes) {
    // Twice: after a 401 it is asked once more.
    Fault(R"({"call":"storage.objects.insert","times":2,"status":)" + std::to_string(status) + "}");
    EXPECT_EQ(Code(blobs_->CreateIfAbsent("a", "1", {})), code) << status;
    bench_.Admin("DELETE", "faults");
  }
  EXPECT_EQ(Content("a"), "none");
}

TEST_F(GcsBlobsTest, ABucketThatIsNotThereIsNoEmptyPlace) {
  const auto elsewhere = bench_.Open("gs://no-such-bucket");
  for (const ErrorCode code :
       {Code(elsewhere->Get("a", {})), Code(elsewhere->ListFrom("", "", {})),
        Code(elsewhere->CreateIfAbsent("a", "1", {})), Code(elsewhere->DeleteIf("a", {"7"}, {}))}) {
    EXPECT_EQ(code, ErrorCode::kNotFound);
  }
  EXPECT_THAT(elsewhere->Get("a", {}).error().hint,
              HasSubstr("gcloud storage buckets create gs://no-such-bucket"));
}

TEST_F(GcsBlobsTest, WhetherWhatIsWrittenIsKeptIsKnownBeforeOrAfterwards) {
  if (!bench_.is_emulator()) GTEST_SKIP() << "only the emulator does that";
  bench_.PatchBucket(R"({"versioning":{"enabled":false}})");
  EXPECT_EQ(blobs_->CanReplace({}).value_or(false), true);
  bench_.PatchBucket(R"({"retentionPolicy":{"retentionPeriod":"604800"}})");
  blobs_ = bench_.Open();
  const auto kept = blobs_->CanReplace({});
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(kept.error().message, HasSubstr("keeps every object for 7 days"));
  EXPECT_THAT(kept.error().hint, HasSubstr("--clear-retention-period"));
  // Who may not read the bucket hears it of what he has written.
  blobs_ = bench_.Open();
  Fault(R"({"call":"storage.buckets.get","times":9,"status":403})");
  EXPECT_EQ(blobs_->CanReplace({}).value_or(false), true);
  Make("a", "1");
  EXPECT_EQ(blobs_->CanReplace({}).value_or(true), false);
  bench_.Admin("DELETE", "faults");
  bench_.PatchBucket(R"({"retentionPolicy":null,"defaultEventBasedHold":true})");
  blobs_ = bench_.Open();
  ASSERT_FALSE(blobs_->CanReplace({}));
  EXPECT_THAT(blobs_->CanReplace({}).error().message, HasSubstr("puts a hold on every new object"));
}

}  // namespace
}  // namespace podctl::testing
