// Answers of etcd's JSON gateway, or of whatever answers in its place: a proxy's page, a cut body,
// keys that nobody asked for.
//
// An input is answers, each a line with the HTTP status and the body in the lines below it, up to a
// line "====". They are given to one request after the other; behind the last one nobody answers.
#include <stop_token>
#include <vector>

#include "providers/base/text.h"
#include "providers/etcd/client.h"
#include "state/stores/etcd/etcd_blobs.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_clock.h"

namespace podctl::fuzz {
namespace {

constexpr std::string_view kBetween = "\n====\n";
constexpr const char* kEndpoint = "http://etcd-1:2379";

class Answers final : public http::Transport {
 public:
  explicit Answers(std::string_view text) {
    while (!text.empty()) {
      const auto end = std::min(text.find(kBetween), text.size());
      std::string_view one = text.substr(0, end);
      text.remove_prefix(std::min(end + kBetween.size(), text.size()));
      const auto line = std::min(one.find('\n'), one.size());
      http::Response answer;
      answer.status = ParseNumber<int>(one.substr(0, line)).value_or(200);
      one.remove_prefix(std::min(line + 1, one.size()));
      answer.body = one;
      answers_.push_back(std::move(answer));
    }
  }
  Result<http::Response> Send(const http::Request& /*request*/, std::stop_token /*stop*/) override {
    if (next_ == answers_.size()) return MakeError(ErrorCode::kUnavailable, "nobody answers");
    return answers_[next_++];
  }
  void Again() { next_ = 0; }

 private:
  std::vector<http::Response> answers_;
  std::size_t next_ = 0;
};

void Try(etcd::Client& client, Answers& answers) {
  const etcd::KeyRange range = etcd::BelowPrefix("team/");
  answers.Again();
  if (const auto found = client.Read(range, {}, {}); !found) {
    ExpectShowable(found.error());
  } else {
    std::string before;
    for (const etcd::KeyValue& key : found->keys) {
      Expect(key.key >= range.key && key.key < range.end, "a key is one that was asked for");
      Expect(before.empty() || before < key.key, "keys come in order, and none twice");
      Expect(key.revision > 0, "what is there was written once");
      before = key.key;
    }
  }
  answers.Again();
  const auto committed = client.Commit({{{"team/a", 0}}, {}, {{"team/a", "1", 0}}}, {});
  if (!committed) ExpectShowable(committed.error());
  Expect(!committed || *committed > 0, "what was carried out has a revision");
  answers.Again();
  const auto lease = client.Grant(std::chrono::seconds(60), {});
  if (!lease) ExpectShowable(lease.error());
  Expect(!lease || *lease != 0, "a lease has a number");
  answers.Again();
  const auto age = client.AgeOf(1, {});
  if (!age) ExpectShowable(age.error());
  Expect(!age || age->count() >= 0, "nothing is younger than new");
}

void TryBlobs(etcd::Client& client, Answers& answers) {
  testing::FakeRandom random;
  EtcdBlobs blobs(client, random);
  answers.Again();
  if (const auto blob = blobs.Get("state.json", {}); !blob) {
    ExpectShowable(blob.error());
  } else if (*blob) {
    Expect(!(*blob)->version.token.empty(), "what is there has a version");
    Expect((*blob)->bytes.size() <= EtcdBlobs::kLargestBlob, "a blob is no larger than may be");
  }
  answers.Again();
  if (const auto list = blobs.ListFrom("", "journal/000000000001.json", {}); !list) {
    ExpectShowable(list.error());
  } else {
    std::string before = "journal/";
    for (const BlobEntry& entry : *list) {
      Expect(before < entry.name, "a list is in the order of names", entry.name);
      before = entry.name;
    }
  }
  answers.Again();
  const auto made = blobs.CreateIfAbsent("lock.json", "text", {});
  if (!made) ExpectShowable(made.error());
  answers.Again();
  const auto large = blobs.CreateIfAbsent("state.json", R"({"podctl_chunks":)", {});
  if (!large) ExpectShowable(large.error());
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using podctl::etcd::Client;
  podctl::fuzz::Answers answers(podctl::fuzz::TextOf(data, size));
  for (const char* const user : {"", "alice"}) {
    Client client({{podctl::fuzz::kEndpoint}, "team", "etcd://etcd-1/team"},
                  {user, "secret", "", "", ""}, answers);
    podctl::fuzz::Try(client, answers);
    podctl::fuzz::TryBlobs(client, answers);
  }
  return 0;
}
