#include "providers/ssh/keys/host_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "providers/base/encoding.h"
#include "providers/ssh/keys/wire.h"
#include "providers/ssh/line_splitter.h"
#include "tests/support/golden.h"

namespace podctl::ssh {
namespace {

// Made for this test; nobody holds the private halves any more.
constexpr const char* kFirst =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
constexpr const char* kSecond =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA";

TEST(HostKeyTest, ReadsAndWritesTheTextForm) {
  const auto key = ParseHostKey(std::string("  ") + kFirst + " root@worker\n");
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->type, "ssh-ed25519");
  EXPECT_EQ(key->blob.size(), 51U);
  EXPECT_EQ(FormatHostKey(key->blob), kFirst);
}

TEST(HostKeyTest, RefusesWhatIsNoKey) {
  EXPECT_FALSE(ParseHostKey("").has_value());
  EXPECT_FALSE(ParseHostKey("ssh-ed25519").has_value());
  EXPECT_FALSE(ParseHostKey("ssh-ed25519 !!!").has_value());
  EXPECT_FALSE(ParseHostKey("ssh-ed25519 AAAA").has_value());
  EXPECT_FALSE(ParseHostKey("ssh-rsa " + std::string(kFirst).substr(12)).has_value())
      << "the type in front is not the one inside";
}

// What a hostile worker shows must not reach a terminal, nor the state, as control characters.
TEST(HostKeyTest, ATypeIsANameAndNothingElse) {
  std::string blob;
  AppendString(blob, "\x1b[31m");
  EXPECT_EQ(FormatHostKey(blob), "");
  EXPECT_FALSE(ParseHostKey("\x1b[31m " + Base64Encode(blob)).has_value());
  const std::string complaint =
      FullWords(HostKeyComplaint(HostKeyVerdict::kUnknown, {}, {}, DescribeHostKey(blob)));
  EXPECT_NE(complaint.find("\\x1b[31m SHA256:"), std::string::npos) << complaint;
  std::string long_type;
  AppendString(long_type, std::string(65, 'x'));
  EXPECT_EQ(FormatHostKey(long_type), "");
}

TEST(HostKeyTest, AsksForThePinnedTypeFirstAndNeverForCertificates) {
  EXPECT_EQ(HostKeyPreferences({}),
            "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,"
            "rsa-sha2-512,rsa-sha2-256");
  EXPECT_EQ(HostKeyPreferences({{"ssh-rsa", ""}}),
            "rsa-sha2-512,rsa-sha2-256,ssh-ed25519,ecdsa-sha2-nistp256,"
            "ecdsa-sha2-nistp384,ecdsa-sha2-nistp521");
}

TEST(HostKeyTest, Judges) {
  const HostKey first = *ParseHostKey(kFirst);
  const HostKey second = *ParseHostKey(kSecond);
  WorkerAccess trusting;
  WorkerAccess strict;
  strict.trust_first_use = false;
  EXPECT_EQ(JudgeHostKey(strict, {second, first}, first.blob), HostKeyVerdict::kPinned);
  EXPECT_EQ(JudgeHostKey(trusting, {second}, first.blob), HostKeyVerdict::kChanged)
      << "trust on first use is over once something is pinned";
  EXPECT_EQ(JudgeHostKey(trusting, {}, first.blob), HostKeyVerdict::kLearned);
  EXPECT_EQ(JudgeHostKey(strict, {}, first.blob), HostKeyVerdict::kUnknown);
  trusting.distrust = "a file cannot be read";
  EXPECT_EQ(JudgeHostKey(trusting, {}, first.blob), HostKeyVerdict::kUnknown);
  EXPECT_EQ(JudgeHostKey(trusting, {first}, first.blob), HostKeyVerdict::kPinned);
}

TEST(HostKeyTest, ARevokedKeyIsRefusedAlthoughItIsPinned) {
  const HostKey first = *ParseHostKey(kFirst);
  const HostKey second = *ParseHostKey(kSecond);
  WorkerAccess worker;
  worker.revoked_keys = {kSecond, kFirst};
  EXPECT_EQ(JudgeHostKey(worker, {first}, first.blob), HostKeyVerdict::kRevoked);
  EXPECT_EQ(JudgeHostKey(worker, {}, second.blob), HostKeyVerdict::kRevoked);
}

TEST(HostKeyTest, ComplainsLoudly) {
  WorkerAccess worker;
  worker.pod = "research";
  worker.index = 3;
  worker.host = "10.0.0.7";
  const HostKey first = *ParseHostKey(kFirst);
  const HostKey second = *ParseHostKey(kSecond);
  const std::string shown = DescribeHostKey(second.blob);
  const auto complaint = [&](HostKeyVerdict verdict, const std::vector<HostKey>& pins) {
    return FullWords(HostKeyComplaint(verdict, worker, pins, shown)) + "\n";
  };
  testing::ExpectGolden("ssh/host_key_changed.txt", complaint(HostKeyVerdict::kChanged, {first}));
  testing::ExpectGolden("ssh/host_key_unknown.txt", complaint(HostKeyVerdict::kUnknown, {}));
  testing::ExpectGolden("ssh/host_key_revoked.txt", complaint(HostKeyVerdict::kRevoked, {first}));
  worker.host_keys_from = "~/.ssh/known_hosts:12";
  testing::ExpectGolden("ssh/host_key_changed_since_known_hosts.txt",
                        complaint(HostKeyVerdict::kChanged, {first}));
  worker.distrust = "~/.ssh/known_hosts:3 has a certificate authority for it";
  testing::ExpectGolden("ssh/host_key_distrusted.txt", complaint(HostKeyVerdict::kUnknown, {}));
}

TEST(HostKeyTest, ExpectsThePinsOfTheShownKindWhereThereAreAny) {
  const HostKey first = *ParseHostKey(kFirst);
  const HostKey second = *ParseHostKey(kSecond);
  const HostKey other{"ssh-rsa", "another blob"};
  const auto complaint = [&](const std::vector<HostKey>& pins) {
    return FullWords(
        HostKeyComplaint(HostKeyVerdict::kChanged, {}, pins, DescribeHostKey(second.blob)));
  };
  EXPECT_EQ(complaint({other, first}), complaint({first}));
  EXPECT_THAT(complaint({other}), ::testing::HasSubstr("expected ssh-rsa SHA256:"));
}

TEST(HostKeyTest, AComplaintIsACauseAndADetail) {
  WorkerAccess worker;
  worker.pod = "research";
  worker.index = 3;
  worker.host = "fd00::7";
  const HostKey first = *ParseHostKey(kFirst);
  const std::string shown = DescribeHostKey(ParseHostKey(kSecond)->blob);
  const auto complaint = [&](HostKeyVerdict verdict) {
    return HostKeyComplaint(verdict, worker, {first}, shown);
  };
  EXPECT_THAT(SharedWords(complaint(HostKeyVerdict::kChanged)),
              ::testing::StartsWith("THE HOST KEY HAS CHANGED; either the machine"));
  EXPECT_THAT(
      OwnWords(complaint(HostKeyVerdict::kChanged)),
      ::testing::AllOf(::testing::StartsWith("research/3 (fd00::7): expected ssh-ed25519 SHA256:"),
                       ::testing::EndsWith("but it shows " + shown)));
  EXPECT_EQ(SharedWords(complaint(HostKeyVerdict::kRevoked)),
            "THE HOST KEY IS REVOKED in known_hosts; podctl does not talk to whoever shows it");
  EXPECT_EQ(OwnWords(complaint(HostKeyVerdict::kRevoked)), "research/3 (fd00::7): " + shown);
  EXPECT_EQ(SharedWords(complaint(HostKeyVerdict::kUnknown)),
            "no host key is known, and trusting the first one is switched off");
  EXPECT_EQ(OwnWords(complaint(HostKeyVerdict::kUnknown)),
            "research/3 (fd00::7): it shows " + shown);
}

TEST(WireTest, ReadsNothingPastTheEnd) {
  std::string text;
  AppendString(text, "abc");
  AppendNumber(text, 7);
  WireReader reader(text);
  EXPECT_EQ(reader.String(), "abc");
  EXPECT_EQ(reader.Number(), 7U);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.String(), "");
  EXPECT_FALSE(reader.ok());
  WireReader liar(std::string_view("\xff\xff\xff\xff", 4));
  EXPECT_EQ(liar.String(), "");
  EXPECT_FALSE(liar.ok());
}

