// One comment a project, one issue of drift, and what a pipeline finds there again.
#include "plans/ci/comment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plans/ci/mark.h"
#include "providers/base/text.h"
#include "providers/forges/rest_forge.h"
#include "tests/support/fake_clock.h"
#include "tests/support/forge_server.h"

namespace podctl {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using testing::ForgeServer;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = ForgeServer::Kind;
using State = CommentMark::State;

const std::string kDigest = "sha256:" + std::string(64, 'a');

TEST(Mark, IsReadBackWhateverAProjectIsCalled) {
  for (const std::string project : {".", "pods/a b", "a--b-->", "ä=%", "x y=z digest=1"}) {
    const CommentMark mark{project, State::kApplyFailed, kDigest, "0a1b"};
    const std::string line = MarkLine(mark);
    EXPECT_THAT(line, AllOf(Not(HasSubstr("\n")), EndsWith(" -->")));
    EXPECT_EQ(line.find("--", 4), line.size() - 3) << line;
    const auto found = FindMark("text\n" + line + "\n\n");
    ASSERT_TRUE(found) << line;
    EXPECT_EQ(found->project, project);
    EXPECT_EQ(found->state, State::kApplyFailed);
    EXPECT_EQ(found->digest, kDigest);
    EXPECT_EQ(found->commit, "0a1b");
  }
}

TEST(Mark, IsTheLastLineAlone) {
  const std::string line = MarkLine({"p", State::kPlanned, kDigest, ""});
  EXPECT_FALSE(FindMark("```\n" + line + "\n```\n"));
  EXPECT_FALSE(FindMark(line + " and more"));
  EXPECT_FALSE(FindMark("`" + line + "`"));
  EXPECT_FALSE(FindMark(""));
  EXPECT_FALSE(FindMark("<!-- podctl ci project=p state=unheard-of -->"));
  EXPECT_FALSE(FindMark("<!-- podctl ci project=p project=q state=planned -->"));
  EXPECT_FALSE(FindMark("<!-- podctl ci project=%4 state=planned -->"));
  EXPECT_EQ(WithoutMark("a\n" + line + "\n"), "a\n");
  EXPECT_EQ(WithoutMark("a\n"), "a\n");
}

TEST(Mark, IsThereHoweverLongTheTextIs) {
  const std::string line = MarkLine({"p", State::kPlanned, kDigest, ""});
  std::string text = "<details>\n\n````diff\n";
  for (int i = 0; i < 5000; ++i) text += "+ a line of what is planned\n```\n";
  const std::string marked = MarkedText(text, line, 10'000);
  EXPECT_LE(marked.size(), 10'000U);
  EXPECT_TRUE(FindMark(marked));
  EXPECT_THAT(marked, HasSubstr("\n````\n\n</details>\n\nThis is too long for a comment; "));
  EXPECT_EQ(MarkedText("short\n", line, 10'000), "short\n\n" + line + "\n");
  // What closes a fence is as long as what opened it.
  const std::string fence(6'000, '`');
  const std::string fenced = MarkedText("before\n" + fence + "\n" + text, line, 10'000);
  EXPECT_LE(fenced.size(), 10'000U);
  EXPECT_TRUE(FindMark(fenced));
  EXPECT_THAT(fenced, ::testing::StartsWith("before\n\nThis is too long for a comment; "));
}

class CommentTest : public ::testing::TestWithParam<Kind> {
 protected:
  CommentTest() {
    FixedEnvironment environment(server_.Variables("http://127.0.0.1:1"));
    auto place = FindForgePlace(environment, files_);
    EXPECT_TRUE(place.has_value()) << place.error().message;
    auto forge = MakeForge(*place, {server_, clock_, random_});
    EXPECT_TRUE(forge.has_value()) << forge.error().message;
    forge_ = *std::move(forge);
  }
  CommentRequest Request(const std::string& text, State state = State::kPlanned) const {
    CommentRequest request;
    request.pull = 3;
    request.text = text;
    request.mark = {"p", state, kDigest, ""};
    request.outdated = "old";
    return request;
  }
  void Put(const CommentRequest& request) {
    const auto put = PutComment(*forge_, request, {});
    EXPECT_TRUE(put.has_value()) << put.error().message;
  }
  Review Found(std::optional<std::int64_t> pull, const std::string& commit) {
    const auto review = FindReview(*forge_, pull, commit, "p", {});
    EXPECT_TRUE(review.has_value()) << review.error().message;
    return review && *review ? **review : Review{};
  }
  DriftEnd Keep(bool drifted, const std::string& text = "it differs\n") {
    const auto end = KeepDriftIssue(*forge_, {"p", drifted, "drift", text}, {});
    EXPECT_TRUE(end.has_value()) << end.error().message;
    return end ? *end : DriftEnd{};
  }

  ForgeServer server_{GetParam()};
  RealFileSystem files_;
  testing::FakeClock clock_;
  testing::FakeRandom random_;
  std::unique_ptr<Forge> forge_;
};

TEST_P(CommentTest, IsEditedInPlaceAmongMany) {
  for (int i = 0; i < 130; ++i) server_.AddComment(3, "people talk", "alice");
  Put(Request("one\n"));
  for (int i = 0; i < 130; ++i) server_.AddComment(3, "people talk", "alice");
  Put(Request("two\n"));
  const auto comments = server_.Comments(3);
  ASSERT_EQ(comments.size(), 261U);
  EXPECT_THAT(comments[130].text, ::testing::StartsWith("two\n"));
  const Review review = Found(3, "");
  ASSERT_TRUE(review.mark);
  EXPECT_EQ(ReviewedDigest(*review.mark), kDigest);
}

TEST_P(CommentTest, EachProjectHasItsOwn) {
  Put(Request("one\n"));
  CommentRequest other = Request("other\n");
  other.mark.project = "q";
  Put(other);
  EXPECT_EQ(server_.Comments(3).size(), 2U);
  EXPECT_THAT(server_.Comments(3)[0].text, ::testing::StartsWith("one\n"));
}

TEST_P(CommentTest, ANewOneHidesTheOlderOnesOnce) {
  Put(Request("one\n"));
  CommentRequest anew = Request("two\n", State::kRefused);
  anew.anew = true;
  Put(anew);
  const auto comments = server_.Comments(3);
  ASSERT_EQ(comments.size(), 2U);
  EXPECT_EQ(comments[0].hidden, GetParam() == Kind::kGitHub);
  EXPECT_THAT(comments[0].text, ::testing::StartsWith(GetParam() == Kind::kGitHub ? "one" : "old"));
  EXPECT_FALSE(FindMark(comments[0].text));
  const auto asked = server_.Asked().size();
  Put(Request("three\n"));
  EXPECT_LE(server_.Asked().size(), asked + 3) << "the old one is left alone";
  EXPECT_EQ(server_.Comments(3).size(), 2U);
}

TEST_P(CommentTest, NothingIsWrittenWhereOnlyAnEditIsWanted) {
  CommentRequest request = Request("one\n");
  request.only_edit = true;
  const auto put = PutComment(*forge_, request, {});
  ASSERT_TRUE(put.has_value());
  EXPECT_FALSE(*put);
  EXPECT_TRUE(server_.Comments(3).empty());
}

TEST_P(CommentTest, SomebodyElsesMarkIsNobodys) {
  const std::string copied = "copied\n" + MarkLine({"p", State::kPlanned, kDigest, ""});
  server_.AddComment(3, copied, "mallory");
  EXPECT_FALSE(Found(3, "").mark);
  Put(Request("one\n"));
  EXPECT_EQ(server_.Comments(3).size(), 2U);
  EXPECT_EQ(server_.Comments(3)[0].text, copied);
}

TEST_P(CommentTest, TheReviewIsThatOfThePullRequestByWhichACommitCame) {
  Put(Request("one\n"));
  server_.Merge(3, "abc");
  EXPECT_EQ(Found(std::nullopt, "abc").pull, 3);
  const auto none = FindReview(*forge_, std::nullopt, "other", "p", {});
  ASSERT_TRUE(none.has_value());
  EXPECT_FALSE(*none);
}

TEST_P(CommentTest, OnlyWhatCanBeAppliedIsAReview) {
  for (const State state : {State::kPlanned, State::kRefused, State::kApplyFailed}) {
    EXPECT_EQ(ReviewedDigest({"p", state, kDigest, ""}), kDigest);
  }
  for (const State state : {State::kPlanFailed, State::kApplied, State::kText}) {
    EXPECT_EQ(ReviewedDigest({"p", state, kDigest, ""}), "");
  }
}

TEST_P(CommentTest, WhatTheForgeSaysIsToldWithoutTheToken) {
  server_.FailNextWrite(
      422, std::string("{\"message\": \"no: ") + ForgeServer::kToken + " may\\u001b not\"}");
  const auto put = PutComment(*forge_, Request("one\n"), {});
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(put.error().message,
              AllOf(HasSubstr("422"), Not(HasSubstr(ForgeServer::kToken)), Not(HasSubstr("\x1b"))));
}

TEST_P(CommentTest, ACommentIsNotSentTwice) {
  server_.FailNextWrite(502, "");
  const auto put = PutComment(*forge_, Request("one\n"), {});
  EXPECT_FALSE(put.has_value());
  EXPECT_TRUE(server_.Comments(3).empty());
}

TEST_P(CommentTest, OneIssueTellsOfDriftAsLongAsThereIsSome) {
  server_.AddIssue("drift", "copied\n" + DriftMarkLine("p"), "mallory");
  server_.IgnoreWhose();
  EXPECT_EQ(Keep(false).did, DriftEnd::Did::kNothing);
  const DriftEnd opened = Keep(true);
  EXPECT_EQ(opened.did, DriftEnd::Did::kOpened);
  EXPECT_EQ(Keep(true, "more\n").did, DriftEnd::Did::kRefreshed);
  ASSERT_EQ(server_.Issues().size(), 2U);
  EXPECT_THAT(server_.Issues()[1].text, ::testing::StartsWith("more\n"));
  const DriftEnd closed = Keep(false);
  EXPECT_EQ(closed.did, DriftEnd::Did::kClosed);
  EXPECT_EQ(closed.issue, opened.issue);
  EXPECT_TRUE(server_.Issues()[0].open) << "somebody else's";
  EXPECT_FALSE(server_.Issues()[1].open);
  EXPECT_EQ(Keep(true).did, DriftEnd::Did::kOpened) << "a closed one stays closed";
}

TEST_P(CommentTest, AJobsOwnTokenKeepsTheIssueToo) {
  server_.UseJobToken();
  server_.AddIssue("drift", "copied\n" + DriftMarkLine("p"), "mallory");
  EXPECT_EQ(Keep(true).did, DriftEnd::Did::kOpened);
  EXPECT_EQ(Keep(true, "more\n").did, DriftEnd::Did::kRefreshed);
  EXPECT_EQ(Keep(false).did, DriftEnd::Did::kClosed);
  EXPECT_TRUE(server_.Issues()[0].open) << "somebody else's";
}

TEST_P(CommentTest, OfTwoIssuesTheOlderStays) {
  for (int i = 0; i < 2; ++i) {
    server_.AddIssue("drift", "x\n" + DriftMarkLine("p"), ForgeServer::kMe);
  }
  Keep(true);
  EXPECT_TRUE(server_.Issues()[0].open);
  EXPECT_FALSE(server_.Issues()[1].open);
}

INSTANTIATE_TEST_SUITE_P(Forges, CommentTest,
                         ::testing::Values(Kind::kGitHub, Kind::kGitea, Kind::kGitLab),
                         [](const auto& each) {
                           return each.param == Kind::kGitHub  ? "GitHub"
                                  : each.param == Kind::kGitea ? "Gitea"
                                                               : "GitLab";
                         });

}  // namespace
}  // namespace podctl
