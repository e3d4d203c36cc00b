// What the service rests on: its catalogue, the rules of nodes, pages, and the journal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "providers/base/json.h"
#include "providers/emulator/api/schema.h"
#include "providers/emulator/names.h"
#include "providers/emulator/service/catalogue.h"
#include "providers/emulator/service/journal.h"
#include "providers/emulator/service/node_rules.h"
#include "providers/emulator/service/table.h"

namespace podctl::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

struct KnownType {
  const char* type;
  const char* topology;
  int workers;
};

class CatalogueTest : public ::testing::TestWithParam<KnownType> {};

TEST_P(CatalogueTest, KnowsShapeAndWorkers) {
  const auto found = FindAccelerator(GetParam().type);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->topology, GetParam().topology);
  EXPECT_EQ(found->workers, GetParam().workers);
  const auto same = FindAccelerator(found->api_type, found->topology);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->type, GetParam().type);
}

INSTANTIATE_TEST_SUITE_P(
    Documented, CatalogueTest,
    ::testing::Values(KnownType{"v2-8", "2x2", 1}, KnownType{"v3-32", "4x4", 4},
                      KnownType{"v3-2048", "32x32", 256}, KnownType{"v4-8", "2x2x1", 1},
                      KnownType{"v4-16", "2x2x2", 2}, KnownType{"v4-384", "4x4x12", 48},
                      KnownType{"v4-4096", "8x16x16", 512}, KnownType{"v5p-2688", "4x12x28", 336},
                      KnownType{"v5p-12288", "16x16x24", 1536}, KnownType{"v5litepod-8", "2x4", 1},
                      KnownType{"v5litepod-16", "4x4", 4}, KnownType{"v6e-256", "16x16", 64}));

TEST(Catalogue, RefusesWhatIsNotSold) {
  for (const char* type : {"v3-16", "v5e-8", "v4-136", "v4-2432", "v5p-8576", "v3-", "v3-8x", ""}) {
    EXPECT_FALSE(FindAccelerator(type)) << type;
  }
  EXPECT_FALSE(FindAccelerator("V4", "2x2x3"));
  EXPECT_FALSE(FindAccelerator("V4", "4x4"));
  EXPECT_FALSE(FindAccelerator("V4", ""));
  EXPECT_FALSE(FindAccelerator("V4", "16x4x4")) << "edges come shortest first";
}

TEST(Catalogue, KeepsAnAlternativeShape) {
  const auto found = FindAccelerator("V4", "4x4x16");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->type, "v4-512");
  EXPECT_EQ(found->topology, "4x4x16");
}

TEST(Catalogue, ZonesOfferDifferentThings) {
  EXPECT_TRUE(Offers("europe-west4-a", *FindAccelerator("v3-32")));
  EXPECT_TRUE(Offers("us-central1-b", *FindAccelerator("v3-8")));
  EXPECT_FALSE(Offers("us-central1-b", *FindAccelerator("v3-32")));
  EXPECT_FALSE(IsZone("europe-west4"));
  EXPECT_TRUE(IsRuntimeVersion("tpu-vm-tf-2.11.0-pod"));
  EXPECT_FALSE(IsRuntimeVersion("tpu-vm-tf-2.11.0-pods"));
  EXPECT_TRUE(HasTpuRuntime("tpu-vm-tf-2.11.0"));
  EXPECT_FALSE(HasTpuRuntime("tpu-ubuntu2204-base"));
}

TEST(NodeRules, MaskedButAbsentClearsAndMapsAreReplacedWhole) {
  Value resource = ParseJson(R"({"labels":{"a":"1"},"metadata":{"a":"1","b":"2"},"tags":["t"],
      "networkConfig":{"network":"n","enableExternalIps":true}})")
                       .value();
  const auto update =
      MakeUpdate(ReadMask("tags,metadata,network_config.enable_external_ips", ApiVersion::kV2),
                 ParseJson(R"({"metadata":{"c":"3"},"labels":{"x":"y"}})").value(), 4);
  ApplyUpdate(std::get<Update>(update), &resource);
  EXPECT_EQ(ToJson(resource),
            R"({"labels":{"a":"1"},"metadata":{"c":"3"},"networkConfig":{"network":"n"}})");
}

