// Answers of a forge, or of whatever answers in its place; and comments that anybody wrote under a
// pull request.
//
// An input is answers, each a line with the HTTP status and the body in the lines below it, up to a
// line "====". They are given to one request after the other; behind the last one nobody answers.
#include <stop_token>
#include <vector>

#include "plans/ci/comment.h"
#include "plans/ci/mark.h"
#include "providers/base/text.h"
#include "providers/forges/rest_forge.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_clock.h"

namespace podctl::fuzz {
namespace {

constexpr std::string_view kBetween = "\n====\n";
constexpr const char* kApi = "https://git.example.com/api";
constexpr const char* kToken = "the-token-of-the-run";

class ForgeAnswers final : public http::Transport {
 public:
  explicit ForgeAnswers(std::string_view text) {
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
  Result<http::Response> Send(const http::Request& request, std::stop_token /*stop*/) override {
    Expect(request.url.starts_with(kApi), "the token goes to its forge alone", request.url);
    Expect(request.url.find_first_of(" \n\"<>") == std::string::npos, "an address is one",
           request.url);
    if (next_ == answers_.size()) return MakeError(ErrorCode::kUnavailable, "nobody answers");
    return answers_[next_++];
  }
  void Again() { next_ = 0; }

 private:
  std::vector<http::Response> answers_;
  std::size_t next_ = 0;
};

void ExpectTellable(const Error& error) {
  ExpectShowable(error);
  Expect(error.message.find(kToken) == std::string::npos, "no token is told", error.message);
}

void TryForge(ForgeKind kind, ForgeAnswers& answers) {
  ForgePlace place;
  place.kind = kind;
  place.api = kApi;
  if (kind == ForgeKind::kGitHub) place.graphql = std::string(kApi) + "/graphql";
  place.repository = kind == ForgeKind::kGitLab ? "7" : "team/pods";
  place.token = kToken;
  place.token_from = "GITHUB_TOKEN";
  testing::FakeClock clock;
  testing::FakeRandom random;
  http::RetryPolicy policy;
  policy.attempts = 1;
  policy.refusals = 1;
  policy.connection_attempts = 1;
  for (int what = 0; what < 4; ++what) {
    auto forge = MakeForge(place, {answers, clock, random, policy});
    answers.Again();
    if (what == 0) {
      CommentRequest request;
      request.pull = 3;
      request.text = "a text\n";
      request.mark = {"p", CommentMark::State::kPlanned, "sha256:aa", ""};
      const auto put = PutComment(**forge, request, {});
      if (!put) ExpectTellable(put.error());
    } else if (what == 1) {
      const auto review = FindReview(**forge, std::nullopt, "abc", "p", {});
      if (!review) ExpectTellable(review.error());
    } else {
      const auto end = KeepDriftIssue(**forge, {"p", what == 2, "drift", "a text\n"}, {});
      if (!end) ExpectTellable(end.error());
    }
  }
}

void TryText(std::string_view text) {
  if (const auto mark = FindMark(text)) {
    const std::string line = MarkLine(*mark);
    const auto again = FindMark(line);
    Expect(again && again->project == mark->project && again->digest == mark->digest &&
               again->commit == mark->commit && again->state == mark->state,
           "a mark is read back", line);
    Expect(!FindMark(WithoutMark(text)) || WithoutMark(text).size() < text.size(),
           "a mark is taken away");
  }
  const std::string line = MarkLine({std::string(text.substr(0, 200)), {}, "", ""});
  const auto named = FindMark(line);
  Expect(named && named->project == text.substr(0, 200), "any project can be named", line);
  const std::string marked = MarkedText(std::string(text), line, 2'000);
  Expect(marked.size() <= 2'000 && FindMark(marked).has_value(),
         "a mark is there, and room is kept");
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = podctl::fuzz::TextOf(data, size);
  podctl::fuzz::TryText(text);
  podctl::fuzz::ForgeAnswers answers(text);
  for (const podctl::ForgeKind kind :
       {podctl::ForgeKind::kGitHub, podctl::ForgeKind::kGitea, podctl::ForgeKind::kGitLab}) {
    podctl::fuzz::TryForge(kind, answers);
  }
  return 0;
}
