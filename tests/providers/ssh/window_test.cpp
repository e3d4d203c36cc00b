#include "providers/ssh/window.h"

#include <gtest/gtest.h>

namespace podctl::ssh {
namespace {

using std::chrono::seconds;

constexpr Window::Time kStart{seconds(100)};

TEST(WindowTest, HalvesWhenMostFailAndGrowsBack) {
  Window window(1024);
  for (int i = 0; i < 40; ++i) window.Trouble(kStart);
  EXPECT_EQ(window.size(), 512);
  for (int i = 0; i < 40; ++i) window.Trouble(kStart);
  EXPECT_EQ(window.size(), 512) << "once a second at most";
  for (int i = 0; i < 40; ++i) window.Trouble(kStart + seconds(2));
  EXPECT_EQ(window.size(), 256);
  for (int i = 0; i < 2000; ++i) window.Success();
  EXPECT_EQ(window.size(), 1024);
}

TEST(WindowTest, TakesAFewRefusalsForTheirWorkersTrouble) {
  Window window(1024);
  for (int i = 0; i < 200; ++i) window.Success();
  for (int i = 0; i < 100; ++i) window.Trouble(kStart);
  EXPECT_EQ(window.size(), 1024);
}

TEST(WindowTest, NeverClosesForTroubleOfOthers) {
  Window window(1024);
  for (int i = 0; i < 10'000; ++i) window.Trouble(kStart + seconds(i));
  EXPECT_EQ(window.size(), 16);
  Window small(3);
  for (int i = 0; i < 10'000; ++i) small.Trouble(kStart + seconds(i));
  EXPECT_EQ(small.size(), 3);
}

TEST(WindowTest, FitsIntoTheDescriptorsThatThereAre) {
  Window window(1024);
  window.NoRoom(100, kStart);
  EXPECT_EQ(window.size(), 50);
  window.NoRoom(0, kStart);
  EXPECT_EQ(window.size(), 1);
}

}  // namespace
}  // namespace podctl::ssh
