#include "cmd/views/ci_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "cmd/views/apply_view.h"
#include "cmd/views/markdown.h"
#include "cmd/views/plan_view.h"
#include "providers/base/digest.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

// Whether it can stand between the brackets of a link and end nowhere else.
bool IsPlainLink(std::string_view url) {
  if (!url.starts_with("https://") && !url.starts_with("http://")) return false;
  return std::all_of(url.begin(), url.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-._~:/?#=&%+").find(c) != std::string_view::npos;
  });
}

// "[run 7](https://…)", "this run".
std::string RunLink(const RunWords& words) {
  const bool plain_id =
      !words.run_id.empty() && std::all_of(words.run_id.begin(), words.run_id.end(), [](char c) {
        return std::isdigit(static_cast<unsigned char>(c)) != 0;
      });
  const std::string name = plain_id ? "run " + words.run_id : "this run";
  return IsPlainLink(words.run_url) ? fmt::format("[{}]({})", name, words.run_url) : name;
}

std::string OfProject(const RunWords& words) {
  return words.project.empty() ? std::string() : " of " + MarkdownCode(words.project);
}

std::string OfCommit(const RunWords& words) {
  constexpr std::size_t kShort = 12;
  const bool is_commit =
      !words.commit.empty() && std::all_of(words.commit.begin(), words.commit.end(), [](char c) {
        return std::isxdigit(static_cast<unsigned char>(c)) != 0;
      });
  return is_commit ? fmt::format(", commit {}", words.commit.substr(0, kShort)) : std::string();
}

// Below a plan: who made it, and by what it is known again.
std::string Footer(const RunAccount& account, const RunWords& words) {
  std::string text = fmt::format("\n<sub>By {}{}", RunLink(words), OfCommit(words));
  if (!account.digest.empty()) text += fmt::format(". Digest `{}`", account.digest);
  return text + ".</sub>\n";
}

// "Resources: 1 added, 0 changed, 0 destroyed." without what stands around the counts.
std::string AsTitle(std::string_view counts) {
  const auto colon = counts.find(": ");
  if (colon != std::string_view::npos) counts.remove_prefix(colon + 2);
  if (counts.ends_with('.')) counts.remove_suffix(1);
  return std::string(counts);
}

const Plan* PlanOf(const RunAccount& account) {
  return account.plan ? &*account.plan : nullptr;
}

}  // namespace

std::string PlanComment(const RunAccount& account, const RunWords& words) {
  CommentForm form;
  form.last_line.clear();
  form.headline =
      fmt::format("podctl plan{}: {}", OfProject(words),
                  account.interrupted ? "interrupted"
                                      : PlanTitle(PlanOf(account), account.problems.has_errors()));
  return MarkdownOf(PlanOf(account), account.problems, account.notes, form) +
         Footer(account, words);
}

std::string ApplyComment(const RunAccount& account, CiApplyEnd end,
                         std::chrono::milliseconds elapsed, const RunWords& words) {
  CommentForm form;
  form.last_line.clear();
  const bool destroy = account.plan && account.plan->mode == PlanMode::kDestroy;
  const std::string counts = account.result ? CountWords(*account.result, destroy) : std::string();
  const std::string took =
      fmt::format("{} by {}{}", FormatDuration(elapsed), RunLink(words), OfCommit(words));
  std::string how;
  switch (end) {
    case CiApplyEnd::kApplied:
      how = counts.empty() ? "done" : AsTitle(counts);
      form.paragraph = fmt::format("✅ Applied in {}.", took);
      form.acts_are_past = true;
      break;
    case CiApplyEnd::kNothingToDo:
      how = "nothing to do";
      form.paragraph = fmt::format("Nothing was to be applied: looked at for {}.", took);
      break;
    case CiApplyEnd::kFailed:
      how = "failed";
      form.paragraph = fmt::format("❌ Failed after {}. {}", took, counts);
      break;
    case CiApplyEnd::kInterrupted:
      how = "interrupted";
      form.paragraph =
          fmt::format("Interrupted after {}; the state says what is under way. {}", took, counts);
      break;
    case CiApplyEnd::kRefused:
      how = "refused";
      form.paragraph = fmt::format(
          "⛔ Nothing was changed by {}{}: what would be applied is not what was reviewed. To go "
          "on, "
          "have this pull request planned anew (`podctl ci plan --pull N`), read that plan, and "
          "run "
          "the apply again.",
          RunLink(words), OfCommit(words));
      break;
  }
  form.headline = fmt::format("podctl apply{}: {}", OfProject(words), how);
  const bool shows_plan = end != CiApplyEnd::kNothingToDo;
  return MarkdownOf(shows_plan ? PlanOf(account) : nullptr, account.problems, account.notes, form) +
         (end == CiApplyEnd::kRefused ? Footer(account, words) : std::string());
}

