// The manual for man(1): what is escaped, that no command and no key is left out, and what mandoc
// says of each page.
#include "cmd/views/manual.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/command.h"
#include "cmd/command_table.h"
#include "cmd/views/roff.h"
#include "plans/spec/schema.h"
#include "providers/gcp/tpu_schema.h"
#include "providers/os/process.h"
#include "tests/support/folders.h"
#include "tests/support/golden.h"
#include "tests/support/kinds.h"

namespace podctl {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kDate = "2026-01-31";

std::map<std::string, std::string> PagesByFile() {
  std::map<std::string, std::string> pages;
  for (const ManualPage& page : ManualPages(kDate, SpecShape(testing::AllKinds().all))) {
    EXPECT_TRUE(pages.emplace(page.FileName(), page.text).second) << page.FileName() << " twice";
  }
  return pages;
}

// As a reader has to copy it, without the typesetter's marks.
std::string Plain(std::string roff) {
  for (const auto& [mark, text] : {std::pair{"\\fB", ""},
                                   {"\\fI", ""},
                                   {"\\fR", ""},
                                   {"\\&", ""},
                                   {"\\-", "-"},
                                   {"\\(aq", "'"},
                                   {"\\(ti", "~"},
                                   {"\\(dq", "\""},
                                   {"\\e", "\\"}}) {
    const std::string_view what = mark;
    for (std::size_t at = 0; (at = roff.find(what, at)) != std::string::npos;) {
      roff.replace(at, what.size(), text);
    }
  }
  return roff;
}

TEST(Roff, NothingThatStandsInATextIsARequestOrAnEscape) {
  RoffPage page("x", 1, kDate, "podctl 1");
  page.Paragraph(".so /etc/passwd is no \\request, 'nor this; `--flag` and a well-known ~ ^");
  page.Item(RoffBold("--a\\b"), "\u2026 and \u2192");
  page.Verbatim(".TH x\n\n'quoted' \"twice\" `so`");
  EXPECT_EQ(page.text(),
            ".TH X 1 2026-01-31 \"podctl 1\" \"podctl manual\"\n"
            "\\&.so /etc/passwd is no \\erequest, \\(aqnor this; \\fB\\-\\-flag\\fR and a "
            "well-known\n\\(ti \\(ha\n"
            ".TP\n\\fB\\-\\-a\\eb\\fR\n\\&... and \\[u2192]\n"
            ".RS 4\n.nf\n\\&.TH x\n\n\\(aqquoted\\(aq \\(dqtwice\\(dq \\(gaso\\(ga\n.fi\n.RE\n");
}

TEST(Roff, AParagraphBehindATitleNeedsNoMacro) {
  RoffPage page("x", 1, kDate, "podctl 1");
  page.Section("A");
  page.Paragraph("one");
  page.Paragraph("two");
  EXPECT_THAT(page.text(), HasSubstr(".SH A\none\n.PP\ntwo\n"));
}

TEST(Manual, APageForEachCommandWithAllItsFlags) {
  const auto pages = PagesByFile();
  std::size_t commands = 0;
  for (const Command* command : Commands()) {
    if (command->IsHidden()) continue;
    ++commands;
    std::string file = fmt::format("podctl-{}.1", command->name());
    std::replace(file.begin(), file.end(), ' ', '-');
    ASSERT_TRUE(pages.contains(file)) << file;
    const std::string text = Plain(pages.at(file));
    for (const Flag& flag : command->flags()) {
      EXPECT_THAT(text, HasSubstr(fmt::format("\n.TP\n{}{}", flag.letter == '\0' ? "" : "-",
                                              flag.letter == '\0' ? std::string(flag.name)
                                                                  : std::string(1, flag.letter))))
          << file;
      EXPECT_THAT(text, HasSubstr(flag.name)) << file;
    }
  }
  EXPECT_EQ(pages.size(), commands + 2) << "and podctl.1 and podctl.yaml.5";
  EXPECT_THAT(pages.at("podctl.1"), Not(HasSubstr("__complete")));
}

TEST(Manual, Texts) {
  const auto pages = PagesByFile();
  for (const char* file :
       {"podctl.1", "podctl-plan.1", "podctl-state.1", "podctl-exec.1", "podctl.yaml.5"}) {
    // Which version it is of changes with each release.
    std::string text = pages.at(file);
    const std::string version(kVersion);
    text.replace(text.find(version), version.size(), "VERSION");
    testing::ExpectGolden(fmt::format("cmd/manual/{}", file), text);
  }
}

// ---- podctl.yaml(5), which is made of the tables of a spec's keys.

TEST(Manual, SaysOfAKeyWhatItsTableSays) {
  const Pattern name{"[a-z]", "letters"};
  const Shape tank =
      shape::Map({shape::Required("litres", "What it holds.", shape::Number(1, 9)),
                  {"sort", "Of what.", shape::Word({"wet", "dry"})},
                  {"since", "When.", shape::Duration()},
                  {"pipes", "Out of it.", shape::ListOf(shape::Text()).Within(1, 4)}})
          .NotBoth("sort", "since")
          .NeedsOneOf({"sort", "since"});
  const Shape spec =
      shape::Map({{"tanks", "By name.",
                   shape::MapOf(name, shape::Map({{"of", "Both.", shape::ListOf(tank)}}))},
                  {"dry", "Or wet.", shape::Either({shape::Bool(), shape::Null()})},
                  // Of which the keys are told with what it is for, as those of `defaults`.
                  {"all", "Of each.", shape::Map({{"a", "A.", shape::Text()}}).Within(0, 1)}});
  const std::string page = Plain(SpecPage(kDate, "podctl 1", spec).text);
  EXPECT_THAT(page,
              HasSubstr("\n.SH \"KEYS OF A FILE\"\n"
                        ".TP\ntanks\nBy name. Value: map of maps (names: letters).\n"
                        ".TP\ndry\nOr wet. Value: true or false or nothing.\n"
                        ".TP\nall\nOf each. Value: map, at most 1 of its keys.\n"
                        ".SH \"KEYS OF tanks.NAME\"\n"
                        ".TP\nof\nBoth. Value: list of maps. A map needs one of sort, since.\n"
                        ".TP\nof[].litres (required)\nWhat it holds. Value: number from 1 to 9.\n"
                        ".TP\nof[].sort\nOf what. Value: wet, dry. Not together with since.\n"
                        ".TP\nof[].since\nWhen. Value: duration. Not together with sort.\n"
                        ".TP\nof[].pipes\nOut of it. Value: list of texts, not empty, at most "
                        "4.\n"
                        ".SH EXPRESSIONS\n"));
}

std::string PageOfDocs(const std::string& name) {
  std::ifstream file(fs::path(testing::SourceFolder()) / "docs" / name);
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The words of code in the first column of the first table below `title`.
std::set<std::string> KeysOfTable(const std::string& page, const std::string& title) {
  const std::string text = PageOfDocs(page);
  const std::size_t begin = text.find("\n" + title + "\n");
  EXPECT_NE(begin, std::string::npos) << page << " has no " << title;
  std::istringstream lines(text.substr(begin + title.size() + 2));
  const std::regex code("`([A-Za-z]+)");
  std::set<std::string> keys;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) {
      if (!keys.empty()) break;
      continue;
    }
    const std::string cell = line.substr(1, line.find(" | ", 1));
    for (std::sregex_iterator it(cell.begin(), cell.end(), code), end; it != end; ++it) {
      keys.insert((*it)[1].str());
    }
  }
  return keys;
}

