#include "providers/ssh/mailbox.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace podctl::ssh {
namespace {

bool Rings(const Wakeup& bell) {
  pollfd fd{bell.fd(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

TEST(MailboxTest, KeepsTheOrderAndEndsAfterTheLastLetter) {
  const Wakeup bell;
  Mailbox mailbox(bell);
  mailbox.Put({1, Phase::kRunning});
  mailbox.Put({1, Output{Stream::kErr, "text"}});
  mailbox.Put({1, Phase::kDone});
  mailbox.Close();
  std::vector<Letter> letters;
  ASSERT_TRUE(mailbox.Take(letters));
  ASSERT_EQ(letters.size(), 3U);
  EXPECT_EQ(std::get<Phase>(letters[0].content), Phase::kRunning);
  EXPECT_EQ(std::get<Output>(letters[1].content).bytes, "text");
  EXPECT_FALSE(mailbox.Take(letters));
}

TEST(MailboxTest, TellsTheWriterWhenThereIsRoomAgain) {
  const Wakeup bell;
  Mailbox mailbox(bell);
  std::vector<Letter> letters;
  mailbox.Put({0, Output{Stream::kOut, std::string(Mailbox::kLimit - 1, 'x')}});
  EXPECT_FALSE(mailbox.Full());
  ASSERT_TRUE(mailbox.Take(letters));
  EXPECT_FALSE(Rings(bell)) << "nobody was told to wait";

  mailbox.Put({0, Output{Stream::kOut, std::string(Mailbox::kLimit, 'x')}});
  EXPECT_TRUE(mailbox.Full());
  ASSERT_TRUE(mailbox.Take(letters));
  EXPECT_TRUE(Rings(bell));
  EXPECT_FALSE(mailbox.Full());
}

}  // namespace
}  // namespace podctl::ssh
