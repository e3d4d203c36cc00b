// What is asked of Cloud Storage, and which answers are believed.
#include "providers/gcp/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/redactor.h"
#include "tests/providers/gcp/fake_gcloud.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_transport.h"

namespace podctl::gcp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kMissingBucket =
    R"({"error":{"code":404,"message":"The specified bucket does not exist.","errors":[{"domain":)"
    R"("global","reason":"notFound","message":"The specified bucket does not exist."}]}})";
const std::string kNotMet =
    R"({"error":{"code":412,"message":"At least one of the pre-conditions you specified did not )"
    R"(hold.","errors":[{"domain":"global","reason":"conditionNotMet"}]}})";

class StorageClientTest : public ::testing::Test {
 protected:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // "123456789" has this CRC32C.
  static Headers Read(const std::string& generation = "7",
                      const std::string& sums = "crc32c=4waSgw==,md5=JfnnlDI7RTiF9RgfG2JNCw==") {
    return {{"x-goog-generation", generation}, {"x-goog-hash", sums}};
  }
  Result<std::optional<StorageContent>> Get() { return client_.Get("bucket", "p/a b", {}); }
  Result<std::string> Insert(const std::string& generation = "0") {
    return client_.Insert("bucket", "p/a b", "123456789", generation, {});
  }
  Result<void> Delete() { return client_.Delete("bucket", "p/a b", "7", {}); }
  Result<std::vector<StorageObject>> List() { return client_.List("bucket", "p/", "p/2", {}); }
  void Written(const std::string& name = "p/a b",
               const std::string& sum = "4waSgw==", const std::string& generation = "8") {
    transport_.Then(200, R"({"name":")" + name + R"(","crc32c":")" + sum + R"(","generation":")" +
                             generation + "\"}");
  }
  template <typename T>
  static ErrorCode Code(const Result<T>& result) {
    return result ? ErrorCode::kUnknown : result.error().code;
  }

  FixedEnvironment environment_{{{"GOOGLE_OAUTH_ACCESS_TOKEN", "token"}}};
  RealFileSystem files_;
  testing::FakeGcloud gcloud_;
  testing::FakeTransport transport_;
  testing::FakeClock clock_;
  testing::FakeRandom random_;
  Credentials credentials_{{environment_, files_, gcloud_, transport_, clock_, random_}};
  StorageClient client_{Endpoint{"https://storage.googleapis.com/"}, transport_, credentials_,
                        clock_, random_};
};

TEST(StoragePlace, IsABucketAndAPrefix) {
  const auto text = [](const std::string& url) {
    const auto place = ParseStoragePlace(url);
    return place ? place->bucket + "|" + place->prefix + "|" + place->Text() : "none";
  };
  EXPECT_EQ(text("gs://my-bucket"), "my-bucket||gs://my-bucket");
  EXPECT_EQ(text("gs://my-bucket/"), "my-bucket||gs://my-bucket");
  EXPECT_EQ(text("gs://a.b_c/x/y/"), "a.b_c|x/y|gs://a.b_c/x/y");
  for (const char* bad : {"", "gs://", "gs:///x", "s3://bucket", "gs://Bucket/x", "gs://-bucket",
                          "gs://b/x", "gs://bucket/x//y", "gs://bucket//x", "gs://bucket/../x",
                          "gs://bucket/x/.", "gs://bucket/..", "gs://b2", "gs://bucket/a\nb",
                          "gs://bucket/a#1", "gs://bucket/*", "gs://bu%63ket/x"}) {
    EXPECT_EQ(text(bad), "none") << bad;
  }
  EXPECT_EQ(text("gs://bucket/" + std::string(600, 'x')), "none");
}

TEST(StoragePlace, ThatProgramsAreHandedNeedsNoQuotes) {
  for (const char* good : {"gs://my-bucket", "gs://my-bucket/x/y/", "gs://my-bucket/a=1,b:2@c+~"}) {
    EXPECT_TRUE(ParsePlainStoragePlace(good)) << good;
  }
  for (const char* bad :
       {"gs://bucket/a b", "gs://bucket/a'b", "gs://bucket/a\"b", "gs://bucket/`a`",
        "gs://bucket/a[1]", "gs://bucket/a\\b", "gs://bucket/\u00e9", "gs://bucket/a*",
        "gs://bucket/../x", "s3://bucket/x"}) {
    EXPECT_FALSE(ParsePlainStoragePlace(bad)) << bad;
  }
  EXPECT_TRUE(ParseStoragePlace("gs://bucket/a b")) << "a state may be there";
}