// What podctl.yaml(5) has in a section right below `prefix`.
std::set<std::string> KeysOfSection(const std::string& title, const std::string& prefix = "") {
  const std::string text = Plain(PagesByFile().at("podctl.yaml.5"));
  const std::size_t begin = text.find(".SH \"" + title + "\"\n");
  EXPECT_NE(begin, std::string::npos) << title;
  const std::string section = text.substr(begin, text.find("\n.SH ", begin) - begin);
  const std::regex head("\n\\.TP\n([^ \n]+)");
  std::set<std::string> keys;
  for (std::sregex_iterator it(section.begin(), section.end(), head), none; it != none; ++it) {
    const std::string path = (*it)[1].str();
    if (!path.starts_with(prefix)) continue;
    const std::string name = path.substr(prefix.size());
    if (name.find_first_of(".[") == std::string::npos) keys.insert(name);
  }
  return keys;
}

TEST(Manual, TheDocsHaveEachKeyOfASpecToo) {
  const std::string of_a_pod = "KEYS OF pods.NAME";
  // Those of a Node have a page of their own; podctl has more to say of one.
  std::set<std::string> pod = KeysOfSection(of_a_pod);
  std::erase_if(pod, [](const std::string& name) {
    const gcp::Field* field = gcp::FindNodeField(name);
    return name != "metadata" && field != nullptr &&
           field->field_class != gcp::FieldClass::kOutputOnly;
  });
  EXPECT_EQ(pod, KeysOfTable("spec.md", "## The keys of a pod"));
  EXPECT_EQ(KeysOfSection(of_a_pod, "bootstrap[]."), KeysOfTable("spec.md", "## Bootstrap steps"));
  EXPECT_EQ(KeysOfSection(of_a_pod, "ssh."), KeysOfTable("reaching.md", "## The keys of `ssh`"));
  EXPECT_EQ(KeysOfSection("KEYS OF A FILE"), KeysOfTable("spec.md", "## The keys of a file"));
  EXPECT_EQ(KeysOfSection("KEYS OF jobs.NAME"), KeysOfTable("jobs.md", "## The keys"));
}

// ---- What those think of the pages who read many.

class MandocTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::temp_directory_path() / "podctl-manual-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(MandocTest, FindsNothingToComplainOf) {
  RealProcessRunner runner;
  std::vector<std::string> line = {"mandoc", "-T", "lint", "-W", "all"};
  for (const auto& [file, text] : PagesByFile()) {
    line.push_back((folder_ / file).string());
    std::ofstream(line.back()) << text;
  }
  const auto result = runner.Run(line, std::chrono::seconds(60));
  if (!result && result.error().code == ErrorCode::kNotFound) {
    GTEST_SKIP() << "mandoc is not installed (apt-get install mandoc)";
  }
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->out + result->err, "");
  EXPECT_EQ(result->exit_code, 0);
}

}  // namespace
}  // namespace podctl
