// The pages that people read: every link leads somewhere, every page can be found, and the README's
// tour of the house names the rooms that there are. Reads the tree as text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/folders.h"

namespace podctl {
namespace {

namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The lines outside of blocks of code, in which nothing is a link or a heading.
std::vector<std::string> Prose(std::string_view text) {
  std::vector<std::string> lines;
  bool in_code = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool fence = line.starts_with("```");
    if (fence) in_code = !in_code;
    lines.push_back(fence || in_code || line.starts_with("    ") ? "" : std::move(line));
  }
  return lines;
}

// Without `code`, in which brackets are no link.
std::string WithoutCode(const std::string& line) {
  return std::regex_replace(line, std::regex("`[^`]*`"), "");
}

// The anchor that GitHub gives a heading: lower case, blanks as dashes, no other punctuation.
std::string AnchorOf(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (c == ' ') {
      anchor += '-';
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      anchor += c;  // a part of a letter that is no ASCII
    }
  }
  return anchor;
}

std::set<std::string> AnchorsOf(std::string_view text) {
  std::set<std::string> anchors;
  for (const std::string& line : Prose(text)) {
    const std::size_t marks = line.find_first_not_of('#');
    if (marks == 0 || marks == std::string::npos || line[marks] != ' ') continue;
    const std::string anchor = AnchorOf(std::string_view(line).substr(marks + 1));
    std::string unique = anchor;
    for (int again = 1; !anchors.insert(unique).second; ++again) {
      unique = fmt::format("{}-{}", anchor, again);
    }
  }
  return anchors;
}

// Path from the top folder -> text, of every page.
std::map<std::string, std::string> Pages() {
  const fs::path top = podctl::testing::SourceFolder();
  std::map<std::string, std::string> pages;
  for (const char* name : {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}) {
    pages[name] = ReadText(top / name);
  }
  for (const auto& entry : fs::recursive_directory_iterator(top / "docs")) {
    if (entry.path().extension() != ".md") continue;
    pages[entry.path().lexically_relative(top).generic_string()] = ReadText(entry.path());
  }
  return pages;
}

struct Link {
  std::string target;  // path from the top folder: "docs/spec.md"
  std::string anchor;  // may be empty
  int line = 0;
};

// Those that lead to this tree.
std::vector<Link> LinksOf(const std::string& page, std::string_view text) {
  static const std::regex kLink(R"(\]\(([^)\s]+)\))");
  std::vector<Link> links;
  int number = 0;
  for (const std::string& line : Prose(text)) {
    ++number;
    const std::string bare = WithoutCode(line);
    for (std::sregex_iterator it(bare.begin(), bare.end(), kLink), end; it != end; ++it) {
      const std::string whole = (*it)[1].str();
      if (whole.find("://") != std::string::npos) continue;
      const std::size_t hash = std::min(whole.find('#'), whole.size());
      const std::string path = whole.substr(0, hash);
      Link link;
      link.target = path.empty()
                        ? page
                        : (fs::path(page).parent_path() / path).lexically_normal().generic_string();
      if (hash < whole.size()) link.anchor = whole.substr(hash + 1);
      link.line = number;
      links.push_back(std::move(link));
    }
  }
  return links;
}

// What is wrong with the links of `pages`; `exists` is asked of what is no page.
template <typename Exists>
std::vector<std::string> BrokenLinks(const std::map<std::string, std::string>& pages,
                                     const Exists& exists) {
  std::vector<std::string> broken;
  for (const auto& [page, text] : pages) {
    for (const Link& link : LinksOf(page, text)) {
      const auto target = pages.find(link.target);
      if (target == pages.end() && !exists(link.target)) {
        broken.push_back(fmt::format("{}:{}: there is no {}", page, link.line, link.target));
      } else if (!link.anchor.empty() &&
                 (target == pages.end() || !AnchorsOf(target->second).contains(link.anchor))) {
        broken.push_back(
            fmt::format("{}:{}: {} has no #{}", page, link.line, link.target, link.anchor));
      }
    }
  }
  return broken;
}

TEST(Docs, EveryLinkLeadsSomewhere) {
  const fs::path top = podctl::testing::SourceFolder();
  const auto pages = Pages();
  ASSERT_GT(pages.size(), 20U) << "looked in the wrong folder: " << top;
  for (const std::string& link :
       BrokenLinks(pages, [&](const std::string& path) { return fs::exists(top / path); })) {
    ADD_FAILURE() << link;
  }
}

