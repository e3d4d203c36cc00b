// The words that etcd's JSON gateway speaks, from a script: 3.4.23 answered so.
#include "providers/etcd/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/encoding.h"
#include "providers/base/json.h"
#include "tests/support/fake_transport.h"

namespace podctl::etcd {
namespace {

using podctl::testing::FakeTransport;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kFound =
    R"({"header":{"cluster_id":"1","revision":"7"},"kvs":[{"key":"cC9h","create_revision":"2",)"
    R"("mod_revision":"5","version":"3","value":"MQ=="}],"count":"1"})";
constexpr const char* kFoundMore =
    R"({"header":{"cluster_id":"1","revision":"7"},"kvs":[{"key":"cC9h","create_revision":"2",)"
    R"("mod_revision":"5","version":"3","value":"MQ=="}],"more":true,"count":"2"})";
constexpr const char* kDone = R"({"header":{"revision":"8"},"succeeded":true,"responses":[{}]})";
constexpr const char* kNotDone = R"({"header":{"revision":"8"},"responses":[]})";
constexpr const char* kNoToken =
    R"({"error":"etcdserver: invalid auth token","code":16,"message":"etcdserver: invalid auth token"})";

std::string Says(const std::string& words, int code) {
  return R"({"error":")" + words + R"(","code":)" + std::to_string(code) + "}";
}

class EtcdClientTest : public ::testing::Test {
 protected:
  Client& Make(std::vector<std::string> endpoints = {"http://a:2379"}, Settings settings = {}) {
    client_ = std::make_unique<Client>(Place{std::move(endpoints), "p", ""}, std::move(settings),
                                       transport_);
    return *client_;
  }
  Client& MakeUser() { return Make({"http://a:2379"}, {"root", "secret", "", "", ""}); }
  Result<Found> Read() { return client_->Read({"p/a", "p/b"}, {}, {}); }
  Result<std::int64_t> Commit() {
    return client_->Commit({{{"p/a", 5}}, {}, {{"p/a", "2", 0}}}, {});
  }
  Value Sent(std::size_t number) {
    return ParseJson(transport_.requests().at(number).body).value_or(Value());
  }

