// Lives of a state in a real etcd (server_lives.h).
#include "providers/http/curl_transport.h"
#include "state/stores/etcd/etcd_blobs.h"
#include "tests/state/stores/journal_server_lives.h"
#include "tests/support/etcd_server.h"

namespace podctl::testing {
namespace {

// A way of its own, with all that it rests on.
struct EtcdWay {
  EtcdWay(const std::string& address, const std::string& prefix)
      : client(etcd::Place{{"http://" + address}, prefix, "etcd://" + address + "/" + prefix}, {},
               transport) {}

  http::CurlTransport transport{"podctl-test"};
  RealRandom random;
  etcd::Client client;
  EtcdBlobs blobs{client, random};
};

class LiveEtcd final : public LiveJournalServer {
 public:
  explicit LiveEtcd(std::unique_ptr<EtcdServer> server) : server_(std::move(server)) {}

  const std::string& Folder() const override { return server_->Folder(); }
  bool Restart() override { return server_->Restart(); }
  std::shared_ptr<BlobStore> Open(const std::string& state) override {
    const auto way = std::make_shared<EtcdWay>(server_->Address(), state);
    return {way, &way->blobs};
  }

 private:
  std::unique_ptr<EtcdServer> server_;
};

TEST(EtcdLives, NothingAcknowledgedIsLostAndNoRunWritesAfterAnothersFence) {
  PlayServerLives([]() -> std::unique_ptr<LiveServer> {
    auto server = EtcdServer::Start();
    return server ? std::make_unique<LiveEtcd>(std::move(server)) : nullptr;
  });
}

}  // namespace
}  // namespace podctl::testing
