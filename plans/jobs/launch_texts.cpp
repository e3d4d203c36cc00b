#include "plans/jobs/launch_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "plans/spec/expressions.h"
#include "plans/spec/references.h"

namespace podctl {
namespace {

// Nothing that a shell reads as more than itself.
bool IsPlainWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("._-:/@%+=,").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

enum class Into { kWord, kShellText };

Result<std::string> Rendered(const std::string& text, const LaunchPod& pod, Into into) {
  std::string plain;
  for (const TemplatePart& part : SplitTemplate(text)) {
    if (part.kind != TemplatePart::Kind::kReference) {
      plain += part.text;
      continue;
    }
    const auto value =
        RenderText(part.text, [&](const Address&) -> const Value* { return &pod.node; });
    if (!value && pod.guessed) {
      plain += fmt::format("<{} of {}>", part.path, part.name);
      continue;
    }
    if (!value) {
      return MakeError(ErrorCode::kFailedPrecondition,
                       fmt::format("`{}`: pod.{} has no such field", part.text, part.name),
                       fmt::format("`podctl state show pod.{}` shows those it has.", part.name));
    }
    if (into == Into::kShellText && !IsPlainWord(*value)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("`{}` holds characters that a shell would read", part.text),
                       "Put it into `env` and use the variable, or write the command as a list of "
                       "several words.");
    }
    plain += *value;
  }
  return plain;
}

}  // namespace

Result<JobSpec> RenderJob(const JobSpec& job, const LaunchPod& pod) {
  JobSpec plain = job;
  const Into into = job.command.size() == 1 ? Into::kShellText : Into::kWord;
  for (std::string& word : plain.command) {
    auto text = Rendered(word, pod, into);
    if (!text) return text.error();
    word = *std::move(text);
  }
  for (auto& [name, value] : plain.flags) {
    if (!value) continue;
    auto text = Rendered(*value, pod, Into::kWord);
    if (!text) return text.error();
    value = *std::move(text);
  }
  for (auto& [name, value] : plain.env) {
    auto text = Rendered(value, pod, Into::kWord);
    if (!text) return text.error();
    value = *std::move(text);
  }
  return plain;
}

std::string TemplateAsWritten(const std::string& text) {
  std::string written;
  for (const TemplatePart& part : SplitTemplate(text)) written += part.text;
  return written;
}

}  // namespace podctl
