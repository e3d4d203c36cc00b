// Small objects in a real etcd. What only happens by bad luck is made to happen by a transport that
// stands before it.
#include "state/stores/etcd/etcd_blobs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "providers/base/encoding.h"
#include "providers/base/gzip.h"
#include "providers/base/json.h"
#include "providers/http/curl_transport.h"
#include "tests/conformance/blob_store_suite.h"
#include "tests/support/etcd_server.h"

namespace podctl::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Between a client and its server: may do something before a request, lose its answer, or answer in
// the server's place.
class Between final : public http::Transport {
 public:
  enum class Fate { kPass, kLoseRequest, kLoseAnswer };

  explicit Between(http::CaSettings ca = {}, http::ClientCertificate certificate = {})
      : real_("podctl-test", std::move(ca), std::move(certificate)) {}

  std::function<Fate(int number, const http::Request&)> before;  // numbered from 1 on
  int requests() const { return requests_; }

  Result<http::Response> Send(const http::Request& request, std::stop_token stop) override {
    const int number = ++requests_;
    const Fate fate = before ? before(number, request) : Fate::kPass;
    if (fate == Fate::kLoseRequest) return MakeError(ErrorCode::kReplyLost, "lost");
    auto answer = real_.Send(request, std::move(stop));
    if (fate == Fate::kLoseAnswer) return MakeError(ErrorCode::kReplyLost, "lost");
    return answer;
  }

 private:
  http::CurlTransport real_;
  std::atomic<int> requests_ = 0;
};

class Door final : public BlobStore {
 public:
  Door(const std::string& address, const std::string& prefix, etcd::Settings settings = {},
       const std::string& scheme = "http")
      : transport({settings.ca_file, "", "the test"},
                  {settings.certificate_file, settings.key_file, "the test"}),
        client_(etcd::Place{{scheme + "://" + address}, prefix, "etcd://" + address + "/" + prefix},
                std::move(settings), transport),
        blobs_(client_, random_) {}

  Result<std::optional<Blob>> Get(const std::string& name, std::stop_token stop) override {
    return blobs_.Get(name, std::move(stop));
  }
  Result<std::vector<BlobEntry>> ListFrom(const std::string& prefix, const std::string& from,
                                          std::stop_token stop) override {
    return blobs_.ListFrom(prefix, from, std::move(stop));
  }
  Result<BlobVersion> CreateIfAbsent(const std::string& name, const std::string& bytes,
                                     std::stop_token stop) override {
    return blobs_.CreateIfAbsent(name, bytes, std::move(stop));
  }
  Result<BlobVersion> ReplaceIf(const std::string& name, const std::string& bytes,
                                const BlobVersion& version, std::stop_token stop) override {
    return blobs_.ReplaceIf(name, bytes, version, std::move(stop));
  }
  Result<void> DeleteIf(const std::string& name, const BlobVersion& version,
                        std::stop_token stop) override {
    return blobs_.DeleteIf(name, version, std::move(stop));
  }
  std::string Where() const override { return blobs_.Where(); }

  Between transport;

 private:
  RealRandom random_;
  etcd::Client client_;
  EtcdBlobs blobs_;
};

// Bytes that no packing makes fewer, another text for each sign.
std::string Noise(std::size_t bytes, char sign) {
  std::minstd_rand chance(static_cast<unsigned char>(sign));
  std::string text(bytes, ' ');
  for (char& c : text) c = static_cast<char>(chance() >> 8U);
  return text;
}

// One server for all tests that do it no harm, each with a prefix of its own.
EtcdServer* SharedServer() {
  static const std::unique_ptr<EtcdServer> server = EtcdServer::Start();
  return server.get();
}

std::string FreshPrefix() {
  static int number = 0;
  return fmt::format("team/place-{}", ++number);
}

class EtcdBench final : public BlobBench {
 public:
  std::unique_ptr<BlobStore> Open() override {
    return std::make_unique<Door>(SharedServer()->Address(), prefix_);
  }

 private:
  const std::string prefix_ = FreshPrefix();
};

INSTANTIATE_TEST_SUITE_P(Etcd, BlobStoreSuite,
                         ::testing::Values([]() -> std::unique_ptr<BlobBench> {
                           if (SharedServer() == nullptr) return nullptr;
                           return std::make_unique<EtcdBench>();
                         }));

class EtcdBlobsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kLarge = std::size_t{3} << 20;  // in four pieces

  void SetUp() override {
    server_ = SharedServer();
    ASSERT_NE(server_, nullptr);
    prefix_ = FreshPrefix();
    door_ = Open();
  }
  std::unique_ptr<Door> Open() { return std::make_unique<Door>(server_->Address(), prefix_); }

  // What lies below the prefix, as etcd has it.
  std::vector<std::string> Keys() {
    const etcd::KeyRange all = etcd::BelowPrefix(prefix_ + "/");
    const Value answer =
        ParseJson(server_->Ask("kv/range", ToJson(Value::Map{{"key", Base64Encode(all.key)},
                                                             {"range_end", Base64Encode(all.end)},
                                                             {"keys_only", true}})))
            .value_or(Value());
    std::vector<std::string> keys;
    for (const Value& key : answer["kvs"].AsList()) {
      keys.push_back(Base64Decode(key["key"].AsString())->substr(prefix_.size() + 1));
    }
    return keys;
  }
  // As etcd has it.
  std::string ValueOf(const std::string& key) {
    const Value answer =
        ParseJson(server_->Ask("kv/range",
                               ToJson(Value::Map{{"key", Base64Encode(prefix_ + "/" + key)}})))
            .value_or(Value());
    return *Base64Decode(answer["kvs"].AsList().at(0)["value"].AsString());
  }
  std::size_t Pieces() {
    const auto keys = Keys();
    return static_cast<std::size_t>(std::count_if(
        keys.begin(), keys.end(), [](const auto& key) { return key.starts_with(".chunks/"); }));
  }
  std::size_t Leases() {
    const Value answer = ParseJson(server_->Ask("lease/leases", "{}")).value_or(Value());
    return answer["leases"].AsList().size();
  }
  void DeleteKey(const std::string& key) {
    server_->Ask("kv/deleterange", ToJson(Value::Map{{"key", Base64Encode(prefix_ + "/" + key)}}));
  }
  void CompactNow() {
    const Value answer =
        ParseJson(server_->Ask("kv/put", R"({"key":"eHh4","value":"eA=="})")).value_or(Value());
    server_->Ask("kv/compaction",
                 ToJson(Value::Map{{"revision", answer["header"]["revision"].AsString()}}));
  }
  BlobVersion Make(const std::string& name, const std::string& bytes) {
    auto made = door_->CreateIfAbsent(name, bytes, {});
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : BlobVersion{};
  }
  template <typename T>
  static ErrorCode Code(const Result<T>& result) {
    return result ? ErrorCode::kUnknown : result.error().code;
  }

  EtcdServer* server_ = nullptr;
  std::string prefix_;
  std::unique_ptr<Door> door_;
};

TEST_F(EtcdBlobsTest, WhatIsSmallIsOneKeyAndReadable) {
  const std::string text = R"({"format":"podctl-entry"})";
  Make("journal/1.json", text);
  EXPECT_THAT(Keys(), ElementsAre("journal/1.json"));
  EXPECT_EQ(ValueOf("journal/1.json"), text);
}

TEST_F(EtcdBlobsTest, WhatIsLargeIsPacked) {
  Make("state.json", std::string(kLarge, 'a'));
  EXPECT_EQ(Pieces(), 0U);
  EXPECT_LT(ValueOf("state.json").size(), kLarge / 100);
  const auto blob = door_->Get("state.json", {});
  ASSERT_TRUE(blob && *blob);
  EXPECT_TRUE((*blob)->bytes == std::string(kLarge, 'a'));
  // What cannot be made smaller is not.
  const std::string noise = Noise(5000, 'a');
  Make("noise", noise);
  EXPECT_TRUE(ValueOf("noise") == noise);
  // What looks as if it were packed comes back as it is, too.
  for (const std::string& text : {std::string("\x1f\x8b"), Gzip("text"), Gzip(Noise(5000, 'b'))}) {
    const std::string name = fmt::format("gzip-{}", text.size());
    Make(name, text);
    const auto read = door_->Get(name, {});
    ASSERT_TRUE(read && *read) << read.error().message;
    EXPECT_TRUE((*read)->bytes == text);
  }
}

