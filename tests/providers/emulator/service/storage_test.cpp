// Cloud Storage's JSON API as it is on the wire. What is checked here is what its reference says,
// and the words of its errors where they are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "providers/base/gzip.h"
#include "tests/providers/emulator/emulator_fixture.h"

namespace podctl::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Reply;

const std::string kStateBucket = "/storage/v1/b/state";
const std::string kStateObjects = kStateBucket + "/o";
const std::string kStateUpload = "/upload/storage/v1/b/state/o?uploadType=";

class StorageTest : public testing::EmulatorFixture {
 protected:
  void SetUp() override { Make("state"); }
  Reply Make(const std::string& name, const std::string& more = "") {
    return Send("POST", "/storage/v1/b?project=demo", "{name:'" + name + "'" + more + "}");
  }
  Reply Put(const std::string& name, const std::string& bytes, const std::string& query = "") {
    return client_->SendWith({{"Content-Type", "application/octet-stream"}}, "POST",
                             kStateUpload + "media&name=" + name + query, bytes);
  }
  Reply PutParts(const std::string& metadata, const std::string& bytes,
                 const std::string& query = "") {
    return client_->SendWith({{"Content-Type", "multipart/related; boundary=\"b\""}}, "POST",
                             kStateUpload + "multipart" + query,
                             "--b\r\nContent-Type: application/json\r\n\r\n" + metadata +
                                 "\r\n--b\r\nContent-Type: text/x\r\n\r\n" + bytes +
                                 "\r\n--b--\r\n");
  }
  Reply Look(const std::string& name, const std::string& query = "") {
    return Send("GET", kStateObjects + "/" + name + query);
  }
  std::string Read(const std::string& name, const std::string& more = "") {
    return Look(name, "?alt=media" + more).text;
  }
  void Wait() { Send("POST", "/emulator/clock", "{advance:'1s'}"); }
  static std::string Reason(const Reply& reply) {
    const Value::List& errors = reply.body["error"]["errors"].AsList();
    return errors.empty() ? "" : errors[0]["reason"].AsString();
  }
  static std::string Generation(const Reply& reply) { return reply.body["generation"].AsString(); }
  std::vector<std::string> List(const std::string& query, std::string* token = nullptr) {
    const Reply reply = Send("GET", kStateObjects + "?" + query);
    std::vector<std::string> names;
    for (const Value& item : reply.body["items"].AsList()) names.push_back(item["name"].AsString());
    for (const Value& prefix : reply.body["prefixes"].AsList()) names.push_back(prefix.AsString());
    if (token != nullptr) *token = reply.body["nextPageToken"].AsString();
    return names;
  }
};

TEST_F(StorageTest, AnObjectIsReadWithItsNumbersAndSums) {
  const Reply made = Put("a%2Fb%20c", "123456789");
  ASSERT_EQ(made.status, 200) << made.text;
  EXPECT_EQ(made.body["name"].AsString(), "a/b c");
  EXPECT_EQ(made.body["metageneration"].AsString(), "1");
  EXPECT_EQ(made.body["size"].AsString(), "9");
  EXPECT_EQ(made.body["crc32c"].AsString(), "4waSgw==") << "0xE3069283, of RFC 3720's check value";
  EXPECT_EQ(made.body["md5Hash"].AsString(), "JfnnlDI7RTiF9RgfG2JNCw==");
  const Reply read = Look("a%2Fb%20c", "?alt=media");
  EXPECT_EQ(read.text, "123456789");
  EXPECT_EQ(read.headers.at("x-goog-generation"), Generation(made));
  EXPECT_EQ(read.headers.at("x-goog-metageneration"), "1");
  EXPECT_EQ(read.headers.at("x-goog-hash"), "crc32c=4waSgw==,md5=JfnnlDI7RTiF9RgfG2JNCw==");
  EXPECT_EQ(Send("GET", "/download" + kStateObjects + "/a%2Fb%20c?alt=media").text, "123456789");
  // The XML API, by which Google's client of Go reads.
  const Reply xml = Send("GET", "/state/a/b%20c");
  EXPECT_EQ(xml.text, "123456789");
  EXPECT_EQ(xml.headers.at("x-goog-generation"), read.headers.at("x-goog-generation"));
  EXPECT_EQ(Send("GET", "/state/a/none").status, 404);
  EXPECT_EQ(Send("GET", "/elsewhere/a/b%20c").status, 404);
  EXPECT_EQ(Look("a/b%20c").status, 404) << "a name's slashes are encoded";
}