TEST(StorageEndpoint, IsGooglesUnlessSomebodyNamesAnother) {
  const auto url = [](std::map<std::string, std::string> values) {
    const auto endpoint = FindStorageEndpoint(FixedEnvironment(std::move(values)));
    return endpoint ? endpoint->base_url : endpoint.error().message;
  };
  EXPECT_EQ(url({}), "https://storage.googleapis.com/");
  EXPECT_EQ(url({{"STORAGE_EMULATOR_HOST", "127.0.0.1:9000"}}), "http://127.0.0.1:9000/");
  EXPECT_EQ(url({{"STORAGE_EMULATOR_HOST", "http://localhost:9000/"}}), "http://localhost:9000/");
  const char* const gcloud = "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE";
  EXPECT_EQ(url({{gcloud, "http://127.0.0.1:1/storage/v1/"}}), "http://127.0.0.1:1/");
  EXPECT_EQ(url({{gcloud, "https://storage-x.p.googleapis.com"}}),
            "https://storage-x.p.googleapis.com/");
  EXPECT_EQ(url({{gcloud, "http://127.0.0.1:1/"}, {"STORAGE_EMULATOR_HOST", "127.0.0.1:2"}}),
            "http://127.0.0.1:2/");
  EXPECT_THAT(url({{gcloud, "ftp://x"}}), StartsWith(std::string(gcloud) + ": bad endpoint"));
}

TEST_F(StorageClientTest, ReadsBytesAndTheirGenerationAtOnce) {
  transport_.Then(200, "123456789", Read())
      .Then(200, "123456789",
            {{"x-goog-generation", "7"},
             {"x-goog-hash", "md5=x"},
             {"x-goog-hash", "crc32c=4waSgw=="}});
  const auto content = Get();
  ASSERT_TRUE(content && *content) << content.error().message;
  EXPECT_EQ((*content)->bytes, "123456789");
  EXPECT_EQ((*content)->generation, "7");
  EXPECT_EQ(transport_.requests().at(0).url,
            "https://storage.googleapis.com/storage/v1/b/bucket/o/p%2Fa%20b?alt=media");
  EXPECT_EQ(transport_.Header(0, "Authorization"), "Bearer token");
  EXPECT_TRUE(Get()) << "a header for each sum, as Google has sent them";
}

TEST_F(StorageClientTest, BelievesNoAnswerThatIsNotWhole) {
  const Headers answers[] = {Read("7", "crc32c=AAAAAA=="),
                             Read("7", "md5=JfnnlDI7RTiF9RgfG2JNCw=="),
                             Read(""),
                             Read("0"),
                             Read("-7"),
                             Read("7x"),
                             Read("07"),
                             Read("99999999999999999999"),
                             {}};
  for (const Headers& headers : answers) {
    transport_.Then(200, "123456789", headers);
  }
  for (std::size_t i = 0; i < std::size(answers); ++i) EXPECT_EQ(Code(Get()), ErrorCode::kDataLoss);
}

TEST_F(StorageClientTest, KnowsNoObjectFromNoBucketAndFromNobodyAtAll) {
  transport_.Then(404, "No such object: bucket/p/a b")
      .Then(404, R"({"error":{"code":404,"message":"No such object: bucket/p/a b"}})")
      .Then(404, kMissingBucket)
      .Then(404, "<html>Nothing here</html>")
      .Then(404, "<html>Nothing here</html>")
      .Then(404, R"({"error":{"code":404,"message":"in other words"}})")
      .Then(200, R"({"items":[{"name":"p/a b2","generation":"5","size":"1"}]})")
      .Then(403, R"({"error":{"code":403,"message":"alice does not have storage.objects.get )"
                 R"(access","errors":[{"reason":"forbidden"}]}})");
  for (int i = 0; i < 2; ++i) {
    const auto none = Get();
    EXPECT_TRUE(none && !*none);
  }
  const auto bucket = Get();
  ASSERT_EQ(Code(bucket), ErrorCode::kNotFound);
  EXPECT_EQ(bucket.error().message, "gs://bucket: The specified bucket does not exist.");
  EXPECT_EQ(bucket.error().hint,
            "make it: `podctl state init --location REGION`, or `gcloud storage buckets create "
            "gs://bucket --location=REGION "
            "--uniform-bucket-level-access` and `gcloud storage buckets update gs://bucket "
            "--versioning`");
  EXPECT_EQ(Code(Get()), ErrorCode::kNotFound) << "a proxy's page says nothing of an object";
  const auto other = Get();
  EXPECT_TRUE(other && !*other) << "the list has told";
  EXPECT_EQ(transport_.requests().size(), 7U);
  const auto denied = Get();
  ASSERT_EQ(Code(denied), ErrorCode::kPermissionDenied);
  EXPECT_THAT(denied.error().hint,
              AllOf(HasSubstr("gcloud storage buckets add-iam-policy-binding gs://bucket "),
                    HasSubstr("--role=roles/storage.objectUser`")));
}

