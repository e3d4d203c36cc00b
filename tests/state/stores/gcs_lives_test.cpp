// Lives of a state in a bucket of the emulator (server_lives.h).
#include "providers/emulator/emulator.h"
#include "providers/http/curl_transport.h"
#include "providers/os/process.h"
#include "state/stores/gcs/gcs_blobs.h"
#include "tests/state/stores/journal_server_lives.h"
#include "tests/support/forked_server.h"
#include "tests/support/free_port.h"

namespace podctl::testing {
namespace {

// A way of its own, with all that it rests on.
struct GcsWay {
  GcsWay(const std::string& url, const std::string& place)
      : client(*gcp::ParseEndpoint(url), transport, credentials, clock, random,
               gcp::StorageSettings{}, http::RetryPolicy{.attempts = 1}),
        blobs(client, *gcp::ParseStoragePlace(place)) {}

  http::CurlTransport transport{"podctl-test"};
  RealClock clock;
  RealRandom random;
  FixedEnvironment environment{{}};
  RealFileSystem files;
  RealProcessRunner programs;
  gcp::Credentials credentials{{environment, files, programs, transport, clock, random}};
  gcp::StorageClient client;
  GcsBlobs blobs;
};

class LiveBucket final : public LiveJournalServer {
 public:
  LiveBucket() : port_(FreePort()), server_([this](int ready) { Serve(ready); }) {
    std::string pattern = (std::filesystem::temp_directory_path() / "podctl-gcs-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    EXPECT_TRUE(server_.Start()) << "the emulator does not come up";
    const auto made =
        GcsWay(Url(), "gs://state-bucket/x").client.MakeBucket("demo", "state-bucket", "EU", {});
    EXPECT_TRUE(made) << made.error().message;
  }
  ~LiveBucket() override {
    server_.Kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  const std::string& Folder() const override { return folder_; }
  bool Restart() override {
    server_.Kill();
    return server_.Start();
  }
  std::shared_ptr<BlobStore> Open(const std::string& state) override {
    const auto way = std::make_shared<GcsWay>(Url(), "gs://state-bucket/" + state);
    return {way, &way->blobs};
  }

 private:
  std::string Url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  void Serve(int ready) const {
    emulator::Options options;
    options.listen_port = port_;
    options.workers = emulator::Options::Workers::kNone;
    options.data_folder = folder_ + "/data";
    const auto started = emulator::Emulator::Start(options);
    if (!started || ::write(ready, "x", 1) != 1) return;
    ::close(ready);
    for (;;) ::pause();
  }

  std::string folder_;
  const int port_;
  ForkedServer server_;
};

TEST(GcsLives, NothingAcknowledgedIsLostAndNoRunWritesAfterAnothersFence) {
  PlayServerLives([] { return std::make_unique<LiveBucket>(); });
}

}  // namespace
}  // namespace podctl::testing