TEST(NodeRules, AnIdIsNoOtherPlace) {
  for (const char* good : {"a", "A_b.c~+%-", "..."}) EXPECT_TRUE(IsResourceId(good)) << good;
  for (const char* bad : {"", ".", "..", "a/b", "a b", "a:b"}) {
    EXPECT_FALSE(IsResourceId(bad)) << bad;
  }
  for (const char* good : {"p", "example.com:p-1", "123"}) EXPECT_TRUE(IsProjectId(good)) << good;
  for (const char* bad : {"", ".", "..", ".x", "a/b", "a b"}) EXPECT_FALSE(IsProjectId(bad)) << bad;
}

TEST(NodeRules, ChecksLabelsAndCidr) {
  const Place place{"p", "europe-west4-a"};
  const auto refused = [&](const std::string& more) {
    const auto made = MakeNode(
        place, "n",
        ParseLenientJson("{acceleratorType:'v3-8',runtimeVersion:'tpu-vm-base'," + more + "}")
            .value(),
        ApiVersion::kV2, "");
    const auto* refusal = std::get_if<ApiError>(&made);
    return refusal == nullptr ? std::string() : refusal->message;
  };
  EXPECT_EQ(refused("labels:{'a-1_':'b'},cidrBlock:'10.0.0.0/29'"), "");
  EXPECT_THAT(refused("labels:{'A':'b'}"), HasSubstr("label key"));
  EXPECT_THAT(refused("labels:{'1':'b'}"), HasSubstr("label key"));
  EXPECT_THAT(refused("labels:{a:'B'}"), HasSubstr("label"));
  EXPECT_THAT(refused("labels:{a:'" + std::string(64, 'x') + "'}"), HasSubstr("label"));
  EXPECT_THAT(refused("cidrBlock:'10.0.0.0/28'"), HasSubstr("/29"));
  EXPECT_THAT(refused("cidrBlock:'10.0.0/29'"), HasSubstr("/29"));
  EXPECT_THAT(refused("description:'" + std::string(513, 'x') + "'"), HasSubstr("512"));
  EXPECT_EQ(refused("description:'" + std::string(512, 'x') + "'"), "");
}

TEST(PageToken, ComesBackAndStrangersAreRefused) {
  EXPECT_EQ(ReadPageToken(MakePageToken("projects/p/x")), "projects/p/x");
  EXPECT_EQ(ReadPageToken("abc"), std::nullopt);
  EXPECT_EQ(ReadPageToken("6162"), std::nullopt);
  EXPECT_EQ(PageLimit({.size = 0, .after = ""}), 500);
  EXPECT_EQ(PageLimit({.size = 5000, .after = ""}), 1000);
}

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "journal-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~JournalTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(JournalTest, RemembersPutsAndErasures) {
  {
    auto journal = Journal::Open(folder_).value();
    ASSERT_TRUE(journal->Put("a", Value(1)));
    ASSERT_TRUE(journal->Put("b", Value("x\ny")));
    ASSERT_TRUE(journal->Put("a", Value(2)));
    ASSERT_TRUE(journal->Put("c", Value(3)));
    ASSERT_TRUE(journal->Erase("c"));
  }
  auto again = Journal::Open(folder_).value();
  EXPECT_THAT(again->TakeEntries(), ElementsAre(Pair("a", Value(2)), Pair("b", Value("x\ny"))));
}

TEST_F(JournalTest, ForgetsALineThatAKillCutOff) {
  { ASSERT_TRUE(Journal::Open(folder_).value()->Put("a", Value(1))); }
  std::ofstream(folder_ + "/journal.jsonl", std::ios::app) << R"({"k":"b","v":)";
  auto again = Journal::Open(folder_);
  ASSERT_TRUE(again);
  EXPECT_THAT((*again)->TakeEntries(), ElementsAre(Pair("a", Value(1))));
}

TEST_F(JournalTest, RefusesDamageInTheMiddle) {
  std::ofstream(folder_ + "/journal.jsonl") << "garbage\n{\"k\":\"a\",\"v\":1}\n";
  const auto opened = Journal::Open(folder_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDataLoss);
}

TEST_F(JournalTest, IsLockedAgainstASecondEmulator) {
  const auto first = Journal::Open(folder_);
  const auto second = Journal::Open(folder_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kLocked);
}

}  // namespace
}  // namespace podctl::emulator
