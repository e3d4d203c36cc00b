// The place in memory that the journal is tested on keeps what every place promises.
#include "tests/support/fake_blobs.h"

#include "tests/conformance/blob_store_suite.h"

namespace podctl::testing {
namespace {

class FakeBlobBench final : public BlobBench {
 public:
  std::unique_ptr<BlobStore> Open() override {
    return std::make_unique<FakeBlobs>(place_, "a test");
  }

 private:
  FakePlace place_;
};

INSTANTIATE_TEST_SUITE_P(Fake, BlobStoreSuite,
                         ::testing::Values([]() -> std::unique_ptr<BlobBench> {
                           return std::make_unique<FakeBlobBench>();
                         }));

}  // namespace
}  // namespace podctl::testing
