// What the real gcloud sends, command by command (requests.json, recorded from gcloud 528), beside
// what podctl sends for the same end: method, path, query and body are the same but for differences
// that are listed, each with its reason, in tests/golden/gcloud/differences.txt.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/gcp/service_identity.h"
#include "providers/gcp/tpu_provider.h"
#include "providers/slices.h"
#include "tests/gcloud/counterparts.h"
#include "tests/gcloud/wire_cloud.h"
#include "tests/plans/harness.h"
#include "tests/providers/gcp/fake_gcloud.h"
#include "tests/support/folders.h"
#include "tests/support/golden.h"

namespace podctl::testing {
namespace {

using Request = WireCloud::Request;

struct Recorded {
  Request request;
  bool whole_node = false;  // the body also held the rest of the node, as it was read
};

// ".../operations/operation-7" -> ".../operations/OPERATION".
// Ids of requests, which are made up as well, are no news either.
void MakeNameless(Request* request) {
  constexpr std::string_view kOperations = "/operations/";
  const auto at = request->path.find(kOperations);
  if (at != std::string::npos) {
    request->path = request->path.substr(0, at + kOperations.size()) + "OPERATION";
  }
  for (auto& [key, value] : request->query) {
    if (key == "requestId") value = "UUID";
  }
}

std::vector<Recorded> ReadRecorded(const Value& command) {
  std::vector<Recorded> recorded;
  for (const Value& item : command["requests"].AsList()) {
    Recorded each;
    each.request.method = item["method"].AsString();
    each.request.path = item["path"].AsString();
    for (std::string_view rest = item["query"].AsString(); !rest.empty();) {
      const std::string_view one = rest.substr(0, rest.find('&'));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      const auto equals = one.find('=');
      each.request.query.emplace_back(one.substr(0, equals), one.substr(equals + 1));
    }
    each.request.body = item["body"];
    each.whole_node = item["and_the_rest_of_the_node"].AsBool();
    recorded.push_back(std::move(each));
  }
  return recorded;
}

void Flatten(const std::string& path, const Value& value, std::map<std::string, std::string>* out) {
  if (value.is_map() && !value.AsMap().empty()) {
    for (const auto& [key, member] : value.AsMap()) {
      Flatten(path.empty() ? key : path + "." + key, member, out);
    }
  } else if (value.is_list() && !value.AsList().empty()) {
    for (std::size_t i = 0; i < value.AsList().size(); ++i) {
      Flatten(fmt::format("{}[{}]", path, i), value.AsList()[i], out);
    }
  } else {
    (*out)[path] = ToJson(value);
  }
}

// "lacks x: 1", "has y: 2", "x: 1 instead of 2", each after `what`.
void CompareMembers(const std::string& what, const std::map<std::string, std::string>& theirs,
                    const std::map<std::string, std::string>& ours,
                    std::vector<std::string>* differences) {
  for (const auto& [key, value] : theirs) {
    const auto found = ours.find(key);
    if (found == ours.end()) {
      differences->push_back(fmt::format("{} lacks {}: {}", what, key, value));
    } else if (found->second != value) {
      differences->push_back(
          fmt::format("{} {}: {} instead of {}", what, key, found->second, value));
    }
  }
  for (const auto& [key, value] : ours) {
    if (!theirs.contains(key)) {
      differences->push_back(fmt::format("{} has {}: {}", what, key, value));
    }
  }
}

std::vector<std::string> Compare(const Recorded& theirs, const Request& ours) {
  std::vector<std::string> differences;
  std::map<std::string, std::string> their_query;
  std::map<std::string, std::string> our_query;
  for (const auto& [key, value] : theirs.request.query) their_query[key] = value;
  for (const auto& [key, value] : ours.query) our_query[key] = value;
  CompareMembers("query", their_query, our_query, &differences);
  if (theirs.request.body.is_null() != ours.body.is_null()) {
    differences.push_back(ours.body.is_null() ? "there is no body" : "there is a body");
    return differences;
  }
  std::map<std::string, std::string> their_body;
  std::map<std::string, std::string> our_body;
  Flatten("", theirs.request.body, &their_body);
  Flatten("", ours.body, &our_body);
  their_body.erase("");  // an empty message
  our_body.erase("");
  CompareMembers("body", their_body, our_body, &differences);
  if (theirs.whole_node) differences.emplace_back("body lacks the rest of the node");
  return differences;
}

// podctl before a cloud that remembers what it was asked.
class Bench {
 public:
  Bench() {
    harness_.provider_door = &whole_;
    harness_.options.parallelism = 0;
  }

  std::vector<Request> Requests(const Counterpart& counterpart) {
    if (!counterpart.before.empty()) Apply(counterpart.before);
    wire_.Forget();
    const NodeName name{"demo-project", "europe-west4-a", counterpart.after};
    switch (counterpart.act) {
      case Act::kApply:
        Apply(counterpart.after);
        break;
      case Act::kGet:
        static_cast<void>(provider_.GetNode(name, {}));
        break;
      case Act::kDelete:
        static_cast<void>(provider_.DeleteNode(name, "", {}));
        break;
      case Act::kListNodes:
        EXPECT_TRUE(provider_.ListNodes(name.project, name.zone, {}).has_value());
        break;
      case Act::kGuestAttributes:
        EXPECT_TRUE(provider_.GetGuestAttributes(name, "hostkeys/", {}).has_value());
        break;
      case Act::kTypes:
        EXPECT_TRUE(provider_.ListAcceleratorTypes(name.project, name.zone, {}).has_value());
        break;
      case Act::kVersions:
        EXPECT_TRUE(provider_.ListRuntimeVersions(name.project, name.zone, {}).has_value());
        break;
      case Act::kServiceIdentity:
        EXPECT_TRUE(gcp::GenerateServiceIdentity(rest_, name.project, name.zone, {}).has_value());
        break;
      case Act::kNone:
        break;
    }
    return wire_.Requests();
  }