// Decompressive transcoding.
TEST_F(StorageTest, WhatIsStoredAsGzipIsUnpackedForWhoDoesNotTakeIt) {
  const std::string text(10'000, 'x');
  const Reply made = PutParts("{name:'z',contentEncoding:'gzip'}", Gzip(text));
  ASSERT_EQ(made.status, 200) << made.text;
  EXPECT_EQ(Read("z"), text);
  EXPECT_EQ(Look("z").body["size"].AsString(), std::to_string(Gzip(text).size()));
  ASSERT_EQ(PutParts("{name:'y',contentEncoding:'gzip'}", "no gzip").status, 200);
  EXPECT_EQ(Read("y"), "no gzip");
}

TEST_F(StorageTest, SumsOfLongAndOfEmptyTexts) {
  EXPECT_EQ(Put("empty", "").body["md5Hash"].AsString(), "1B2M2Y8AsgTpgAmY7PhCfg==");
  EXPECT_EQ(Read("empty"), "");
  EXPECT_EQ(Put("a56", std::string(56, 'a')).body["md5Hash"].AsString(),
            "OwyKxwP4KLBMbBlwBtFyGA==");
  EXPECT_EQ(Put("a1000", std::string(1000, 'a')).body["md5Hash"].AsString(),
            "yr5F3MmuW2a6hmAMymuLqA==");
}

TEST_F(StorageTest, ARangeIsRead) {
  Put("o", "0123456789");
  const auto range = [&](const std::string& bytes) {
    return client_->SendWith({{"Range", "bytes=" + bytes}}, "GET", kStateObjects + "/o?alt=media",
                             "");
  };
  EXPECT_EQ(range("2-3").text, "23");
  EXPECT_EQ(range("2-3").status, 206);
  EXPECT_EQ(range("2-3").headers.at("content-range"), "bytes 2-3/10");
  EXPECT_EQ(range("8-99").text, "89");
  EXPECT_EQ(range("-3").text, "789");
  EXPECT_EQ(range("10-").status, 416);
}

TEST_F(StorageTest, NumbersGoUpWithWhatTheyCount) {
  const std::string first = Generation(Put("o", "a"));
  Wait();
  const Reply patched = Send("PATCH", kStateObjects + "/o", "{metadata:{beat:'1',who:'x'}}");
  EXPECT_EQ(Generation(patched), first);
  EXPECT_EQ(patched.body["metageneration"].AsString(), "2");
  Wait();
  const Reply less = Send("PATCH", kStateObjects + "/o", "{metadata:{beat:null}}");
  EXPECT_EQ(less.body["metadata"].AsMap().size(), 1U);
  Wait();
  const Reply replaced = Send("PUT", kStateObjects + "/o", "{contentType:'a/b'}");
  EXPECT_EQ(replaced.body.Find("metadata"), nullptr);
  EXPECT_EQ(replaced.body["metageneration"].AsString(), "4");
  Wait();
  const Reply second = Put("o", "b");
  EXPECT_GT(std::stoll(Generation(second)), std::stoll(first));
  EXPECT_EQ(second.body["metageneration"].AsString(), "1");
  Send("DELETE", kStateObjects + "/o");
  Wait();
  EXPECT_GT(std::stoll(Generation(Put("o", "c"))), std::stoll(Generation(second)))
      << "no number is used again";
}

TEST_F(StorageTest, NoTwoContentsHaveTheSameGeneration) {
  std::set<std::string> generations;
  for (int i = 0; i < 20; ++i) generations.insert(Generation(Put(std::to_string(i), "x")));
  EXPECT_EQ(generations.size(), 20U);
}

TEST_F(StorageTest, AnObjectIsWrittenOnceASecond) {
  const std::string generation = Generation(Put("o", "a"));
  for (const Reply& refused : {Put("o", "b"), Send("PATCH", kStateObjects + "/o", "{}")}) {
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(Reason(refused), "rateLimitExceeded");
    EXPECT_THAT(Message(refused), HasSubstr("The object state/o exceeded the rate limit"));
  }
  EXPECT_EQ(Put("other", "b").status, 200);
  EXPECT_EQ(Put("o", "b", "&ifGenerationMatch=0").status, 412) << "that is known first";
  Wait();
  EXPECT_EQ(Put("o", "b", "&ifGenerationMatch=" + generation).status, 200);
}

TEST_F(StorageTest, ErrorsHaveGooglesShape) {
  Put("o", "a");
  const Reply met = Put("o", "b", "&ifGenerationMatch=0");
  EXPECT_EQ(met.text,
            R"({"error":{"code":412,"errors":[{"domain":"global","location":"If-Match",)"
            R"("locationType":"header","message":"At least one of the pre-conditions you )"
            R"(specified did not hold.","reason":"conditionNotMet"}],"message":"At least one of )"
            R"(the pre-conditions you specified did not hold."}})");
  EXPECT_EQ(Message(Look("none")), "No such object: state/none");
  EXPECT_EQ(Reason(Look("none")), "notFound");
  EXPECT_EQ(Message(Send("GET", "/storage/v1/b/other/o")), "The specified bucket does not exist.");
  EXPECT_EQ(Look("o", "?ifGenerationMatch=x").status, 400);
  EXPECT_EQ(Reason(Look("o", "?generation=-1")), "invalidParameter");
  EXPECT_EQ(Send("GET", "/storage/v1/c/state").status, 404);
  EXPECT_EQ(Look("o", "?fields=a(b").status, 400);
  const Reply unchanged = Look("o", "?ifMetagenerationNotMatch=1");
  EXPECT_EQ(unchanged.status, 304);
  EXPECT_EQ(unchanged.text, "");
}