TEST_F(StorageClientTest, ReadsAgainWhatIsListedAndWasNotThereAMomentBefore) {
  const std::string none = R"({"error":{"code":404,"message":"Not Found"}})";
  const std::string listed = R"({"items":[{"name":"p/a b","generation":"7","size":"9"}]})";
  transport_.Then(404, none).Then(200, listed).Then(200, "123456789", Read());
  for (int i = 0; i < 3; ++i) transport_.Then(404, none).Then(200, listed);
  transport_.Then(404, none);
  const auto made = Get();
  ASSERT_TRUE(made && *made);
  EXPECT_EQ((*made)->generation, "7");
  EXPECT_EQ(Code(Get()), ErrorCode::kNotFound) << "it lists what it does not give";
  EXPECT_EQ(transport_.requests().size(), 10U);
}

TEST_F(StorageClientTest, RepeatsWhatReads) {
  transport_.Then(503).Then(ErrorCode::kReplyLost).Then(200, "123456789", Read());
  EXPECT_TRUE(Get());
  EXPECT_EQ(transport_.requests().size(), 3U);
}

TEST_F(StorageClientTest, WritesOnceAndSaysWhatItFollows) {
  Written();
  const auto generation = Insert("7");
  ASSERT_TRUE(generation) << generation.error().message;
  EXPECT_EQ(*generation, "8");
  const http::Request request = transport_.requests().at(0);
  EXPECT_EQ(request.url,
            "https://storage.googleapis.com/upload/storage/v1/b/bucket/o?alt=json&"
            "uploadType=multipart&ifGenerationMatch=7&fields=name%2Cgeneration%2Ccrc32c%2C"
            "retentionExpirationTime%2CeventBasedHold%2CtemporaryHold");
  EXPECT_TRUE(request.once);
  EXPECT_THAT(transport_.Header(0, "Content-Type"), StartsWith("multipart/related; boundary="));
  EXPECT_THAT(request.body,
              AllOf(HasSubstr("{\"contentType\":\"application/json\",\"crc32c\":"
                              "\"4waSgw==\",\"name\":\"p/a b\"}\r\n--"),
                    HasSubstr("\r\n\r\n123456789\r\n--"), ::testing::EndsWith("--\r\n")));
}

TEST_F(StorageClientTest, TellsApartWhatWasNotWrittenFromWhatMayHaveBeen) {
  struct Ended {
    int status;
    std::string body;
    ErrorCode code;
  };
  const std::vector<Ended> ends = {
      {412, kNotMet, ErrorCode::kFailedPrecondition},
      {304, "", ErrorCode::kFailedPrecondition},
      {429, R"({"error":{"errors":[{"reason":"rateLimitExceeded"}]}})", ErrorCode::kUnavailable},
      {401, "", ErrorCode::kUnauthenticated},
      {403, "", ErrorCode::kPermissionDenied},
      {404, kMissingBucket, ErrorCode::kNotFound},
      {404, "<html>Nothing here</html>", ErrorCode::kNotFound},
      {400, R"({"error":{"status":"FAILED_PRECONDITION"}})", ErrorCode::kInvalidArgument},
      {408, "", ErrorCode::kReplyLost},
      {500, "", ErrorCode::kReplyLost},
      {502, "", ErrorCode::kReplyLost},
      {503, "", ErrorCode::kReplyLost},
      {504, "", ErrorCode::kReplyLost},
      {302, "", ErrorCode::kReplyLost},
      {201, "{}", ErrorCode::kReplyLost}};
  for (const Ended& end : ends) {
    for (const bool inserts : {true, false}) {
      const std::size_t before = transport_.requests().size();
      testing::FakeTransport transport;
      transport.Then(end.status, end.body);
      StorageClient client(Endpoint{"https://storage.googleapis.com/"}, transport, credentials_,
                           clock_, random_);
      const ErrorCode code = inserts ? Code(client.Insert("bucket", "o", "x", "0", {}))
                                     : Code(client.Delete("bucket", "o", "7", {}));
      EXPECT_EQ(code, end.code) << end.status;
      EXPECT_EQ(transport.requests().size(), 1U) << end.status;
      EXPECT_EQ(transport_.requests().size(), before);
    }
  }
  for (const auto& [came, told] : {std::pair(ErrorCode::kUnavailable, ErrorCode::kUnavailable),
                                   std::pair(ErrorCode::kReplyLost, ErrorCode::kReplyLost),
                                   std::pair(ErrorCode::kCancelled, ErrorCode::kReplyLost)}) {
    testing::FakeTransport transport;
    transport.Then(came);
    StorageClient client(Endpoint{"https://storage.googleapis.com/"}, transport, credentials_,
                         clock_, random_);
    EXPECT_EQ(Code(client.Insert("bucket", "o", "x", "0", {})), told);
    EXPECT_EQ(transport.requests().size(), 1U);
  }
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_EQ(Code(client_.Insert("bucket", "o", "x", "0", stopped.get_token())),
            ErrorCode::kCancelled);
  EXPECT_TRUE(transport_.requests().empty());
}

