#include "cmd/views/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cmd/command.h"
#include "cmd/command_line.h"
#include "cmd/command_table.h"
#include "cmd/examples.h"
#include "cmd/views/roff.h"

namespace podctl {
namespace {

struct ManualEntry {
  std::string_view name;
  std::string_view means;
};

// What podctl itself asks of the environment; docs/ has the rest with the things it belongs to.
constexpr ManualEntry kVariables[] = {
    {"PODCTL_ENDPOINT",
     "the base URL of the Cloud TPU API where there is no `--endpoint`; else "
     "`CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU`"},
    {"PODCTL_PROJECT",
     "the project where neither the spec nor `--project` names one; else `GOOGLE_CLOUD_PROJECT`, "
     "`CLOUDSDK_CORE_PROJECT`, and what gcloud has been told"},
    {"PODCTL_ZONE",
     "likewise the zone; else `CLOUDSDK_COMPUTE_ZONE`, and what gcloud has been told"},
    {"PODCTL_VAR_NAME", "the value of the spec's variable NAME where there is no `--var`"},
    {"PODCTL_SSH_PORT", "the workers' SSH port where the spec names none (22)"},
    {"GOOGLE_APPLICATION_CREDENTIALS",
     "a file of credentials, as Google's own libraries read it; before it "
     "`CLOUDSDK_AUTH_ACCESS_TOKEN_FILE`, behind it `GOOGLE_OAUTH_ACCESS_TOKEN` and gcloud's; "
     "`podctl auth status` tells which are used"},
    {"TF_HTTP_USERNAME, TF_HTTP_PASSWORD",
     "with which podctl logs in where the state is on a server; so the others that Terraform's "
     "http backend reads"},
    {"NO_COLOR", "no colours"},
    {"CI", "nothing is drawn in place, also on a terminal"},
    {"HTTPS_PROXY, NO_PROXY, CURL_CA_BUNDLE", "as curl(1) reads them"},
};

constexpr ManualEntry kFiles[] = {
    {"podctl.yaml", "the spec, unless `-f` names another: podctl.yaml(5)"},
    {"podctl.state.json",
     "the state, beside the spec, unless the spec or `--state` says otherwise"},
    {"~/.local/state/podctl/",
     "what was run last and left running; below `XDG_STATE_HOME` where "
     "that is set"},
    {"~/.ssh/podctl_ed25519", "the key that podctl makes where its user has none"},
};

std::string SourceWords() {
  return fmt::format("podctl {}", kVersion);
}

// "podctl-state-list".
std::string PageName(std::string_view command) {
  std::string name = fmt::format("podctl-{}", command);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string PageReference(std::string_view name, int section) {
  return fmt::format("{}({})", RoffBold(name), section);
}

// Words in capitals are what the reader puts something else for.
std::string WithPlaceholders(std::string_view usage) {
  std::string roff;
  while (!usage.empty()) {
    const auto is_capital = [](unsigned char c) { return std::isupper(c) != 0 || c == '_'; };
    std::size_t size = 0;
    while (size < usage.size() && is_capital(static_cast<unsigned char>(usage[size]))) ++size;
    const bool placeholder = size > 0;
    while (!placeholder && size < usage.size() &&
           !is_capital(static_cast<unsigned char>(usage[size]))) {
      ++size;
    }
    const std::string_view part = usage.substr(0, size);
    roff += placeholder ? RoffItalic(part) : RoffLiteral(part);
    usage.remove_prefix(size);
  }
  return roff;
}

std::string FlagHead(const Flag& flag) {
  std::string head;
  if (flag.letter != '\0') head = RoffBold(fmt::format("-{}", flag.letter)) + ", ";
  head += flag.IsArgument() ? RoffItalic(flag.name) : RoffBold(flag.name);
  return flag.value.empty() ? head : head + " " + WithPlaceholders(flag.value);
}

void AppendFlags(std::span<const Flag> flags, bool arguments, RoffPage* page) {
  for (const Flag& flag : flags) {
    if (flag.IsArgument() == arguments) page->Item(FlagHead(flag), flag.help);
  }
}

void AppendCommandList(std::string_view group, RoffPage* page) {
  page->Section("COMMANDS");
  for (const Command* command : CommandsIn(group)) {
    page->Item(PageReference(PageName(command->name()), 1), SummaryOf(*command));
  }
}

void AppendEntries(std::span<const ManualEntry> all, RoffPage* page) {
  for (const ManualEntry& each : all) page->Item(RoffBold(each.name), each.means);
}

void AppendReferences(const std::vector<std::string>& pages, RoffPage* page) {
  page->Section("\"SEE ALSO\"");
  for (std::size_t i = 0; i < pages.size(); ++i) {
    page->Line(pages[i] + (i + 1 < pages.size() ? "," : ""));
  }
}

ManualPage TopPage(std::string_view date) {
  RoffPage page("podctl", 1, date, SourceWords());
  page.Name("podctl", "declarative Cloud TPU pods");
  page.Section("SYNOPSIS");
  page.Line(RoffBold("podctl") + " " + WithPlaceholders("COMMAND [flags]"));
  page.Section("DESCRIPTION");
  page.Paragraph(
      "podctl provisions Google Cloud TPU pods from specs that live in git: `podctl plan` shows "
      "what differs between the spec, the state and the cloud, and `podctl apply` makes it so. "
      "It reaches every worker of a pod by SSH: to prove that it can be used, and for commands, "
      "jobs, files and tunnels.");
  page.Paragraph(
      "A spec is a file of YAML, podctl.yaml(5). `podctl init` writes one to begin with, and "
      "`podctl emulator` stands in for the cloud.");
  AppendCommandList("", &page);
  page.Section("OPTIONS");
  page.Paragraph("Those of every command:");
  AppendFlags(GlobalFlags(), false, &page);
  page.Section("\"EXIT STATUS\"");
  page.Paragraph("The same failure has the same code in every command.");
  for (const ExitCode& exit : ExitCodes()) {
    page.Item(RoffBold(std::to_string(exit.code)), exit.means);
  }
  page.Paragraph(
      "`podctl exec` and `podctl run` end with the commands' own code when all workers agree, "
      "`podctl ssh` with the remote side's.");
  page.Section("ENVIRONMENT");
  AppendEntries(kVariables, &page);
  page.Section("FILES");
  AppendEntries(kFiles, &page);
  std::vector<std::string> others;
  for (const Command* command : CommandsIn("")) {
    others.push_back(PageReference(PageName(command->name()), 1));
  }
  others.push_back(PageReference("podctl.yaml", 5));
  AppendReferences(others, &page);
  return {"podctl", 1, page.text()};
}

ManualPage PageOf(const Command& command, std::string_view date) {
  const std::string name = PageName(command.name());
  RoffPage page(name, 1, date, SourceWords());
  page.Name(name, command.summary());
  page.Section("SYNOPSIS");
  const std::string begin = fmt::format("podctl {}", command.name());
  page.Line(RoffBold(begin) + WithPlaceholders(UsageOf(command, " [flags]").substr(begin.size())));
  page.Section("DESCRIPTION");
  page.Paragraph(SummaryOf(command));
  if (command.IsGroup()) AppendCommandList(command.name(), &page);
  const auto flags = command.flags();
  if (std::any_of(flags.begin(), flags.end(), [](const Flag& each) { return each.IsArgument(); })) {
    page.Section("ARGUMENTS");
    AppendFlags(flags, true, &page);
  }
  page.Section("OPTIONS");
  AppendFlags({&kHelpFlag, 1}, false, &page);
  AppendFlags(flags, false, &page);
  page.Paragraph("Those of every command, exit codes and variables are in podctl(1).");
  const auto examples = ExamplesOf(command.name());
  if (!examples.empty()) page.Section("EXAMPLES");
  for (const Example& example : examples) {
    page.Paragraph(fmt::format("{}:", example.what));
    page.Verbatim(example.line);
  }
  std::vector<std::string> others = {PageReference("podctl", 1)};
  for (const Command* each : CommandsIn(command.group())) {
    if (!command.group().empty() && each != &command) {
      others.push_back(PageReference(PageName(each->name()), 1));
    }
  }
  others.push_back(PageReference("podctl.yaml", 5));
  AppendReferences(others, &page);
  return {name, 1, page.text()};
}

}  // namespace

std::vector<ManualPage> ManualPages(std::string_view date, const Shape& spec) {
  std::vector<ManualPage> pages = {TopPage(date)};
  for (const Command* command : Commands()) {
    if (!command->IsHidden()) pages.push_back(PageOf(*command, date));
  }
  pages.push_back(SpecPage(date, SourceWords(), spec));
  return pages;
}

}  // namespace podctl