TEST_F(StorageTest, WhatWasDamagedOnTheWayIsRefused) {
  EXPECT_EQ(PutParts(R"({"name":"o","crc32c":"4waSgw=="})", "123456789").status, 200);
  const Reply bad = PutParts(R"({"name":"p","crc32c":"4waSgw=="})", "12345678");
  EXPECT_EQ(bad.status, 400);
  EXPECT_THAT(Message(bad), HasSubstr("Provided CRC32C \"4waSgw==\" doesn't match"));
  EXPECT_THAT(Message(PutParts(R"({"name":"p","md5Hash":"AA=="})", "x")),
              HasSubstr("Provided MD5 hash \"AA==\" doesn't match"));
  EXPECT_EQ(Look("p").status, 404);
}

TEST_F(StorageTest, PartsAreTakenApart) {
  const std::string bytes("x--b\n--b\0\r\n-", 12);
  const Reply made = PutParts(R"({"name":"o","metadata":{"write-id":"7"}})", bytes, "&kmsKeyName=");
  EXPECT_EQ(made.body["contentType"].AsString(), "text/x");
  EXPECT_EQ(made.body["metadata"]["write-id"].AsString(), "7");
  EXPECT_EQ(Read("o"), bytes);
  const auto send = [&](const std::string& type, const std::string& body) {
    return client_->SendWith({{"Content-Type", type}}, "POST", kStateUpload + "multipart", body);
  };
  // As gcloud writes it.
  EXPECT_EQ(send("multipart/related; boundary='=b='",
                 "--=b=\nContent-Type: application/json\n\n{\"name\":\"g\"}\n--=b=\n\nx\n--=b=--\n")
                .status,
            200);
  EXPECT_EQ(Read("g"), "x");
  for (const char* body :
       {"", "--b", "--b\r\n\r\n{}\r\n--b--", "--b\r\n\r\n{\r\n--b\r\n\r\nx\r\n--b--",
        "--b\r\n\r\n{}\r\n--b\r\n\r\nx"}) {
    EXPECT_EQ(send("multipart/related; boundary=b", body).status, 400) << body;
  }
  EXPECT_EQ(send("multipart/related", "x").status, 400);
}

