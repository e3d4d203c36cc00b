// Secret Manager as it is on the wire. What is checked here is what its reference says, and the
// words of its errors where they are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/providers/emulator/emulator_fixture.h"

namespace podctl::emulator {
namespace {

using ::testing::HasSubstr;
using testing::Reply;

const std::string kSecrets = "/v1/projects/demo/secrets";

class SecretsTest : public testing::EmulatorFixture {
 protected:
  Reply Create(const std::string& id = "s",
               const std::string& body = "{replication:{automatic:{}}}") {
    return Send("POST", kSecrets + "?secretId=" + id, body);
  }
  // `data` in base64.
  Reply Add(const std::string& data, const std::string& more = "") {
    return Send("POST", kSecrets + "/s:addVersion", "{payload:{data:'" + data + "'" + more + "}}");
  }
  Reply Access(const std::string& version) {
    return Send("GET", kSecrets + "/s/versions/" + version + ":access");
  }
  Reply Do(const std::string& version, const std::string& verb) {
    return Send("POST", kSecrets + "/s/versions/" + version + ":" + verb, "{}");
  }
};

TEST_F(SecretsTest, TheLatestVersionIsReadWithItsChecksum) {
  const Reply made = Create();
  ASSERT_EQ(made.status, 200) << made.text;
  const std::string name = made.body["name"].AsString();
  EXPECT_THAT(name, ::testing::MatchesRegex("projects/[0-9]+/secrets/s"));
  EXPECT_EQ(Message(Access("latest")), "Secret [" + name + "] not found or has no versions.");
  EXPECT_EQ(Add("MTIzNDU2Nzg5").body["name"].AsString(), name + "/versions/1");
  const Reply read = Access("latest");
  EXPECT_EQ(read.body["name"].AsString(), name + "/versions/1");
  EXPECT_EQ(read.body["payload"]["data"].AsString(), "MTIzNDU2Nzg5");
  EXPECT_EQ(read.body["payload"]["dataCrc32c"].AsString(), "3808858755");  // of "123456789"
  const Reply second = Add("-_-_");                                        // as gcloud writes it
  EXPECT_EQ(second.body["state"], Value("ENABLED"));
  EXPECT_EQ(Access("latest").body["payload"]["data"].AsString(), "+/+/");
  EXPECT_EQ(Access("1").body["payload"]["data"].AsString(), "MTIzNDU2Nzg5");
  EXPECT_EQ(Status(Access("3")), "NOT_FOUND");
}

TEST_F(SecretsTest, WhatIsNotEnabledIsNotRead) {
  Create();
  Add("YQ==");
  Add("Yg==");
  EXPECT_EQ(Do("2", "disable").body["state"], Value("DISABLED"));
  EXPECT_EQ(Status(Access("latest")), "FAILED_PRECONDITION") << "it stays the latest one";
  EXPECT_THAT(Message(Access("latest")), HasSubstr("/versions/2] is in DISABLED state."));
  EXPECT_EQ(Do("2", "enable").status, 200);
  EXPECT_EQ(Access("latest").status, 200);
  EXPECT_TRUE(Do("2", "destroy").body["destroyTime"].is_string());
  EXPECT_THAT(Message(Access("2")), HasSubstr("is in DESTROYED state."));
  EXPECT_EQ(Status(Do("2", "enable")), "FAILED_PRECONDITION");
  EXPECT_EQ(Send("GET", kSecrets + "/s/versions/2").body["state"], Value("DESTROYED"));
}

TEST_F(SecretsTest, BadOnesAreRefused) {
  EXPECT_EQ(Status(Create("a.b")), "INVALID_ARGUMENT");
  EXPECT_EQ(Status(Create("s", "{}")), "INVALID_ARGUMENT");
  Create();
  EXPECT_EQ(Status(Create()), "ALREADY_EXISTS");
  EXPECT_EQ(Status(Add("")), "INVALID_ARGUMENT");
  EXPECT_EQ(Status(Add("?")), "INVALID_ARGUMENT");
  EXPECT_EQ(Status(Add("YQ==", ",dataCrc32c:'7'")), "INVALID_ARGUMENT");
  std::string largest;
  for (int i = 0; i < 65536 / 3; ++i) largest += "AAAA";
  EXPECT_EQ(Add(largest + "AA==").status, 200);
  EXPECT_EQ(Status(Add(largest + "AAA=")), "INVALID_ARGUMENT");
  EXPECT_EQ(Status(Send("GET", kSecrets + "/t")), "NOT_FOUND");
  EXPECT_EQ(Status(Send("GET", kSecrets + "?filter=x")), "UNIMPLEMENTED");
  EXPECT_EQ(Send("GET", kSecrets + "/s:getIamPolicy").status, 404);
}

TEST_F(SecretsTest, ListsGoFromTheNewestVersion) {
  Create("s");
  Create("t");
  for (int i = 0; i < 3; ++i) Add("YQ==");
  const Reply all = Send("GET", kSecrets + "?pageSize=1");
  EXPECT_EQ(all.body["totalSize"], Value(2));
  EXPECT_EQ(all.body["secrets"].AsList().size(), 1U);
  EXPECT_TRUE(all.body["nextPageToken"].is_string());
  const Reply first = Send("GET", kSecrets + "/s/versions?pageSize=2");
  ASSERT_EQ(first.body["versions"].AsList().size(), 2U) << first.text;
  EXPECT_THAT(first.body["versions"].AsList()[0]["name"].AsString(), HasSubstr("/versions/3"));
  const Reply rest =
      Send("GET",
           kSecrets + "/s/versions?pageSize=2&pageToken=" + first.body["nextPageToken"].AsString());
  ASSERT_EQ(rest.body["versions"].AsList().size(), 1U) << rest.text;
  EXPECT_THAT(rest.body["versions"].AsList()[0]["name"].AsString(), HasSubstr("/versions/1"));
}

TEST_F(SecretsTest, AnAliasStandsForAVersion) {
  Create();
  Add("YQ==");
  Add("Yg==");
  EXPECT_EQ(Send("PATCH", kSecrets + "/s?updateMask=versionAliases", "{versionAliases:{live:'1'}}")
                .status,
            200);
  EXPECT_THAT(Access("live").body["name"].AsString(), HasSubstr("/versions/1"));
}

TEST_F(SecretsTest, ARegionalOneIsAnother) {
  const std::string regional = "/v1/projects/demo/locations/us-east1/secrets";
  Create();
  EXPECT_EQ(Status(Send("GET", regional + "/s")), "NOT_FOUND");
  EXPECT_EQ(Send("POST", regional + "?secretId=s", "{}").status, 200);
  EXPECT_EQ(Send("POST", regional + "/s:addVersion", "{payload:{data:'YQ=='}}").status, 200);
  EXPECT_THAT(Send("GET", regional + "/s/versions/latest:access").body["name"].AsString(),
              ::testing::MatchesRegex("projects/[0-9]+/locations/us-east1/secrets/s/versions/1"));
  EXPECT_EQ(Status(Send("GET", "/v1/projects/demo/locations/nowhere/secrets/s")),
            "PERMISSION_DENIED");
}

TEST_F(SecretsTest, SurviveARestart) {
  Create();
  Add("YQ==");
  Add("Yg==");
  Do("1", "destroy");
  Restart(std::chrono::milliseconds(0));
  EXPECT_EQ(Access("latest").body["payload"]["data"].AsString(), "Yg==");
  EXPECT_EQ(Status(Access("1")), "FAILED_PRECONDITION");
  EXPECT_EQ(Send("DELETE", kSecrets + "/s").status, 200);
  Restart(std::chrono::milliseconds(0));
  EXPECT_EQ(Status(Access("latest")), "NOT_FOUND");
}

}  // namespace
}  // namespace podctl::emulator