TEST(WireTest, WritesMpintsWithoutNeedlessZeros) {
  std::string text;
  AppendMpint(text, std::string_view("\0\0\x80", 3));
  EXPECT_EQ(text, std::string("\0\0\0\2\0\x80", 6));
  text.clear();
  AppendMpint(text, std::string_view("\0", 1));
  EXPECT_EQ(text, std::string(4, '\0'));
}

TEST(LineSplitterTest, CutsAtNewlinesHoweverTheBytesArrive) {
  const std::string text = "one\n\ntwo\nlast";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    const auto take = [&](std::string_view line, bool ends) {
      EXPECT_EQ(ends, line != "last");
      lines.emplace_back(line);
    };
    for (std::size_t at = 0; at < text.size(); at += step) {
      splitter.Add(std::string_view(text).substr(at, step), take);
    }
    splitter.Finish(take);
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two", "last"})) << step;
  }
}

TEST(LineSplitterTest, ALineOfJustTheLimitIsOnePiece) {
  LineSplitter splitter;
  std::vector<std::size_t> sizes;
  std::string ended;
  const auto take = [&](std::string_view line, bool ends) {
    sizes.push_back(line.size());
    ended += ends ? 'y' : 'n';
  };
  splitter.Add(std::string(LineSplitter::kLongestLine, 'x') + "\n", take);
  splitter.Add(std::string(LineSplitter::kLongestLine + 1, 'x') + "\n", take);
  splitter.Finish(take);
  EXPECT_EQ(sizes,
            (std::vector<std::size_t>{LineSplitter::kLongestLine, LineSplitter::kLongestLine, 1}));
  EXPECT_EQ(ended, "yny");
}

}  // namespace
}  // namespace podctl::ssh