TEST_F(StorageTest, AnUploadGoesOnWhereItStopped) {
  const auto send = [&](const std::string& path, const std::string& range, std::string bytes) {
    return client_->SendWith({{"Content-Range", range}}, "PUT", path, bytes);
  };
  const Reply begun = Send("POST", kStateUpload + "resumable&ifGenerationMatch=0", "{name:'o'}");
  ASSERT_EQ(begun.status, 200) << begun.text;
  const std::string& location = begun.headers.at("location");
  ASSERT_THAT(location, ::testing::StartsWith(emulator_->url()));
  const std::string path = location.substr(emulator_->url().size());
  const std::string piece(std::size_t{256} << 10, 'x');
  EXPECT_EQ(send(path, "bytes */*", "").status, 308);
  const Reply more = send(path, "bytes 0-262145/*", piece + "ab");
  EXPECT_EQ(more.status, 308);
  EXPECT_EQ(more.headers.at("range"), "bytes=0-262143") << "the rest was no whole quantum";
  EXPECT_EQ(send(path, "bytes 300000-300001/*", "ab").status, 400);
  EXPECT_EQ(Look("o").status, 404);
  const Reply done = send(path, "bytes 262144-262146/262147", "abc");
  EXPECT_EQ(done.status, 200) << done.text;
  EXPECT_EQ(Read("o"), piece + "abc");
  EXPECT_EQ(send(path, "bytes */*", "").status, 404);
  EXPECT_EQ(Send("POST", kStateUpload + "resumable&ifGenerationMatch=0", "{name:'o'}").status, 412);
  const Reply other = Send("POST", kStateUpload + "resumable", "{name:'p'}");
  const std::string gone = other.headers.at("location").substr(emulator_->url().size());
  EXPECT_EQ(Send("DELETE", gone).status, 499);
  EXPECT_EQ(send(gone, "bytes 0-0/1", "x").status, 404);
}

TEST_F(StorageTest, ListsArePagedInTheOrderOfNames) {
  for (const char* name : {"a", "j/1", "j/10", "j/2", "j/3", "z"}) Put(name, name);
  EXPECT_THAT(List("prefix=j/"), ElementsAre("j/1", "j/10", "j/2", "j/3"));
  EXPECT_THAT(List("prefix=j/&startOffset=j/2"), ElementsAre("j/2", "j/3"));
  EXPECT_THAT(List("startOffset=j/2&endOffset=z"), ElementsAre("j/2", "j/3"));
  EXPECT_THAT(List("delimiter=/"), ElementsAre("a", "z", "j/"));
  std::string token;
  EXPECT_THAT(List("prefix=j/&maxResults=3", &token), ElementsAre("j/1", "j/10", "j/2"));
  EXPECT_THAT(List("prefix=j/&maxResults=3&pageToken=" + token, &token), ElementsAre("j/3"));
  EXPECT_EQ(token, "");
  EXPECT_THAT(List("delimiter=/&maxResults=2", &token), ElementsAre("a", "j/"));
  EXPECT_THAT(List("delimiter=/&maxResults=2&pageToken=" + token, &token), ElementsAre("z"));
  EXPECT_EQ(Send("GET", kStateObjects + "?maxResults=0").status, 400);
  EXPECT_EQ(Send("GET", kStateObjects + "?pageToken=x").status, 400);
  const Reply few =
      Send("GET", kStateObjects + "?prefix=a&fields=items(name,generation),nextPageToken");
  EXPECT_EQ(few.body["items"].AsList()[0].AsMap().size(), 2U);
  EXPECT_EQ(few.body.AsMap().size(), 1U);
}

TEST_F(StorageTest, OverwrittenVersionsAreKeptWhereTheBucketSaysSo) {
  Send("PATCH", kStateBucket, "{versioning:{enabled:true}}");
  const std::string first = Generation(Put("o", "a"));
  Wait();
  const std::string second = Generation(Put("o", "b"));
  EXPECT_THAT(List("versions=true"), ElementsAre("o", "o"));
  EXPECT_EQ(Read("o", "&generation=" + first), "a");
  EXPECT_TRUE(Look("o", "?generation=" + first).body.Find("timeDeleted") != nullptr);
  std::string token;
  EXPECT_THAT(List("versions=true&maxResults=1", &token), ElementsAre("o"));
  EXPECT_THAT(List("versions=true&pageToken=" + token), ElementsAre("o"));
  EXPECT_EQ(Send("DELETE", kStateObjects + "/o?ifGenerationMatch=" + second).status, 204);
  EXPECT_EQ(Look("o").status, 404);
  EXPECT_EQ(Read("o", "&generation=" + second), "b");
  EXPECT_EQ(Put("o", "c", "&ifGenerationMatch=0").status, 429);
  Wait();
  EXPECT_EQ(Put("o", "c", "&ifGenerationMatch=0").status, 200);
  EXPECT_EQ(Send("DELETE", kStateObjects + "/o?generation=" + first).status, 204);
  EXPECT_EQ(Look("o", "?generation=" + first).status, 404);
}