TEST_F(EtcdBlobsTest, WhatCannotBeUnpackedIsALoss) {
  for (const std::string& bytes : {std::string("\x1f\x8b"), Gzip("text").substr(0, 15),
                                   Gzip(std::string(EtcdBlobs::kLargestBlob + 1, 'a'))}) {
    server_->Ask("kv/put", ToJson(Value::Map{{"key", Base64Encode(prefix_ + "/a")},
                                             {"value", Base64Encode(bytes)}}));
    const auto blob = door_->Get("a", {});
    EXPECT_EQ(Code(blob), ErrorCode::kDataLoss);
    EXPECT_THAT(blob.error().message, HasSubstr("a in etcd://"));
  }
}

TEST_F(EtcdBlobsTest, PiecesGoWithTheirVersion) {
  const BlobVersion one = Make("state.json", Noise(kLarge, 'a'));
  EXPECT_EQ(Pieces(), 4U);
  const auto two = door_->ReplaceIf("state.json", Noise(kLarge, 'b'), one, {});
  ASSERT_TRUE(two);
  EXPECT_EQ(Pieces(), 4U);
  const auto three = door_->ReplaceIf("state.json", "small", *two, {});
  ASSERT_TRUE(three);
  EXPECT_EQ(Pieces(), 0U);
  const auto four = door_->ReplaceIf("state.json", Noise(kLarge, 'c'), *three, {});
  ASSERT_TRUE(four);
  ASSERT_TRUE(door_->DeleteIf("state.json", *four, {}));
  EXPECT_THAT(Keys(), ElementsAre());
}

