#include "providers/etcd/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podctl::etcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Variables = std::map<std::string, std::string>;

Result<Place> Parse(const std::string& url, const Variables& variables = {}) {
  return ParsePlace(url, FixedEnvironment(variables));
}

TEST(EtcdPlace, NamesHostsAndAPrefix) {
  const auto place = Parse("etcd://etcd-1:2379,10.0.0.2:12379,[::1]:2379,etcd-4/team/podctl/");
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_THAT(place->endpoints, ElementsAre("http://etcd-1:2379", "http://10.0.0.2:12379",
                                            "http://[::1]:2379", "http://etcd-4:2379"));
  EXPECT_EQ(place->prefix, "team/podctl");
  EXPECT_EQ(place->url, "etcd://etcd-1:2379,10.0.0.2:12379,[::1]:2379,etcd-4/team/podctl");
  EXPECT_TRUE(IsPlace("etcd://h/p"));
  EXPECT_TRUE(IsPlace("etcds://h/p"));
  EXPECT_FALSE(IsPlace("gs://h/p"));
}

TEST(EtcdPlace, IsReachedByTlsAsEtcdctlDoes) {
  EXPECT_THAT(Parse("etcds://h/p")->endpoints, ElementsAre("https://h:2379"));
  EXPECT_THAT(Parse("etcd://h:80/p")->endpoints, ElementsAre("http://h:80"));
  EXPECT_THAT(Parse("etcds://h:443/p")->endpoints, ElementsAre("https://h:443"));
  EXPECT_THAT(Parse("etcd://h/p", {{"ETCDCTL_CACERT", "ca.pem"}})->endpoints,
              ElementsAre("https://h:2379"));
  EXPECT_THAT(Parse("etcd://h/p", {{"ETCDCTL_CERT", "c.pem"}})->endpoints,
              ElementsAre("https://h:2379"));
}

TEST(EtcdPlace, TakesTheHostsThatEtcdctlTakes) {
  const Variables variables{{"ETCDCTL_ENDPOINTS", "https://a:1,b:2, c"}};
  EXPECT_THAT(Parse("etcd:///p", variables)->endpoints,
              ElementsAre("https://a:1", "http://b:2", "http://c:2379"));
  EXPECT_THAT(Parse("etcd://d/p", variables)->endpoints, ElementsAre("http://d:2379"));
  EXPECT_THAT(Parse("etcd:///p").error().message, HasSubstr("ETCDCTL_ENDPOINTS"));
  EXPECT_THAT(Parse("etcd:///p", {{"ETCDCTL_ENDPOINTS", "u:secret@h:1"}}).error().message,
              Not(HasSubstr("secret")));
}

TEST(EtcdPlace, SaysWhatIsWrongWithAUrl) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"etcd://h:2379", "names no prefix"},        {"etcd://h:2379/", "names no prefix"},
      {"etcd://h:2379//p", "between two slashes"}, {"etcd://h/a//b", "between two slashes"},
      {"etcd://h/a/../b", "`..`, `.` or nothing"}, {"etcd://h/..", "`..`, `.` or nothing"},
      {"etcd://h/p?x=1", "one of # ? *"},          {"etcd://h:x/p", "no HOST:PORT"},
      {"etcd://h,,i/p", "no HOST:PORT"},           {"etcd://h:99999/p", "no HOST:PORT"},
      {"gs://h/p", "is no place in etcd"}};
  for (const auto& [url, why] : wrong) {
    const auto place = Parse(url);
    ASSERT_FALSE(place) << url;
    EXPECT_EQ(place.error().code, ErrorCode::kInvalidArgument) << url;
    EXPECT_THAT(place.error().message, HasSubstr(why)) << url;
    EXPECT_THAT(place.error().message, HasSubstr(url)) << url;
    EXPECT_THAT(place.error().hint, HasSubstr("etcd://HOST:2379/PREFIX")) << url;
  }
}

TEST(EtcdPlace, APasswordInAUrlIsRefusedAndNotQuoted) {
  const auto place = Parse("etcd://root:secret@h:2379/p");
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, Not(HasSubstr("secret")));
  EXPECT_THAT(place.error().hint, HasSubstr("ETCDCTL_USER"));
}

TEST(EtcdSettings, AreEtcdctls) {
  const auto found = FindSettings(FixedEnvironment(Variables{{"ETCDCTL_USER", "root:a:b"},
                                                             {"ETCDCTL_CACERT", "ca"},
                                                             {"ETCDCTL_CERT", "cert"},
                                                             {"ETCDCTL_KEY", "key"}}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->user, "root");
  EXPECT_EQ(found->password, "a:b");
  EXPECT_EQ(found->ca_file, "ca");
  EXPECT_EQ(found->certificate_file, "cert");
  EXPECT_EQ(found->key_file, "key");
  const auto apart = FindSettings(
      FixedEnvironment(Variables{{"ETCDCTL_USER", "root"}, {"ETCDCTL_PASSWORD", "x"}}));
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->password, "x");
  EXPECT_FALSE(FindSettings(FixedEnvironment(Variables{{"ETCDCTL_USER", "root"}})));
  EXPECT_FALSE(FindSettings(FixedEnvironment(Variables{{"ETCDCTL_KEY", "key"}})));
}

TEST(EtcdSettings, APasswordTravelsEncryptedOrNotAtAll) {
  const Settings somebody{"root", "secret", "", "", ""};
  EXPECT_TRUE(MayCarry(*Parse("etcd://127.0.0.1/p"), somebody, FixedEnvironment(Variables{})));
  EXPECT_TRUE(MayCarry(*Parse("etcds://h/p"), somebody, FixedEnvironment(Variables{})));
  EXPECT_TRUE(MayCarry(*Parse("etcd://h/p"), Settings{}, FixedEnvironment(Variables{})));
  const auto refused =
      MayCarry(*Parse("etcd://127.0.0.1,h/p"), somebody, FixedEnvironment(Variables{}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("h:2379"));
  EXPECT_THAT(refused.error().hint, HasSubstr("etcds://"));
}

// The spec may be a pull request's, which a pipeline plans.
TEST(EtcdSettings, InAPipelineAPasswordGoesWhereThePipelineSays) {
  const Settings somebody{"root", "secret", "", "", ""};
  const Place place = *Parse("etcds://h1,h2:99/p");
  const auto refused = MayCarry(place, somebody, FixedEnvironment(Variables{{"CI", "true"}}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("h1:2379"));
  const auto other = MayCarry(
      place, somebody,
      FixedEnvironment(Variables{{"GITHUB_ACTIONS", "true"}, {"ETCDCTL_ENDPOINTS", "h1:2379"}}));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("h2:99"));
  EXPECT_TRUE(MayCarry(
      place, somebody,
      FixedEnvironment(Variables{{"CI", "true"}, {"ETCDCTL_ENDPOINTS", "h1,https://h2:99"}})));
  EXPECT_TRUE(MayCarry(place, Settings{}, FixedEnvironment(Variables{{"CI", "true"}})));
}

}  // namespace
}  // namespace podctl::etcd