TEST_F(StorageTest, WhatIsRetainedIsNeitherDeletedNorOverwritten) {
  Send("PATCH", kStateBucket, "{retentionPolicy:{retentionPeriod:60}}");
  Put("o", "a");
  const Reply refused = Send("DELETE", kStateObjects + "/o");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(Reason(refused), "retentionPolicyNotMet");
  EXPECT_EQ(Reason(Put("o", "b")), "retentionPolicyNotMet");
  Send("POST", "/emulator/clock", "{advance:'61s'}");
  EXPECT_EQ(Send("DELETE", kStateObjects + "/o").status, 204);
}

TEST_F(StorageTest, ObjectsAreCopiedAndComposed) {
  PutParts(R"({"name":"a","contentType":"x/y","metadata":{"k":"v"}})", "one");
  Put("b", "two");
  const std::string from = kStateObjects + "/a/";
  const Reply rewritten = Send("POST", from + "rewriteTo/b/state/o/c%2Fd", "{}");
  EXPECT_TRUE(rewritten.body["done"].AsBool()) << rewritten.text;
  EXPECT_EQ(rewritten.body["resource"]["contentType"].AsString(), "x/y");
  EXPECT_EQ(Look("c%2Fd").body["metadata"]["k"].AsString(), "v");
  EXPECT_EQ(Send("POST", from + "copyTo/b/state/o/e", "{contentType:'n/n'}").body.Find("metadata"),
            nullptr);
  EXPECT_EQ(Send("POST", from + "moveTo/o/f", "{}").status, 200);
  EXPECT_EQ(Look("a").status, 404);
  const Reply composed =
      Send("POST", kStateObjects + "/g/compose", "{sourceObjects:[{name:'f'},{name:'b'}]}");
  EXPECT_EQ(Read("g"), "onetwo");
  EXPECT_EQ(composed.body["componentCount"].AsInt(), 2);
  EXPECT_EQ(composed.body.Find("md5Hash"), nullptr);
  EXPECT_EQ(Send("POST", kStateObjects + "/h/compose",
                 "{sourceObjects:[{name:'f',objectPreconditions:{ifGenerationMatch:'7'}}]}")
                .status,
            412);
}

TEST_F(StorageTest, BucketsAreMadeListedAndRemoved) {
  const Reply made = Make("other",
                          ",location:'eu',iamConfiguration:{uniformBucketLevelAccess:"
                          "{enabled:true}}");
  EXPECT_EQ(made.body["location"].AsString(), "EU");
  EXPECT_TRUE(made.body["iamConfiguration"]["bucketPolicyOnly"]["enabled"].AsBool());
  EXPECT_EQ(Make("other").status, 409);
  for (const char* bad : {"", "ab", "A-bucket", "-bucket", "a..b", "google-x"}) {
    EXPECT_EQ(Make(bad).status, 400) << bad;
  }
  EXPECT_EQ(Send("GET", "/storage/v1/b?project=demo").body["items"].AsList().size(), 2U);
  EXPECT_EQ(Send("GET", "/storage/v1/b?project=another").body["items"].AsList().size(), 0U);
  Put("o", "a");
  EXPECT_EQ(Send("DELETE", kStateBucket).status, 409);
  Send("DELETE", kStateObjects + "/o");
  EXPECT_EQ(Send("DELETE", kStateBucket + "?ifMetagenerationMatch=2").status, 412);
  EXPECT_EQ(Send("DELETE", kStateBucket).status, 204);
  EXPECT_EQ(Send("GET", kStateBucket).status, 404);
  EXPECT_THAT(Send("GET",
                   "/storage/v1/b/other/iam/testPermissions?permissions=storage.objects.get&"
                   "permissions=storage.objects.create")
                  .body["permissions"]
                  .AsList()
                  .size(),
              2U);
}

TEST_F(StorageTest, SomebodyPays) {
  Send("PATCH", kStateBucket, "{billing:{requesterPays:true}}");
  EXPECT_EQ(Message(Put("o", "a")),
            "Bucket is a requester pays bucket but no user project provided.");
  EXPECT_EQ(Put("o", "a", "&userProject=demo").status, 200);
  EXPECT_EQ(
      client_->SendWith({{"x-goog-user-project", "demo"}}, "GET", kStateObjects + "/o", "").status,
      200);
}

