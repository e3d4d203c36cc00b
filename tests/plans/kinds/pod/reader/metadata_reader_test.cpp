// `ssh.publishKeys` of a pod.
#include "plans/kinds/pod/reader/metadata_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cmd/views/snippet.h"
#include "plans/kinds/pod/spec.h"
#include "plans/spec/loader.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kKey =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIErOKoHBbRNfFjiqVkbyeOfxNWle862JNr0h1VytILw2";

class PublishKeysReaderTest : public ::testing::Test {
 protected:
  std::vector<std::string> Read(const std::string& ssh, const std::string& more = "") {
    files_.SetFile("podctl.yaml",
                   "project: p\nzone: europe-west4-a\npods:\n  a:\n    acceleratorType: v3-8\n"
                   "    runtimeVersion: r\n    ssh: " +
                       ssh + "\n" + more);
    Diagnostics diagnostics;
    const Spec spec = LoadSpec(testing::WithKinds(), files_, FixedEnvironment({}), diagnostics);
    report_ = FormatDiagnostics(diagnostics, {});
    return testing::PodsOf(spec).size() == 1 ? testing::PodsOf(spec)[0].team_keys
                                             : std::vector<std::string>();
  }
  std::string Problem(const std::string& ssh, const std::string& more = "") {
    Read(ssh, more);
    return report_;
  }

  testing::FakeFileSystem files_;
  std::string report_;
};

TEST_F(PublishKeysReaderTest, AKeyIsOfItsUserOrOfThePods) {
  EXPECT_THAT(Read("{publishKeys: ['carol:" + kKey + " carol@laptop'], user: tpu}"),
              ElementsAre("carol:" + kKey + " carol@laptop"));
  EXPECT_THAT(Read("{publishKeys: ['" + kKey + "'], user: tpu}"), ElementsAre("tpu:" + kKey));
  EXPECT_EQ(report_, "");
}

TEST_F(PublishKeysReaderTest, AFileHoldsKeysALine) {
  files_.SetFile("keys/team.pub", "# ours\n\ncarol:" + kKey + " c\r\ndan:" + kKey + "\n");
  files_.SetFile("keys/eve.pub", kKey + " eve@laptop\n");
  EXPECT_THAT(Read("{publishKeys: [keys/team.pub, {file: keys/eve.pub, user: eve}]}"),
              ElementsAre("carol:" + kKey + " c", "dan:" + kKey, "eve:" + kKey + " eve@laptop"));
  EXPECT_EQ(report_, "");
}

TEST_F(PublishKeysReaderTest, WhatIsNoneIsRefusedWithItsPlace) {
  files_.SetFile("bad.pub", "carol:" + kKey + "\nssh-ed25519 AAAA carol\n");
  files_.SetFile("empty.pub", "# nobody yet\n");
  files_.SetFile("nobody.pub", kKey + "\n");
  EXPECT_THAT(Problem("{publishKeys: ['" + kKey + "']}"),
              AllOf(HasSubstr("podctl.yaml:7:"), HasSubstr("does not say whose account")));
  EXPECT_THAT(Problem("{publishKeys: [bad.pub]}"), HasSubstr("line 2 of bad.pub is no public key"));
  EXPECT_THAT(Problem("{publishKeys: [empty.pub]}"), HasSubstr("empty.pub holds no key"));
  EXPECT_THAT(Problem("{publishKeys: [nobody.pub]}"), HasSubstr("line 1 of nobody.pub does not"));
  EXPECT_THAT(Problem("{publishKeys: [gone.pub]}"), HasSubstr("gone.pub"));
  EXPECT_THAT(Problem("{publishKeys: [{user: a}]}"), HasSubstr("names no file"));
  EXPECT_THAT(Problem("{publishKeys: [{fil: a}]}"), HasSubstr("did you mean `file`?"));
  EXPECT_THAT(Problem("{publishKeys: ['ssh-rsa " + kKey.substr(12) + "'], user: a}"),
              HasSubstr("this is no public key"))
      << "the blob is of another type";
  EXPECT_THAT(
      Problem("{publishKeys: ['c:" + kKey + "']}", "    metadata: {ssh-keys: x}\n"),
      AllOf(HasSubstr("which the spec writes itself"), HasSubstr("`ssh-keys` is set here")));
}

TEST_F(PublishKeysReaderTest, APrivateKeyIsRefusedAndNotShown) {
  const std::string secret = "-----BEGIN OPENSSH PRIVATE KEY-----";
  files_.SetFile("id_ed25519", secret + "\nc2VjcmV0\n");
  EXPECT_THAT(Problem("{publishKeys: [id_ed25519]}"),
              AllOf(HasSubstr("id_ed25519 holds a private key"), Not(HasSubstr("c2VjcmV0"))));
  EXPECT_THAT(Problem("{publishKeys: [\"" + secret + "\\nc2VjcmV0\"]}"),
              AllOf(HasSubstr("no public key"), Not(HasSubstr("c2VjcmV0"))));
}

}  // namespace
}  // namespace podctl
