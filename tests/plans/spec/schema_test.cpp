// The tables of a spec's keys: that each says what it is for, and that what they say of a text is
// what readers decide. That the schema made of them agrees with the readers: tests/schema/agree.py.
#include "plans/spec/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "plans/kinds/kinds.h"
#include "plans/kinds/pod/reader/metadata_reader.h"
#include "plans/kinds/pod/reader/pod_reader.h"
#include "plans/kinds/pod/reader/pod_shape.h"
#include "plans/kinds/step/reader.h"
#include "plans/kinds/step/record.h"
#include "plans/spec/job_reader.h"
#include "plans/spec/names.h"
#include "plans/spec/runtime_flags.h"
#include "providers/base/json.h"
#include "providers/base/text.h"
#include "providers/base/worker_selection.h"
#include "providers/gcp/available_types.h"
#include "providers/gcp/secret_name.h"
#include "providers/gcp/tpu_schema.h"
#include "state/jump_host.h"
#include "state/thing_name.h"
#include "tests/support/fake_file_system.h"
#include "tests/support/golden.h"

namespace podctl {
namespace {

class SchemaTest : public ::testing::Test {
 protected:
  testing::FakeFileSystem files_;
  const BuiltInKinds kinds_{KindDoors{files_}};
};

TEST_F(SchemaTest, IsWhatIsCommitted) {
  testing::ExpectGolden("spec/podctl.schema.json", SpecSchemaText(kinds_.known().all));
}

void ExpectDocs(const Shape& shape, const std::string& path) {
  for (const Key& key : shape.keys) {
    const std::string here = path + "." + key.name;
    EXPECT_TRUE(key.doc.ends_with('.')) << here << ": " << key.doc;
    ExpectDocs(key.shape, here);
  }
  for (const Shape& each : shape.of) ExpectDocs(each, path);
}

TEST_F(SchemaTest, EachKeySaysInASentenceWhatItIsFor) {
  const Shape spec = SpecShape(kinds_.known().all);
  EXPECT_GE(spec.keys.size(), 10u);
  ExpectDocs(spec, "");
}

// A definition is written once: two shapes of one name would be one.
void CollectNames(const Shape& shape, std::map<std::string, std::vector<std::string>>* names,
                  std::vector<std::string>* twice) {
  if (!shape.name.empty()) {
    const auto [it, is_new] = names->emplace(shape.name, shape.Names());
    if (!is_new && it->second != shape.Names()) twice->push_back(shape.name);
  }
  for (const Key& key : shape.keys) CollectNames(key.shape, names, twice);
  for (const Shape& each : shape.of) CollectNames(each, names, twice);
}

TEST_F(SchemaTest, NoTwoTablesHaveOneName) {
  std::map<std::string, std::vector<std::string>> names;
  std::vector<std::string> twice;
  CollectNames(SpecShape(kinds_.known().all), &names, &twice);
  EXPECT_THAT(twice, ::testing::IsEmpty());
  EXPECT_GE(names.size(), 10u);
}

// ---- Patterns, and the functions that readers decide by.

struct Decided {
  std::string what;
  std::string regex;
  std::function<bool(const std::string& text)> is_one;
  std::vector<std::string> samples;  // random changes of them are tried
};

bool IsZone(const std::string& text) {
  const auto problem = JudgeZone(text);
  return !problem || !problem->is_error;
}

std::vector<Decided> AllDecided() {
  const auto regex = [](const Pattern& pattern) { return std::string(pattern.regex); };
  const auto names = [](const Shape& map) { return map.regex; };
  return {
      {"thing", regex(kThingNamePattern), IsThingName, {"research", "_a-1", "-a"}},
      {"variable", regex(kEnvironmentNamePattern), IsEnvironmentName, {"A_1", "1A"}},
      {"duration",
       regex(kDurationPattern),
       [](const std::string& text) { return ParseDuration(text).has_value(); },
       {"90s", "0.5s", "1h30m", "10ms", "2d", "5", ".5m", "1.h", "1..s"}},
      {"project", regex(kProjectPattern), gcp::IsProjectId, {"my-project", "example.com:lab"}},
      {"node id", regex(kNodeIdPattern), gcp::IsNodeId, {"research-2", "..", ".", "a%b+c"}},
      {"user", regex(kUserNamePattern), IsUserName, {"alice", "a.b-c", "-x"}},
      {"flag",
       regex(kFlagNamePattern),
       [](const std::string& text) {
         return IsFlagName(text.starts_with("--") ? text.substr(2) : text);
       },
       {"xla_jf", "--xla_jf", "---a", "-a"}},
      {"secret",
       MetadataSourceShape().At("secret").regex,
       [](const std::string& text) { return gcp::ParseSecretName(text).has_value(); },
       {"projects/p/secrets/s", "projects/p/locations/us-east1/secrets/s/versions/3",
        "projects/../secrets/s/versions/0", "projects/p/secrets/s/versions/latest"}},
      {"jump host",
       SshShape().At("proxyJump").regex,
       [](const std::string& text) { return ParseJumpHost(text).has_value(); },
       {"alice@bastion:22", "bastion", "[::1]:22", "-a@b"}},
      {"pod",
       OwnKeys().At("dependsOn").of.front().regex,
       [](const std::string& text) { return ReadPodAddress(text).has_value(); },
       {"pod.a", "pod.a.b", "bootstrap.a.b"}},
      {"workers",
       regex(kWorkersPattern),
       [](const std::string& text) { return WorkerSelection::Parse(text).has_value(); },
       {"all", "0,2-3", "0-255/8,!16", "1/0", "[0-1]/3", "[1]", "!1/all"}},
      {"variable of the runtime", names(OwnKeys().At("runtimeEnv")), IsEnvironmentName, {"A"}},
      {"variable of a job", names(JobShape().At("env")), IsEnvironmentName, {"A"}},
  };
}

// Some of the rules are about numbers, which a pattern leaves to podctl.
bool PatternMayBeWider(const std::string& what) {
  return what == "workers" || what == "jump host" || what == "duration";
}

TEST_F(SchemaTest, PatternsSayWhatReadersDecide) {
  std::mt19937 random(18);  // NOLINT: the same texts every time
  const std::string letters = "aZ09_-.:/%+~ []!,@$sm\n";
  for (const Decided& decided : AllDecided()) {
    const std::regex regex(decided.regex);
    int matched = 0;
    for (const std::string& sample : decided.samples) {
      for (int round = 0; round < 400; ++round) {
        std::string text = sample;
        for (int change = round == 0 ? 0 : 1 + static_cast<int>(random() % 2); change > 0;
             --change) {
          const std::size_t at = random() % (text.size() + 1);
          const char letter = letters[random() % letters.size()];
          if (random() % 2 == 0 || at == text.size()) {
            text.insert(at, 1, letter);
          } else {
            text[at] = letter;
          }
        }
        const bool matches = std::regex_match(text, regex);
        matched += matches ? 1 : 0;
        if (decided.is_one(text)) {
          EXPECT_TRUE(matches) << decided.what << ": `" << text << "`";
        } else if (!PatternMayBeWider(decided.what)) {
          EXPECT_FALSE(matches) << decided.what << ": `" << text << "`";
        }
      }
    }
    EXPECT_GT(matched, 20) << decided.what;
  }
}

// A scalar without quotes may be a number or a truth value in YAML, and the same text for podctl.
void ExpectScalars(const Shape& shape, const std::string& path, int* seen) {
  if (shape.form == Shape::Form::kText && !shape.regex.empty()) {
    const std::regex regex(shape.regex);
    const auto any = [&](const std::vector<std::string>& texts) {
      return std::any_of(texts.begin(), texts.end(),
                         [&](const std::string& text) { return std::regex_match(text, regex); });
    };
    const bool real = any({"1.5"});
    std::string scalars = real ? "number" : any({"1", "644"}) ? "integer" : "";
    if (any({"true"})) scalars += scalars.empty() ? "boolean" : " boolean";
    EXPECT_EQ(shape.scalars, scalars) << path;
    ++*seen;
  }
  for (const Key& key : shape.keys) ExpectScalars(key.shape, path + "." + key.name, seen);
  for (const Shape& each : shape.of) ExpectScalars(each, path, seen);
}

TEST_F(SchemaTest, ATextMayBeWrittenAsWhatYamlTakesForANumber) {
  int seen = 0;
  ExpectScalars(SpecShape(kinds_.known().all), "", &seen);
  EXPECT_GT(seen, 20);
}

TEST_F(SchemaTest, ZonesAreOnesByThePatternToo) {
  const std::regex regex{std::string(kZonePattern.regex)};
  for (const std::string& zone : gcp::KnownZones()) EXPECT_TRUE(std::regex_match(zone, regex));
  for (const std::string zone :
       {"europe-west4-a", "europe-west4", "us-south1-ai1b", "mars-north1-a", "zone", "eu-west4-a",
        "europe-west4-", "europe--west4-a", "us-central1-ab", "us-central1-1", "uscentral1-a"}) {
    EXPECT_EQ(std::regex_match(zone, regex), IsZone(zone)) << zone;
  }
}

TEST_F(SchemaTest, NamesOfPodctlsOwnStepsAreNone) {
  const std::regex regex(BootstrapShape().of.front().At("name").regex);
  EXPECT_TRUE(std::regex_match("readiness-2", regex));
  for (const std::string_view name : {kRuntimeStepName, kReadinessStepName}) {
    EXPECT_FALSE(std::regex_match(std::string(name), regex)) << name;
  }
}

}  // namespace
}  // namespace podctl