std::string DriftTitle(const Plan& plan, const RunWords& words) {
  const std::string project = words.project.empty() ? "" : " of " + VisibleControls(words.project);
  return fmt::format("podctl: drift{}: {}", project, PlanTitle(&plan, false));
}

std::string DriftText(const RunAccount& account, const RunWords& words) {
  CommentForm form;
  form.last_line.clear();
  form.headline = fmt::format("Drift{}: {}", OfProject(words), PlanTitle(PlanOf(account), false));
  form.paragraph =
      "What is there is not what the spec says: an apply would do this. The issue is renewed by "
      "each "
      "look, and closed when nothing differs any more.";
  return MarkdownOf(PlanOf(account), account.problems, account.notes, form) +
         fmt::format("\n<sub>Seen by {}{}.</sub>\n", RunLink(words), OfCommit(words));
}

std::string OutdatedLine() {
  return "*Outdated: a newer comment of podctl stands below.*";
}

// ---- For runners.

std::string PathInRepository(const std::string& path, const std::string& here,
                             const std::string& checkout) {
  if (path.empty() || checkout.empty()) return path;
  const std::filesystem::path root = std::filesystem::path(checkout).lexically_normal();
  const std::filesystem::path whole = (std::filesystem::path(here) / path).lexically_normal();
  const std::string below = whole.lexically_relative(root).generic_string();
  return below.empty() || below.starts_with("..") ? path : below;
}

namespace {

// The escapes of the runner (actions/toolkit, "command.ts"): of a message, and of a property.
std::string Escaped(std::string_view text, bool property) {
  std::string escaped;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    if (special) {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// What a person reads of it, in one text.
std::string WholeMessage(const Diagnostic& diagnostic) {
  std::string text = diagnostic.summary;
  for (const std::string* more : {&diagnostic.suggestion, &diagnostic.detail}) {
    if (!more->empty()) text += "\n" + *more;
  }
  return text;
}

}  // namespace

void WriteAnnotation(std::ostream& stream, const Diagnostic& diagnostic, const std::string& path) {
  const bool error = diagnostic.severity == Severity::kError;
  std::string properties;
  const auto add = [&](std::string_view name, const std::string& value) {
    properties += fmt::format("{}{}={}", properties.empty() ? "" : ",", name, Escaped(value, true));
  };
  if (!path.empty()) add("file", VisibleControls(path));
  const SourcePlace& place = diagnostic.place;
  if (!path.empty() && place.line > 0) {
    add("line", std::to_string(place.line));
    add("col", std::to_string(place.column));
    add("endColumn", std::to_string(place.column + place.length));
  }
  add("title", diagnostic.context.empty() ? "podctl" : "podctl: " + diagnostic.context);
  PassOwn(stream, error ? "::error " : "::warning ");
  stream << properties;
  PassOwn(stream, "::");
  stream << Escaped(WholeMessage(diagnostic), false) << "\n" << std::flush;
}

Value CodeQualityEntry(const Diagnostic& diagnostic, const std::string& path, std::size_t which) {
  const bool error = diagnostic.severity == Severity::kError;
  // The same for the same problem wherever its line has moved to, and one for each of a report.
  const std::string print =
      fmt::format("{}\n{}\n{}\n{}", path, diagnostic.context, diagnostic.summary, which);
  return Value::Map{
      {"description", VisibleControls(Join(SplitLines(WholeMessage(diagnostic)), " "))},
      {"check_name", "podctl validate"},
      {"fingerprint", Sha256Hex(print)},
      {"severity", error ? "major" : "minor"},
      {"location",
       Value::Map{{"path", path.empty() ? "podctl.yaml" : path},
                  {"lines", Value::Map{{"begin", std::max(1, diagnostic.place.line)}}}}}};
}

Value TerraformReport(const Plan& plan) {
  const PlanCounts counts = plan.Counts();
  return Value::Map{{"create", counts.add}, {"update", counts.change}, {"delete", counts.destroy}};
}

}  // namespace podctl