  FakeTransport transport_;
  std::unique_ptr<Client> client_;
};

TEST_F(EtcdClientTest, ReadsARange) {
  transport_.Then(200, kFoundMore);
  const auto found = Make().Read({"p/a", "p/b"}, {6, 1, true}, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->revision, 7);
  EXPECT_TRUE(found->more);
  ASSERT_EQ(found->keys.size(), 1U);
  EXPECT_EQ(found->keys[0].key, "p/a");
  EXPECT_EQ(found->keys[0].value, "1");
  EXPECT_EQ(found->keys[0].revision, 5);
  EXPECT_EQ(transport_.requests()[0].url, "http://a:2379/v3/kv/range");
  EXPECT_TRUE(transport_.requests()[0].repeatable);
  EXPECT_EQ(Sent(0), Value(Value::Map{{"key", "cC9h"},
                                      {"range_end", "cC9i"},
                                      {"revision", "6"},
                                      {"limit", "1"},
                                      {"keys_only", true}}));
}

TEST_F(EtcdClientTest, CommitsOnACondition) {
  transport_.Then(200, kDone).Then(200, kNotDone);
  Make();
  const auto done = client_->Commit({{{"p/a", 5}}, {{"p/c", "p/d"}}, {{"p/a", "2", 0}}}, {});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(*done, 8);
  EXPECT_EQ(transport_.requests()[0].url, "http://a:2379/v3/kv/txn");
  EXPECT_FALSE(transport_.requests()[0].repeatable);
  EXPECT_EQ(ToJson(Sent(0)),
            R"({"compare":[{"key":"cC9h","mod_revision":"5","result":"EQUAL","target":"MOD"}],)"
            R"("success":[{"request_delete_range":{"key":"cC9j","range_end":"cC9k"}},)"
            R"({"request_put":{"key":"cC9h","value":"Mg=="}}]})");
  EXPECT_EQ(Commit().error().code, ErrorCode::kFailedPrecondition);
}

TEST_F(EtcdClientTest, TellsHowLongALeaseHasBeenRunningOut) {
  transport_.Then(200, R"({"header":{},"ID":"7587","TTL":"100"})")
      .Then(200, R"({"header":{},"ID":"7587","TTL":"70","grantedTTL":"100"})")
      .Then(200, R"({"header":{},"ID":"7587","TTL":"-1"})")
      .Then(200, kDone);
  Make();
  const auto lease = client_->Grant(std::chrono::seconds(100), {});
  ASSERT_TRUE(lease) << lease.error().message;
  EXPECT_EQ(*lease, 7587);
  const auto age = client_->AgeOf(*lease, {});
  ASSERT_TRUE(age) << age.error().message;
  EXPECT_EQ(age->count(), 30);
  EXPECT_EQ(client_->AgeOf(*lease, {}).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(client_->Commit({{}, {}, {{"p/a", "2", *lease}}}, {}));
  EXPECT_EQ(transport_.requests()[0].url, "http://a:2379/v3/lease/grant");
  EXPECT_EQ(ToJson(Sent(0)), R"({"TTL":"100"})");
  EXPECT_EQ(transport_.requests()[1].url, "http://a:2379/v3/lease/timetolive");
  EXPECT_EQ(Sent(3)["success"].AsList().at(0)["request_put"]["lease"].AsString(), "7587");
}

TEST_F(EtcdClientTest, EachAnswerHasItsCode) {
  struct Row {
    int status;
    std::string body;
    ErrorCode read;
    ErrorCode commit;
  };
  using enum ErrorCode;
  const std::vector<Row> rows = {
      {400, Says("etcdserver: user name is empty", 3), kUnauthenticated, kUnauthenticated},
      {401, kNoToken, kUnauthenticated, kUnauthenticated},
      {403, Says("etcdserver: permission denied", 7), kPermissionDenied, kPermissionDenied},
      {404, "404 page not found\n", kUnimplemented, kUnimplemented},
      {400, Says("etcdserver: mvcc: required revision has been compacted", 11), kOutOfRange,
       kOutOfRange},
      // The request that goes over the limit is carried out, and answered so.
      {429, Says("etcdserver: mvcc: database space exceeded", 8), kUnavailable, kReplyLost},
      {429, Says("etcdserver: too many requests", 8), kUnavailable, kUnavailable},
      {429, Says("grpc: received message larger than max (2097189 vs. 2097152)", 8),
       kInvalidArgument, kInvalidArgument},
      {400, Says("etcdserver: request is too large", 3), kInvalidArgument, kInvalidArgument},
      {500, Says("etcdserver: unhealthy cluster", 2), kUnavailable, kReplyLost},
      {503, Says("etcdserver: request timed out", 14), kUnavailable, kReplyLost},
      {504, "upstream timed out", kUnavailable, kReplyLost},
      {412, "", kInvalidArgument, kInvalidArgument},
      {302, "", kInvalidArgument, kInvalidArgument},
      {200, "<html>", kDataLoss, kReplyLost},
      {200, "{}", kDataLoss, kReplyLost},
  };
  for (const Row& row : rows) {
    FakeTransport transport;
    transport.Then(row.status, row.body);
    Client client(Place{{"http://a:2379"}, "p", ""}, {}, transport);
    const auto read = client.Read({"p/a", ""}, {}, {});
    ASSERT_FALSE(read) << row.body;
    EXPECT_EQ(read.error().code, row.read) << row.status << row.body;
    const auto done = client.Commit({{{"p/a", 5}}, {}, {{"p/a", "2", 0}}}, {});
    ASSERT_FALSE(done) << row.body;
    EXPECT_EQ(done.error().code, row.commit) << row.status << row.body;
    EXPECT_EQ(transport.requests().size(), 2U) << row.body;
  }
}

TEST_F(EtcdClientTest, AnErrorOfTheTransportHasNoOtherMeaning) {
  using enum ErrorCode;
  const std::vector<std::array<ErrorCode, 3>> rows = {
      {kUnavailable, kUnavailable, kUnavailable},
      {kReplyLost, kUnavailable, kReplyLost},
      {kCancelled, kCancelled, kReplyLost},
      {kFailedPrecondition, kInvalidArgument, kInvalidArgument}};  // a certificate
  for (const auto& [code, read, commit] : rows) {
    FakeTransport transport;
    transport.Then(code);
    Client client(Place{{"http://a:2379"}, "p", ""}, {}, transport);
    EXPECT_EQ(client.Read({"p/a", ""}, {}, {}).error().code, read);
    EXPECT_EQ(client.Commit({{{"p/a", 5}}, {}, {}}, {}).error().code, commit);
  }
}

TEST_F(EtcdClientTest, EndpointsAreTriedInTurnAndTheOneThatAnsweredIsKept) {
  transport_.Then(ErrorCode::kUnavailable)
      .Then(503, Says("etcdserver: no leader", 14))
      .Then(200, kFound);
  Make({"http://a:1", "http://b:2", "http://c:3"});
  ASSERT_TRUE(Read());
  ASSERT_TRUE(Read());
  const auto requests = transport_.requests();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_THAT(requests[0].url, HasSubstr("a:1"));
  EXPECT_THAT(requests[1].url, HasSubstr("b:2"));
  EXPECT_THAT(requests[2].url, HasSubstr("c:3"));
  EXPECT_THAT(requests[3].url, HasSubstr("c:3"));
}

TEST_F(EtcdClientTest, WhatMayHaveArrivedIsNotWrittenElsewhere) {
  transport_.Then(ErrorCode::kUnavailable).Then(ErrorCode::kReplyLost).Then(200, kDone);
  Make({"http://a:1", "http://b:2", "http://c:3"});
  EXPECT_EQ(Commit().error().code, ErrorCode::kReplyLost);
  EXPECT_EQ(transport_.requests().size(), 2U);
  EXPECT_TRUE(Commit());
  EXPECT_THAT(transport_.requests()[2].url, HasSubstr("c:3"));
}

TEST_F(EtcdClientTest, LogsInOnceAndAgainWhenTheTokenIsOld) {
  transport_.Then(200, R"({"header":{},"token":"one"})")
      .Then(200, kFound)
      .Then(401, kNoToken)
      .Then(200, R"({"header":{},"token":"two"})")
      .Then(200, kDone)
      .Then(200, kFound);
  MakeUser();
  ASSERT_TRUE(Read());
  ASSERT_TRUE(Commit());
  ASSERT_TRUE(Read());
  EXPECT_EQ(transport_.requests()[0].url, "http://a:2379/v3/auth/authenticate");
  EXPECT_EQ(ToJson(Sent(0)), R"({"name":"root","password":"secret"})");
  EXPECT_EQ(transport_.Header(0, "Authorization"), "");
  EXPECT_EQ(transport_.Header(1, "Authorization"), "one");
  EXPECT_EQ(transport_.Header(2, "Authorization"), "one");
  EXPECT_EQ(transport_.Header(4, "Authorization"), "two");
  EXPECT_EQ(transport_.Header(5, "Authorization"), "two");
  EXPECT_EQ(transport_.requests().size(), 6U);
}

TEST_F(EtcdClientTest, AskedForATokenTwiceItGivesUp) {
  transport_.Then(200, R"({"token":"one"})")
      .Then(400, Says("etcdserver: revision of auth store is old", 3))
      .Then(200, R"({"token":"two"})")
      .Then(401, kNoToken);
  MakeUser();
  EXPECT_EQ(Commit().error().code, ErrorCode::kUnauthenticated);
  EXPECT_EQ(transport_.requests().size(), 4U);
}

TEST_F(EtcdClientTest, AWrongPasswordIsSaidAndNotQuoted) {
  transport_.Then(400, Says("etcdserver: authentication failed, invalid user ID or password", 3));
  MakeUser();
  const auto read = Read();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kUnauthenticated);
  EXPECT_THAT(read.error().hint, HasSubstr("ETCDCTL_USER"));
  // Whatever else is in the way may quote what it was asked.
  FakeTransport echo;
  echo.Then([](const http::Request& request) -> Result<http::Response> {
    return http::Response{400, {}, request.body};
  });
  Client client(Place{{"http://a:2379"}, "p", ""}, {"root", "secret", "", "", ""}, echo);
  const auto echoed = client.Read({"p/a", ""}, {}, {});
  ASSERT_FALSE(echoed);
  EXPECT_THAT(echoed.error().message, Not(HasSubstr("secret")));
}

TEST_F(EtcdClientTest, WhereNobodyLogsInAUserIsNoHindrance) {
  transport_.Then(400, Says("etcdserver: authentication is not enabled", 9)).Then(200, kFound);
  MakeUser();
  ASSERT_TRUE(Read());
  ASSERT_TRUE(Read());
  EXPECT_EQ(transport_.requests().size(), 3U);
  EXPECT_EQ(transport_.Header(1, "Authorization"), "");
}

TEST_F(EtcdClientTest, WhatWasNotAskedForIsNoAnswer) {
  for (const char* kvs :
       {R"([{"key":"eA==","mod_revision":"5"}])", R"([{"key":"cC9h","mod_revision":"0"}])",
        R"([{"key":"!","mod_revision":"5"}])",
        R"([{"key":"cC9h","mod_revision":"5"},{"key":"cC9h","mod_revision":"5"}])"}) {
    FakeTransport transport;
    transport.Then(200, std::string(R"({"header":{"revision":"7"},"kvs":)") + kvs + "}");
    Client client(Place{{"http://a:2379"}, "p", ""}, {}, transport);
    const auto found = client.Read({"p/a", "p/b"}, {}, {});
    ASSERT_FALSE(found) << kvs;
    EXPECT_EQ(found.error().code, ErrorCode::kDataLoss);
  }
}

TEST_F(EtcdClientTest, AnAnswerThatContradictsItselfIsNotNothing) {
  const std::string key = R"({"key":"cC9h","mod_revision":"5"})";
  for (const std::string& rest :
       {std::string(R"("kvs":[],"more":true,"count":"1000000")"), std::string(R"("count":"5")"),
        std::string(R"("more":true)"), std::string(R"("count":"-1")"),
        std::string(R"("count":true)"), std::string(R"("kvs":{})"), std::string(R"("kvs":"x")"),
        std::string(R"("more":"true")"), R"("kvs":[)" + key + R"(],"count":"2")",
        R"("kvs":[)" + key + R"(],"more":true,"count":"2")"}) {
    FakeTransport transport;
    transport.Then(200, R"({"header":{"revision":"7"},)" + rest + "}");
    Client client(Place{{"http://a:2379"}, "p", "etcd://a/p"}, {}, transport);
    const auto found = client.Read({"p/a", "p/b"}, {}, {});
    ASSERT_FALSE(found) << rest;
    EXPECT_EQ(found.error().code, ErrorCode::kDataLoss) << rest;
    EXPECT_THAT(found.error().message, HasSubstr("cannot read p/a at etcd://a/p: etcd's answer "));
  }
}

TEST_F(EtcdClientTest, WhatIsNotThereIsNothing) {
  for (const char* rest : {R"("kvs":[],"more":false,"count":"0")", R"("kvs":null)"}) {
    FakeTransport transport;
    transport.Then(200, std::string(R"({"header":{"revision":"7"},)") + rest + "}");
    Client client(Place{{"http://a:2379"}, "p", "etcd://a/p"}, {}, transport);
    const auto found = client.Read({"p/a", ""}, {}, {});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(found->keys.empty());
  }
}

}  // namespace
}  // namespace podctl::etcd