TEST_F(StorageClientTest, DoesNotKnowWhatAnOddAnswerMeans) {
  Written("other");
  transport_.Then(200, "<html>");
  Written("p/a b", "AAAAAA==");
  Written("p/a b", "4waSgw==", "0");
  Written("p/a b", "4waSgw==", "x");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Code(Insert()), ErrorCode::kReplyLost) << i;
  EXPECT_EQ(transport_.requests().size(), 5U);
}

TEST_F(StorageClientTest, DeletesOneGeneration) {
  transport_.Then(204, "");
  EXPECT_TRUE(Delete());
  EXPECT_EQ(transport_.requests().at(0).url,
            "https://storage.googleapis.com/storage/v1/b/bucket/o/p%2Fa%20b?alt=json&"
            "ifGenerationMatch=7");
  EXPECT_TRUE(transport_.requests().at(0).once) << "the second one would find nothing";
  transport_.Then(404, R"({"error":{"code":404,"message":"No such object: bucket/p/a b"}})");
  EXPECT_TRUE(Delete()) << "the script's last answer comes again";
  EXPECT_EQ(Code(Delete()), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Code(client_.Delete("bucket", "o", "0", {})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Code(client_.Delete("bucket", "", "7", {})), ErrorCode::kInvalidArgument);
}

TEST_F(StorageClientTest, ARetentionPolicyIsNoQuestionOfRights) {
  transport_.Then(
      403,
      R"({"error":{"code":403,"message":"Object 'b/o' is subject to bucket's retention policy",)"
      R"("errors":[{"reason":"retentionPolicyNotMet"}]}})");
  const auto refused = Delete();
  EXPECT_EQ(Code(refused), ErrorCode::kPermissionDenied);
  EXPECT_THAT(refused.error().hint, AllOf(HasSubstr("retention policy"), Not(HasSubstr("roles/"))));
}

TEST_F(StorageClientTest, ListsPageByPage) {
  transport_
      .Then(200, R"({"items":[{"name":"p/2","generation":"5","size":"10"}],"nextPageToken":"t/1"})")
      .Then(200, R"({"items":[{"name":"p/3","generation":"6","size":"0"}]})");
  const auto objects = List();
  ASSERT_TRUE(objects) << objects.error().message;
  ASSERT_EQ(objects->size(), 2U);
  EXPECT_EQ((*objects)[0].name, "p/2");
  EXPECT_EQ((*objects)[0].bytes, 10U);
  EXPECT_EQ((*objects)[1].generation, "6");
  EXPECT_THAT(
      transport_.requests().at(0).url,
      HasSubstr("/storage/v1/b/bucket/o?alt=json&prefix=p%2F&startOffset=p%2F2&"
                "maxResults=1000&fields=items%28name%2Cgeneration%2Csize%2CtimeCreated%29%2C"
                "nextPageToken"));
  EXPECT_THAT(transport_.requests().at(1).url, HasSubstr("&pageToken=t%2F1"));
}

TEST_F(StorageClientTest, BelievesNoListThatIsNotOne) {
  for (const char* page : {"[]", "x", R"({"items":[{"name":"q/2","generation":"5","size":"1"}]})",
                           R"({"items":[{"name":"p/1","generation":"5","size":"1"}]})",
                           R"({"items":[{"name":"p/2","generation":"x","size":"1"}]})",
                           R"({"items":[{"name":"p/2","generation":"5"}]})",
                           R"({"items":[{"name":"p/3","generation":"5","size":"1"},
                     {"name":"p/3","generation":"6","size":"1"}]})",
                           R"({"nextPageToken":"the same again"})"}) {
    testing::FakeTransport transport;
    transport.Then(200, page);
    StorageClient client(Endpoint{"https://storage.googleapis.com/"}, transport, credentials_,
                         clock_, random_);
    EXPECT_EQ(Code(client.List("bucket", "p/", "p/2", {})), ErrorCode::kDataLoss) << page;
    EXPECT_LE(transport.requests().size(), 2U);
  }
}