TEST_F(EtcdBlobsTest, WhoseClockIsMissingStartsItWithTheNextWrite) {
  const std::size_t leases = Leases();
  const BlobVersion one = Make("a", "1");
  const auto before = door_->ListFrom("", "", {});
  ASSERT_TRUE(before);
  EXPECT_FALSE(before->at(0).written);
  auto other = Open();  // has seen so, too
  ASSERT_TRUE(other->ListFrom("", "", {}));
  Make("b", "1");
  ASSERT_TRUE(other->CreateIfAbsent("c", "1", {}));
  EXPECT_THAT(Keys(), ElementsAre("a", "b", "c", "~clock"));
  const auto first = door_->ListFrom("", "b", {});
  ASSERT_TRUE(first);
  ASSERT_EQ(first->size(), 2U);
  ASSERT_TRUE(first->at(0).written);
  const auto second = Open()->ListFrom("", "", {});
  ASSERT_TRUE(second);
  ASSERT_EQ(second->size(), 3U);
  EXPECT_GE(second->at(0).written, first->at(0).written);
  EXPECT_LT(*second->at(0).written - *first->at(0).written, std::chrono::hours(1));
  EXPECT_FALSE(door_->ListFrom("a", "", {})->at(0).written);
  const int requests = door_->transport.requests();
  EXPECT_FALSE(door_->ListFrom("", "c", {})->at(0).written);
  EXPECT_EQ(door_->transport.requests(), requests + 1);
  EXPECT_EQ(Code(door_->CreateIfAbsent("~clock", "", {})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Leases(), leases + 1);  // the second one's is given back
  EXPECT_TRUE(door_->DeleteIf("a", one, {}));
}

TEST_F(EtcdBlobsTest, WhatLooksLikeAHeadOfPiecesIsNone) {
  const std::string text = R"({"podctl_chunks":{"bytes":1,"count":1,"id":"x","sha256":""}})";
  Make("a", text);
  const auto blob = door_->Get("a", {});
  ASSERT_TRUE(blob && *blob);
  EXPECT_EQ((*blob)->bytes, text);
  EXPECT_EQ(Code(door_->CreateIfAbsent(".chunks/a", "", {})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Code(door_->ReplaceIf("a", "", {"0"}, {})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Code(door_->DeleteIf("a", {"x"}, {})), ErrorCode::kInvalidArgument);
}

// At each of the five requests of a large write another writes that name first.
TEST_F(EtcdBlobsTest, OfTwoLargeOnesOneIsThereWhole) {
  for (int at = 1; at <= 5; ++at) {
    const std::string name = fmt::format("state-{}", at);
    auto other = Open();
    door_ = Open();
    door_->transport.before = [&](int number, const http::Request&) {
      if (number == at) {
        EXPECT_TRUE(other->CreateIfAbsent(name, Noise(kLarge, 'b'), {}));
      }
      return Between::Fate::kPass;
    };
    EXPECT_EQ(Code(door_->CreateIfAbsent(name, Noise(kLarge, 'a'), {})),
              ErrorCode::kFailedPrecondition);
    const auto blob = other->Get(name, {});
    ASSERT_TRUE(blob && *blob);
    EXPECT_TRUE((*blob)->bytes == Noise(kLarge, 'b'));
    EXPECT_EQ(Pieces(), static_cast<std::size_t>(4 * at));
  }
}

// Another made it and removed it again: nothing is there, and neither are the first one's pieces.
TEST_F(EtcdBlobsTest, WhosePiecesAreGoneDoesNotWriteAHead) {
  auto other = Open();
  door_->transport.before = [&](int number, const http::Request&) {
    if (number == 5) {
      const auto made = other->CreateIfAbsent("state.json", "small", {});
      EXPECT_TRUE(made);
      EXPECT_TRUE(other->DeleteIf("state.json", *made, {}));
    }
    return Between::Fate::kPass;
  };
  EXPECT_EQ(Code(door_->CreateIfAbsent("state.json", Noise(kLarge, 'a'), {})),
            ErrorCode::kFailedPrecondition);
  EXPECT_THAT(Keys(), ElementsAre());
}

TEST_F(EtcdBlobsTest, ALostAnswerIsNoRefusal) {
  using enum Between::Fate;
  for (const auto fate : {kLoseRequest, kLoseAnswer}) {
    const std::string name = fate == kLoseAnswer ? "answer" : "request";
    const auto lose_at = [&](int at) {
      door_ = Open();
      door_->transport.before = [=](int number, const http::Request&) {
        return number == at ? fate : kPass;
      };
    };
    lose_at(1);
    EXPECT_EQ(Code(door_->CreateIfAbsent(name, "1", {})), ErrorCode::kReplyLost);
    EXPECT_EQ((*Open()->Get(name, {})).has_value(), fate == kLoseAnswer);
    // Of a large one: of a piece, by which nothing is written, and of the head.
    lose_at(2);
    EXPECT_EQ(Code(door_->CreateIfAbsent(name + "-large", Noise(kLarge, 'a'), {})),
              ErrorCode::kUnavailable);
    EXPECT_FALSE((*Open()->Get(name + "-large", {})).has_value());
    lose_at(5);
    EXPECT_EQ(Code(door_->CreateIfAbsent(name + "-large", Noise(kLarge, 'a'), {})),
              ErrorCode::kReplyLost);
    EXPECT_EQ((*Open()->Get(name + "-large", {})).has_value(), fate == kLoseAnswer);
  }
}

TEST_F(EtcdBlobsTest, WhatAWriterThatDiedLeftIsRemovedByTheNext) {
  door_->transport.before = [](int number, const http::Request&) {
    return number > 3 ? Between::Fate::kLoseRequest : Between::Fate::kPass;
  };
  EXPECT_FALSE(door_->CreateIfAbsent("state.json", Noise(kLarge, 'a'), {}));
  EXPECT_EQ(Pieces(), 3U);
  door_ = Open();
  EXPECT_TRUE(door_->ListFrom("", "", {})->empty());
  Make("state.json", Noise(kLarge, 'b'));
  EXPECT_EQ(Pieces(), 4U);
}

TEST_F(EtcdBlobsTest, ACompactionMeanwhileStartsTheReadingAgain) {
  const BlobVersion one = Make("state.json", Noise(kLarge, 'a'));
  auto other = Open();
  door_ = Open();
  door_->transport.before = [&](int number, const http::Request&) {
    if (number == 2) {
      EXPECT_TRUE(other->ReplaceIf("state.json", Noise(kLarge, 'b'), one, {}));
      CompactNow();
    }
    return Between::Fate::kPass;
  };
  const auto blob = door_->Get("state.json", {});
  ASSERT_TRUE(blob) << blob.error().message;
  EXPECT_TRUE((*blob)->bytes == Noise(kLarge, 'b'));

  for (int i = 0; i < 1001; ++i) Make("j/" + std::to_string(10000 + i), "x");
  door_ = Open();
  door_->transport.before = [&](int number, const http::Request&) {
    if (number == 2) CompactNow();
    return Between::Fate::kPass;
  };
  const auto list = door_->ListFrom("j/", "", {});
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->size(), 1001U);
  EXPECT_EQ(door_->transport.requests(), 4);
}

TEST_F(EtcdBlobsTest, MissingPiecesAreALoss) {
  Make("state.json", Noise(kLarge, 'a'));
  for (const std::string& key : Keys()) {
    if (key.ends_with("/00002")) DeleteKey(key);
  }
  EXPECT_EQ(Code(door_->Get("state.json", {})), ErrorCode::kDataLoss);
}

TEST_F(EtcdBlobsTest, WhatIsTooLargeIsRefusedBeforeItIsSent) {
  EXPECT_EQ(Code(door_->CreateIfAbsent("a", std::string(EtcdBlobs::kLargestBlob + 1, 'a'), {})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(door_->transport.requests(), 0);
}

// ---- Servers of their own.

TEST(EtcdServerTest, WhatWasAnsweredOutlivesAKill) {
  auto server = EtcdServer::Start();
  ASSERT_TRUE(server);
  Door door(server->Address(), "p");
  std::map<std::string, std::string> acknowledged;
  std::atomic<int> written = 0;
  std::atomic<bool> down = false;
  std::thread writer([&] {
    for (int i = 0; !down; ++i) {
      const std::string name = fmt::format("journal/{:06}", i);
      const auto made = door.CreateIfAbsent(name, "entry " + name, {});
      if (made) {
        acknowledged[name] = made->token;
        ++written;
        continue;
      }
      const ErrorCode code = made.error().code;
      EXPECT_TRUE(code == ErrorCode::kReplyLost || code == ErrorCode::kUnavailable)
          << made.error().message;
      down = true;
    }
  });
  while (written < 50 && !down) std::this_thread::yield();
  server->Kill();
  writer.join();
  EXPECT_EQ(door.Get("journal/000000", {}).error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(server->Restart());
  const auto list = door.ListFrom("journal/", "", {});
  ASSERT_TRUE(list) << list.error().message;
  std::map<std::string, std::string> found;
  for (const BlobEntry& entry : *list) found[entry.name] = entry.version.token;
  for (const auto& [name, version] : acknowledged) EXPECT_EQ(found[name], version) << name;
  EXPECT_LE(found.size(), acknowledged.size() + 1);
}

TEST(EtcdServerTest, AFullDatabaseIsAnOutageThatMayPass) {
  auto server = EtcdServer::Start({false, {"--quota-backend-bytes=4194304"}});
  ASSERT_TRUE(server);
  Door door(server->Address(), "p");
  std::optional<Error> full;
  std::string last;
  for (int i = 0; i < 40 && !full; ++i) {
    last = fmt::format("journal/{:03}", i);
    const auto made = door.CreateIfAbsent(last, Noise(500'000, 'x'), {});
    if (!made) full = made.error();
  }
  ASSERT_TRUE(full);
  EXPECT_EQ(full->code, ErrorCode::kReplyLost) << full->message;
  EXPECT_THAT(full->message, HasSubstr("database space exceeded"));
  EXPECT_THAT(full->hint, HasSubstr("alarm disarm"));
  // What is there can be read, and deleted.
  const auto first = door.Get("journal/000", {});
  ASSERT_TRUE(first && *first);
  EXPECT_TRUE(door.DeleteIf("journal/000", (*first)->version, {}));
}

class EtcdUserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = EtcdServer::Start();
    ASSERT_TRUE(server_);
    const std::string key = Base64Encode("team/");
    const std::string end = Base64Encode("team0");
    Ask("auth/user/add", R"({"name":"root","password":"rootpw"})");
    Ask("auth/user/grant", R"({"user":"root","role":"root"})");
    for (const auto& [name, type] : {std::pair("writer", 2), std::pair("reader", 0)}) {
      Ask("auth/user/add", fmt::format(R"({{"name":"{}","password":"pw"}})", name));
      Ask("auth/role/add", fmt::format(R"({{"name":"{}"}})", name));
      Ask("auth/role/grant",
          fmt::format(R"({{"name":"{}","perm":{{"permType":{},"key":"{}","range_end":"{}"}}}})",
                      name, type, key, end));
      Ask("auth/user/grant", fmt::format(R"({{"user":"{0}","role":"{0}"}})", name));
    }
    Ask("auth/enable", "{}");
  }
  void Ask(const std::string& path, const std::string& json) { server_->Ask(path, json); }
  std::unique_ptr<Door> As(const std::string& user, const std::string& password,
                           const std::string& prefix = "team") {
    return std::make_unique<Door>(server_->Address(), prefix,
                                  etcd::Settings{user, password, "", "", ""});
  }
  std::unique_ptr<EtcdServer> server_;
};

TEST_F(EtcdUserTest, WhoMayWriteBelowThePrefixCanKeepAState) {
  auto writer = As("writer", "pw");
  const auto one = writer->CreateIfAbsent("state.json", Noise(3'000'000, 'x'), {});
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_TRUE(writer->ListFrom("", "", {}));
  EXPECT_TRUE(writer->CreateIfAbsent("other", "1", {}));
  EXPECT_TRUE(writer->ListFrom("", "", {})->at(0).written);
  auto reader = As("reader", "pw");
  EXPECT_TRUE(reader->ListFrom("", "", {})->at(0).written);
  const auto blob = reader->Get("state.json", {});
  ASSERT_TRUE(blob) << blob.error().message;
  EXPECT_EQ((*blob)->bytes.size(), 3'000'000U);
  EXPECT_TRUE(reader->ListFrom("", "", {}));
  EXPECT_EQ(reader->CreateIfAbsent("lock.json", "x", {}).error().code,
            ErrorCode::kPermissionDenied);
  EXPECT_THAT(reader->CreateIfAbsent("lock.json", "x", {}).error().hint,
              HasSubstr("role grant-permission"));
  EXPECT_EQ(As("writer", "pw", "other")->Get("a", {}).error().code, ErrorCode::kPermissionDenied);
  for (const auto& door : {As("writer", "wrong"), As("nobody", "pw")}) {
    const auto refused = door->Get("a", {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnauthenticated) << refused.error().message;
    EXPECT_THAT(refused.error().message + refused.error().hint, Not(HasSubstr("wrong")));
  }
  const auto anybody = Door(server_->Address(), "team").Get("a", {});
  ASSERT_FALSE(anybody);
  EXPECT_EQ(anybody.error().code, ErrorCode::kUnauthenticated) << anybody.error().message;
  EXPECT_TRUE(writer->DeleteIf("state.json", *one, {}));
}

// Of a user whose password was set, be it to what it was, no token is good any more.
TEST_F(EtcdUserTest, WhoseTokenIsNoLongerKnownGetsAnother) {
  auto writer = As("writer", "pw");
  ASSERT_TRUE(writer->CreateIfAbsent("a", "1", {}));
  const Value root =
      ParseJson(server_->Ask("auth/authenticate", R"({"name":"root","password":"rootpw"})"))
          .value_or(Value());
  server_->Ask("auth/user/changepw", R"({"name":"writer","password":"pw"})",
               root["token"].AsString());
  const int before = writer->transport.requests();
  const auto made = writer->CreateIfAbsent("b", "1", {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(writer->transport.requests(), before + 3);
}

TEST(EtcdTlsTest, WhoShowsACertificateIsLetIn) {
  auto server = EtcdServer::Start({true, {}});
  ASSERT_TRUE(server);
  const std::string certificate = server->CertificateFile();
  Door door(server->Address(), "p", {"", "", certificate, certificate, server->KeyFile()}, "https");
  const auto made = door.CreateIfAbsent("a", "1", {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(*door.Get("a", {}));
  // Without one, with one that cannot be read, and without TLS; and whose server nobody vouches
  // for.
  EXPECT_FALSE(Door(server->Address(), "p", {"", "", certificate, "", ""}, "https").Get("a", {}));
  const auto unreadable =
      Door(server->Address(), "p", {"", "", certificate, "/no/such/file", ""}, "https")
          .Get("a", {});
  ASSERT_FALSE(unreadable);
  EXPECT_EQ(unreadable.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(unreadable.error().message, HasSubstr("/no/such/file"));
  const auto plain = Door(server->Address(), "p").Get("a", {});
  ASSERT_FALSE(plain);
  EXPECT_THAT(plain.error().hint, HasSubstr("etcds://")) << plain.error().message;
  const auto untrusted =
      Door(server->Address(), "p", {"", "", "", certificate, server->KeyFile()}, "https")
          .CreateIfAbsent("b", "1", {});
  ASSERT_FALSE(untrusted);
  EXPECT_EQ(untrusted.error().code, ErrorCode::kInvalidArgument) << untrusted.error().message;
}

}  // namespace
}  // namespace podctl::testing