 private:
  void Apply(const std::string& pods) {
    harness_.SpecText("project: demo-project\nzone: europe-west4-a\npods:\n" + pods);
    const ExecuteResult result = harness_.Apply();
    for (const auto& failure : result.failures) ADD_FAILURE() << failure.error.message;
    EXPECT_TRUE(result.ok());
  }

  WireCloud wire_;
  FixedEnvironment environment_{{{"NO_GCE_CHECK", "true"}}};
  RealFileSystem files_;
  FakeGcloud gcloud_;
  FakeClock clock_;
  FakeRandom random_;
  gcp::Credentials credentials_{{environment_, files_, gcloud_, wire_, clock_, random_}};
  gcp::RestClient rest_{gcp::Endpoint{"http://127.0.0.1:8470/"}, wire_, credentials_, clock_,
                        random_};
  gcp::TpuProvider provider_{gcp::Endpoint{"http://127.0.0.1:8470/"}, wire_, credentials_, clock_,
                             random_};
  SlicedProvider whole_{provider_};
  Harness harness_;
};

// What is listed of one command.
class Comparison {
 public:
  std::string Lines(const Value& command, const Counterpart& counterpart) {
    text_ = fmt::format("{}: {}\n", counterpart.name, command["command"].AsString());
    if (counterpart.act == Act::kNone) {
      return text_ + fmt::format("  nothing alike: {}\n\n", counterpart.how);
    }
    text_ += fmt::format("  podctl: {}\n", counterpart.how);
    std::vector<Request> ours = Bench().Requests(counterpart);
    for (Request& request : ours) MakeNameless(&request);
    for (const Recorded& theirs : ReadRecorded(command)) {
      const auto same = std::find_if(ours.begin(), ours.end(), [&](const Request& request) {
        return request.method == theirs.request.method && request.path == theirs.request.path;
      });
      const std::string shown = theirs.request.method + " " + theirs.request.path;
      if (same == ours.end()) {
        text_ += "  " + shown + "\n";
        Difference("is not sent", shown);
        continue;
      }
      const auto differences = Compare(theirs, *same);
      text_ += fmt::format("  {}: {}\n", shown, differences.empty() ? "the same" : "the same, but");
      for (const std::string& difference : differences) Difference(difference, shown);
      ours.erase(same);
    }
    std::set<std::string> more;
    for (const Request& request : ours) more.insert(request.method + " " + request.path);
    for (const std::string& shown : more) {
      text_ += "  " + shown + "\n";
      Difference("is sent as well", shown);
    }
    return text_ + "\n";
  }

 private:
  void Difference(const std::string& difference, const std::string& request) {
    const std::string reason = ReasonOf(difference, request);
    EXPECT_NE(reason, "") << "no reason for: " << request << " " << difference << "\nafter\n"
                          << text_;
    text_ += fmt::format("    {}\n      {}\n", difference, reason);
  }

  std::string text_;
};

TEST(GcloudRequestsTest, PodctlSendsTheSameButForWhatIsListed) {
  std::ifstream file(podctl::testing::SourceFolder() + "/tests/gcloud/requests.json");
  std::stringstream text;
  text << file.rdbuf();
  const auto commands = ParseJson(text.str());
  ASSERT_TRUE(commands.has_value()) << commands.error().message;
  ASSERT_EQ(commands->AsList().size(), 90U);
  std::map<std::string, Counterpart> counterparts;
  for (const Counterpart& each : Counterparts()) counterparts[each.name] = each;
  std::string differences;
  for (const Value& command : commands->AsList()) {
    const std::string& name = command["name"].AsString();
    const auto found = counterparts.find(name);
    if (found == counterparts.end()) {
      ADD_FAILURE() << "nothing is said about " << name;
      continue;
    }
    differences += Comparison().Lines(command, found->second);
    counterparts.erase(found);
  }
  for (const auto& [name, counterpart] : counterparts) ADD_FAILURE() << name << " is not recorded";
  ExpectGolden("gcloud/differences.txt", differences);
}

// Pods of both versions may stand in one zone: one list shows them, and each is spoken of in its
// own.
TEST(GcloudRequestsTest, EachPodIsSpokenOfInItsVersion) {
  const std::string pods =
      "  new: {{apiVersion: v2alpha1, acceleratorType: v3-8, runtimeVersion: x, description: "
      "{0}}}\n"
      "  old: {{acceleratorType: v3-8, runtimeVersion: x, description: {0}}}\n";
  const Counterpart change{"both", "", Act::kApply, fmt::format(fmt::runtime(pods), "a"),
                           fmt::format(fmt::runtime(pods), "b")};
  int lists = 0;
  int patches = 0;
  for (const Request& request : Bench().Requests(change)) {
    const bool alpha = request.path.starts_with("/v2alpha1/");
    if (request.path.ends_with("/nodes")) {
      ++lists;
      EXPECT_TRUE(alpha) << request.path;
    } else if (request.path.find("/nodes/") != std::string::npos) {
      patches += request.method == "PATCH" ? 1 : 0;
      EXPECT_EQ(alpha, request.path.ends_with("/new")) << request.path;
    }
  }
  EXPECT_EQ(lists, 1);
  EXPECT_EQ(patches, 2);
}

}  // namespace
}  // namespace podctl::testing
