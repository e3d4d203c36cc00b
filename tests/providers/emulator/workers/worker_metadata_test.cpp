// The metadata server as a worker sees it, each its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/providers/emulator/workers_fixture.h"

namespace podctl::emulator {
namespace {

class WorkerMetadataTest : public WorkersTest {
 protected:
  // For the shell of a worker: an answer, of which sed shows the body, or what it is told. Nothing
  // but bash is needed.
  static std::string Reading(const std::string& path, const std::string& host,
                             const std::string& show = R"('1,/^\r$/d')") {
    return "exec 3<>/dev/tcp/" + host + "/80; printf 'GET /computeMetadata/v1/instance/" + path +
           " HTTP/1.1\\r\\nMetadata-Flavor: Google\\r\\nConnection: close\\r\\n\\r\\n' >&3; sed " +
           show + " <&3";
  }
  std::string Read(int worker, const std::string& path,
                   const std::string& host = "metadata.google.internal") {
    return Ssh("alice", worker, Reading(path, host)).text;
  }
};

TEST_F(WorkerMetadataTest, EachWorkerReadsItsOwn) {
  if (!Isolated()) GTEST_SKIP() << "no namespaces here; those share the machine's network";
  Create("v3-32", "tpu-vm-tf-2.11.0-pod", "alice",
         ",'startup-script':" +
             ToJson(Value("#!/bin/bash\n(" +
                          Reading("attributes/agent-worker-number", "169.254.169.254") +
                          ") > /tmp/said 2>&1")) +
             ",team:'blue'");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Read(i, "attributes/agent-worker-number"), std::to_string(i));
    EXPECT_EQ(Read(i, "network-interfaces/0/ip", "169.254.169.254"), Address(i));
    EXPECT_EQ(Ssh("alice", i, "until [ -s /tmp/said ]; do sleep 0.1; done; cat /tmp/said").text,
              std::to_string(i))
        << "the startup-script reads it";
  }
  EXPECT_THAT(Read(3, "attributes/worker-network-endpoints"), HasSubstr(":" + Address(3)));
  EXPECT_THAT(Read(1, "attributes/tpu-env"), HasSubstr("TPU_PROCESS_BOUNDS: '2,2,1'\n"));
  EXPECT_EQ(Read(1, "attributes/team"), "blue");
  // After a reboot its network is another one, and the server there again.
  Act(2, "stop");
  Act(2, "start");
  EXPECT_TRUE(Eventually([&] { return Read(2, "attributes/agent-worker-number") == "2"; }));
}

TEST_F(WorkerMetadataTest, AChangeIsSeenAndWaitedFor) {
  if (!Isolated()) GTEST_SKIP() << "no namespaces here; those share the machine's network";
  Create("v3-8", "tpu-ubuntu2204-base", "alice", ",team:'blue'");
  EXPECT_EQ(Read(0, "attributes/team?wait_for_change=true&timeout_sec=1"), "blue")
      << "what it is when the time is over";
  const std::string etag =
      Ssh("alice", 0,
          Reading("attributes/team", "169.254.169.254", R"(-n 's/^ETag: \([0-9a-f]*\).*/\1/p')"))
          .text;
  ASSERT_EQ(etag.size(), 17U) << etag;
  Ssh("alice", 0,
      "(" +
          Reading("attributes/team?wait_for_change=true&last_etag=" + etag.substr(0, 16),
                  "metadata.google.internal") +
          ") > ~/changed 2>&1 &");
  Patch("{'ssh-keys':'alice:" + key_ + "',team:'red'}");
  EXPECT_TRUE(Eventually([&] { return Ssh("alice", 0, "cat ~/changed").text == "red"; }));
  EXPECT_EQ(Read(0, "attributes/team"), "red");
  EXPECT_THAT(Read(0, "attributes/"), HasSubstr("ssh-keys\nteam\ntpu-env\n"));
}

}  // namespace
}  // namespace podctl::emulator