TEST(Docs, EveryPageIsInItsIndex) {
  const auto pages = Pages();
  std::set<std::string> named;
  for (const char* index : {"docs/README.md", "docs/decisions/README.md"}) {
    for (const Link& link : LinksOf(index, pages.at(index))) named.insert(link.target);
  }
  for (const auto& [page, text] : pages) {
    if (!page.starts_with("docs/") || page == "docs/README.md") continue;
    EXPECT_TRUE(named.contains(page)) << page << " is named by no index";
  }
}

TEST(Docs, TheReadmeIsShort) {
  const std::string text = Pages().at("README.md");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 200);
}

// The folders in the first column of the README's table, and those of the house, two levels deep.
TEST(Docs, TheTourOfTheHouseNamesEachRoom) {
  const fs::path top = podctl::testing::SourceFolder();
  const std::string readme = ReadText(top / "README.md");
  const std::regex folder(R"(`((cmd|plans|state|providers|templates)/(\w+/)*)`)");
  std::set<std::string> named;
  for (const std::string& line : Prose(readme)) {
    const std::size_t end = line.starts_with("| ") ? line.find(" | ") : 0;
    const std::string cell = end == std::string::npos ? "" : line.substr(0, end);
    for (std::sregex_iterator it(cell.begin(), cell.end(), folder), none; it != none; ++it) {
      named.insert((*it)[1].str());
      EXPECT_TRUE(fs::is_directory(top / (*it)[1].str())) << (*it)[1].str() << " is no folder";
    }
  }
  for (const char* floor : {"cmd", "plans", "state", "providers"}) {
    for (const auto& entry : fs::directory_iterator(top / floor)) {
      if (!entry.is_directory()) continue;
      const std::string path = entry.path().lexically_relative(top).generic_string() + "/";
      EXPECT_TRUE(named.contains(path)) << path << " is not in the README's table";
    }
  }
}

// `plans/engine/planner` may be a header or a source. Words in capitals stand for something.
TEST(Docs, PathsOfTheHouseExist) {
  const fs::path top = podctl::testing::SourceFolder();
  const std::regex path("`((cmd|plans|state|providers|templates|tests)/[A-Za-z0-9_/.]+)`");
  const std::regex placeholder("/[A-Z]+/");
  for (const auto& [page, text] : Pages()) {
    for (const std::string& line : Prose(text)) {
      for (std::sregex_iterator it(line.begin(), line.end(), path), none; it != none; ++it) {
        const std::string name = (*it)[1].str();
        const bool exists = fs::exists(top / name) || fs::exists(top / (name + ".h")) ||
                            fs::exists(top / (name + ".cpp"));
        EXPECT_TRUE(exists || std::regex_search(name, placeholder))
            << page << ": there is no " << name;
      }
    }
  }
}

// ---- The checker itself: what it must see and what it must let pass.

TEST(DocsChecker, SeesWhatLeadsNowhere) {
  const std::map<std::string, std::string> pages = {
      {"README.md",
       "# Top\n[a](docs/a.md) [b](docs/b.md)\n[c](docs/a.md#two-words)\n"
       "[d](docs/a.md#three) [e](LICENSE) [f](LICENSE#x)\n"},
      {"docs/a.md", "# A\n\n## Two words\n[top](../README.md#top) [here](#a) [no](README.md)\n"},
  };
  const auto exists = [](const std::string& path) { return path == "LICENSE"; };
  EXPECT_EQ(BrokenLinks(pages, exists),
            (std::vector<std::string>{
                "README.md:2: there is no docs/b.md", "README.md:4: docs/a.md has no #three",
                "README.md:4: LICENSE has no #x", "docs/a.md:4: there is no docs/README.md"}));
}

TEST(DocsChecker, TakesNoCodeForALink) {
  const std::string text =
      "`[x](nowhere.md)` [y](https://example.com/z.md)\n```\n[x](nowhere.md)\n# Heading\n```\n"
      "    [x](nowhere.md)\n";
  EXPECT_TRUE(LinksOf("README.md", text).empty());
  EXPECT_TRUE(AnchorsOf(text).empty());
}

TEST(DocsChecker, NamesHeadingsAsGitHubDoes) {
  EXPECT_EQ(AnchorsOf("# `podctl show --json FILE`\n## mv, rm\n## A\n## A\n"),
            (std::set<std::string>{"podctl-show---json-file", "mv-rm", "a", "a-1"}));
}

}  // namespace
}  // namespace podctl