TEST_F(StorageClientTest, SaysWhoPaysAndWhichKeyIsUsed) {
  const std::string key = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
  StorageClient client(Endpoint{"https://storage.googleapis.com/"}, transport_, credentials_,
                       clock_, random_, {"payer", key});
  Written();
  EXPECT_TRUE(client.Insert("bucket", "p/a b", "123456789", "0", {}));
  EXPECT_THAT(transport_.requests().at(0).url,
              AllOf(HasSubstr("&userProject=payer"),
                    HasSubstr("&kmsKeyName=projects%2Fp%2Flocations%2Fl%2FkeyRings%2Fr")));
  transport_.Then(200, "123456789", Read());
  static_cast<void>(client.Get("bucket", "o", {}));
  EXPECT_THAT(transport_.requests().at(1).url,
              AllOf(HasSubstr("&userProject=payer"), Not(HasSubstr("kmsKeyName"))));
}

TEST_F(StorageClientTest, MakesABucketWithVersions) {
  transport_.Then(200, "{}");
  EXPECT_TRUE(client_.MakeBucket("p", "bucket", "EU", {}));
  EXPECT_EQ(transport_.requests().at(0).url,
            "https://storage.googleapis.com/storage/v1/b?alt=json&project=p");
  EXPECT_EQ(transport_.requests().at(0).body,
            R"({"iamConfiguration":{"uniformBucketLevelAccess":{"enabled":true}},)"
            R"("location":"EU","name":"bucket","versioning":{"enabled":true}})");
  testing::FakeTransport taken;
  taken.Then(409, R"({"error":{"code":409,"message":"You already own it."}})");
  StorageClient client(Endpoint{"https://storage.googleapis.com/"}, taken, credentials_, clock_,
                       random_);
  EXPECT_EQ(Code(client.MakeBucket("p", "bucket", "EU", {})), ErrorCode::kAlreadyExists);
}

// A service account's own token is for the Cloud TPU API; the one that is exchanged after it was
// refused is good for storage too.
TEST_F(StorageClientTest, AsksOnceMoreWithANewerToken) {
  FixedEnvironment empty{{{"NO_GCE_CHECK", "true"}}};
  Credentials credentials{{empty, files_, gcloud_, transport_, clock_, random_}};
  StorageClient client(Endpoint{"https://storage.googleapis.com/"}, transport_, credentials, clock_,
                       random_);
  gcloud_.Print("first");
  gcloud_.Print("second");
  transport_.Then(401, "");
  Written();
  EXPECT_TRUE(client.Insert("bucket", "p/a b", "123456789", "0", {}));
  EXPECT_EQ(transport_.Header(0, "Authorization"), "Bearer first");
  EXPECT_EQ(transport_.Header(1, "Authorization"), "Bearer second");
}

TEST_F(StorageClientTest, AnOutageIsToldWithItsStatusAndASecretIsNot) {
  HideInErrors("correct-horse-battery");
  transport_
      .Then(503, R"({"error":{"code":503,"message":"Backend Error of correct-horse-battery"}})")
      .Then(400, "no correct-horse-battery here");
  const auto failed = Insert();
  EXPECT_EQ(Code(failed), ErrorCode::kReplyLost);
  EXPECT_THAT(failed.error().message,
              HasSubstr("Backend Error of (sensitive value) (HTTP status 503)"));
  const auto refused = Insert();
  EXPECT_THAT(refused.error().message, HasSubstr("HTTP status 400: no (sensitive value) here"));
}

TEST_F(StorageClientTest, WhoMayNotDeleteIsToldWhatThatTakes) {
  transport_.Then(403, R"({"error":{"code":403,"message":"denied"}})");
  const auto refused = Delete();
  EXPECT_EQ(Code(refused), ErrorCode::kPermissionDenied);
  EXPECT_THAT(refused.error().hint,
              AllOf(HasSubstr("storage.objects.delete"), HasSubstr("roles/storage.objectUser")));
}

}  // namespace
}  // namespace podctl::gcp
