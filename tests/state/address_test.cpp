#include "state/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/addresses.h"

namespace podctl {
namespace {

TEST(AddressTest, WhatIsPrintedIsReadBack) {
  for (const Address& address :
       {Address{"pod", "research"}, Address{"bootstrap", "research.jupyter"},
        Address{"pod", "a", "key.with \"none\""}, Address{"pod", "a", "blue"},
        Address{"pod", "a", "", "a-2"}, Address{"pod", "a", "blue", "a-2"}}) {
    const auto read = ParseAddress(address.Text());
    if (address.key.find('"') != std::string::npos) {
      EXPECT_FALSE(read) << address.Text();
    } else {
      ASSERT_TRUE(read) << address.Text();
      EXPECT_EQ(*read, address);
    }
  }
  EXPECT_EQ((Address{"pod", "a", "blue", "a-2"}).Text(), "pod.a[\"blue\"] (deposed a-2)");
  EXPECT_EQ((Address{"pod", "a", "", "a-2"}).WithoutDeposed(), "pod.a");
  EXPECT_TRUE(Address{}.empty());
}

TEST(AddressTest, WhatIsNoAddressIsRefused) {
  for (const char* text : {"",
                           ".",
                           "pod",
                           "pod.",
                           ".a",
                           "pod.a[\"",
                           "pod.a[\"x",
                           "pod.a[\"\"]",
                           "pod.[\"x\"]",
                           "pod.a[\"x\"]y",
                           "pod.a (deposed )",
                           "pod.a (deposed x",
                           "pod. (deposed x)",
                           "pod.a\x1b[2J",
                           "pod.a\nb",
                           "pod.a\tb",
                           "pod.$(touch x)",
                           "pod.`id`",
                           "pod.a b",
                           "pod.a;b",
                           "pod.-rf",
                           "pod..",
                           "pod.../a",
                           "pod.a/b",
                           "pod.ä",
                           "p od.a",
                           "$(x).a",
                           "bootstrap.-a.b"}) {
    EXPECT_FALSE(ParseAddress(text)) << text;
  }
}

TEST(AddressTest, EveryNameOfASpecIsOne) {
  for (const char* text : {"pod.a", "pod.A_b-9", "pod._", "pod.9", "bootstrap.a.-x", "file.a",
                           "bootstrap.a.tpu-runtime", "trainingJob.mnist"}) {
    ASSERT_TRUE(ParseAddress(text)) << text;
  }
  EXPECT_TRUE(ParseAddress("pod." + std::string(63, 'a')));
  EXPECT_FALSE(ParseAddress("pod." + std::string(64, 'a')));
}

TEST(AddressTest, TheOrderIsThatOfTheTexts) {
  std::vector<Address> addresses;
  for (const char* text : {"pod.b", "bootstrap.a.x", "pod.a-b", "pod.a", "trainingJob.a",
                           "bootstrap.a-b.x", "pod.a (deposed z)"}) {
    addresses.push_back(Addr(text));
  }
  std::vector<std::string> texts;
  for (const Address& address : addresses) texts.push_back(address.Text());
  std::sort(addresses.begin(), addresses.end());
  std::sort(texts.begin(), texts.end());
  std::vector<std::string> sorted;
  for (const Address& address : addresses) sorted.push_back(address.Text());
  EXPECT_EQ(sorted, texts);
}

}  // namespace
}  // namespace podctl