TEST_F(StorageTest, KeysAreNamed) {
  const std::string key = "projects/p/locations/eu/keyRings/r/cryptoKeys/k";
  EXPECT_EQ(Put("o", "a", "&kmsKeyName=" + key).body["kmsKeyName"].AsString(),
            key + "/cryptoKeyVersions/1");
  EXPECT_EQ(Put("p", "a", "&kmsKeyName=k").status, 400);
  Send("PATCH", kStateBucket, "{encryption:{defaultKmsKeyName:'" + key + "'}}");
  EXPECT_EQ(Put("q", "a").body["kmsKeyName"].AsString(), key + "/cryptoKeyVersions/1");
}

TEST_F(StorageTest, NamesAndMetadataHaveLimits) {
  EXPECT_EQ(Put(std::string(1024, 'n'), "a").status, 200);
  EXPECT_EQ(Put(std::string(1025, 'n'), "a").status, 400);
  for (const char* bad : {"", ".", "..", "a%0Ab", "%FF", ".well-known/acme-challenge/x"}) {
    EXPECT_EQ(Put(bad, "a").status, 400) << bad;
  }
  Put("o", "a");
  Wait();
  EXPECT_EQ(
      Send("PATCH", kStateObjects + "/o", "{metadata:{k:'" + std::string(8192, 'v') + "'}}").status,
      400);
  EXPECT_EQ(Send("PATCH", kStateObjects + "/o", "{metadata:{k:7}}").status, 400);
  EXPECT_EQ(Send("POST", kStateObjects, "{}").status, 400);
  const std::string large(std::size_t{9} << 20, 'x');
  EXPECT_EQ(Put("large", large).status, 200) << "an upload may be larger than other bodies";
  EXPECT_EQ(Send("POST", "/v1/projects/demo/secrets", large).status, 413);
}

TEST_F(StorageTest, ARestartChangesNothing) {
  Send("PATCH", kStateBucket, "{versioning:{enabled:true}}");
  const std::string first = Generation(Put("a%23b", std::string("\0\xFF", 2)));
  Wait();
  const Reply second = Put("a%23b", "new");
  const std::string before = Look("a%23b").text.substr(0, Look("a%23b").text.find("mediaLink"));
  Restart(std::chrono::milliseconds(0));
  EXPECT_EQ(Read("a%23b"), "new");
  EXPECT_THAT(Look("a%23b").text, ::testing::StartsWith(before));
  EXPECT_EQ(Read("a%23b", "&generation=" + first), std::string("\0\xFF", 2));
  EXPECT_GT(std::stoll(Generation(Put("c", "x"))), std::stoll(Generation(second)));
  Send("DELETE", kStateObjects + "/a%23b?generation=" + first);
  Restart(std::chrono::milliseconds(0));
  EXPECT_EQ(Look("a%23b", "?generation=" + first).status, 404);
  EXPECT_EQ(Send("GET", kStateBucket).body["metageneration"].AsString(), "2");
}

TEST_F(StorageTest, FaultsMeetObjectsByTheirNames) {
  const auto order = [&](const std::string& rule) { Send("POST", "/emulator/faults", rule); };
  order("{call:'storage.objects.insert',path:'o/lock',status:503}");
  EXPECT_EQ(PutParts(R"({"name":"other"})", "a").status, 200);
  const Reply refused = PutParts(R"({"name":"lock"})", "a");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(Reason(refused), "backendError");
  order("{call:'storage.objects.insert',drop:'after'}");
  EXPECT_EQ(Put("lost", "a").status, 0);
  EXPECT_EQ(Read("lost"), "a");
  order("{call:'storage.objects.get',cutAfter:1}");
  EXPECT_EQ(Look("lost", "?alt=media").status, 0);
  EXPECT_EQ(Send("GET", "/emulator/requests").body["byMethod"]["storage.objects.insert"].AsInt(),
            3);
}

TEST_F(StorageTest, NoPageOfABrowserUploads) {
  const auto send = [&](const std::map<std::string, std::string>& headers) {
    return client_->SendWith(headers, "POST", kStateUpload + "media&name=o", "x").status;
  };
  EXPECT_EQ(send({{"Content-Type", "application/octet-stream"}}), 200);
  EXPECT_EQ(send({{"Content-Type", "application/octet-stream"}, {"Origin", "http://evil"}}), 403);
  EXPECT_EQ(send({{"Content-Type", "text/plain"}}), 415);
  EXPECT_EQ(send({{"Content-Type", "multipart/form-data; boundary=b"}}), 415);
  EXPECT_EQ(Look("o", "?alt=media").headers.at("content-security-policy"),
            "sandbox; default-src 'none'");
}

}  // namespace
}  // namespace podctl::emulator
