#include "plans/from_command/from_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "plans/spec/spec_writer.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr const char* kKnown =
    "Known are `gcloud compute tpus tpu-vm create`, `gcloud compute tpus queued-resources create`, "
    "`gcloud compute tpus create`, `python -m torch_xla.distributed.xla_dist` and `caliban cloud`.";

std::string BaseName(const std::string& word) {
  return word.substr(word.rfind('/') + 1);  // npos + 1 is 0
}

bool IsAssignment(const std::string& word) {
  const auto equals = word.find('=');
  return equals != std::string::npos && IsEnvironmentName(std::string_view(word).substr(0, equals));
}

bool IsPython(const std::string& name) {
  return name == "python" || name == "python2" || name.starts_with("python3");
}

// The place of what follows `-m MODULE` or a script of that name; 0: none.
std::size_t AfterXlaDist(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-m" && i + 1 < words.size()) {
      return words[i + 1] == "torch_xla.distributed.xla_dist" ? i + 2 : 0;
    }
    if (BaseName(words[i]) == "xla_dist.py") return i + 1;
    if (!words[i].starts_with('-')) return 0;
  }
  return 0;
}

Result<FromCommand> Convert(std::vector<std::string> words, const LineWorld& world) {
  const std::string tool = BaseName(words.front());
  if (tool == "gcloud") return FromGcloud({words.begin() + 1, words.end()}, world);
  if (tool == "caliban") return FromCaliban({words.begin() + 1, words.end()}, world);
  if (tool == "xla_dist") return FromXlaDist({words.begin() + 1, words.end()}, world);
  if (IsPython(tool)) {
    if (const std::size_t begin = AfterXlaDist(words); begin > 0) {
      return FromXlaDist({words.begin() + static_cast<std::ptrdiff_t>(begin), words.end()}, world);
    }
  }
  return MakeError(
      ErrorCode::kInvalidArgument,
      fmt::format("`{}` is no command that can be turned into a spec", VisibleControls(tool)),
      kKnown);
}

}  // namespace

std::string NameFrom(std::string_view text) {
  constexpr std::size_t kLongest = 63;
  std::string name;
  for (const char c : text.substr(0, kLongest)) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    name += fits ? c : '-';
  }
  const auto first = name.find_first_not_of("-_");
  if (HasExpansion(text) || first == std::string::npos) return "research";
  return name.substr(first);
}

bool HasExpansion(std::string_view text) {
  return text.find('$') != std::string_view::npos || text.find('`') != std::string_view::npos;
}

Result<FromCommand> SpecFromCommand(std::string_view line, const LineWorld& world) {
  Result<ShellLine> split = SplitShellLine(line);
  if (!split) return split.error();
  std::vector<Remark> before;
  std::vector<std::string>& words = split->words;
  while (!words.empty() && (IsAssignment(words.front()) || words.front() == "sudo")) {
    const std::string& word = words.front();
    before.push_back({word.substr(0, word.find('=')),
                      word == "sudo" ? "podctl needs no rights of another user"
                                     : "a variable of the shell is not carried over"});
    words.erase(words.begin());
  }
  if (words.empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "there is no command in the line", kKnown);
  }
  if (!split->rest.empty()) {
    before.push_back({split->rest.substr(0, split->rest.find_first_of(" \n")),
                      "ends the command; what follows is not carried over"});
  }
  Result<FromCommand> made = Convert(std::move(words), world);
  if (!made) return made;
  for (const std::string& expansion : split->expansions) {
    const auto is_about = [&](const Remark& remark) {
      return (remark.subject + " " + remark.reason).find(expansion) != std::string::npos;
    };
    // What was put in its place has been told with what it stands for.
    if (std::any_of(made->remarks.begin(), made->remarks.end(), is_about)) continue;
    before.push_back({expansion, "is kept as it stands: no shell puts anything in"});
  }
  made->remarks.insert(made->remarks.begin(), before.begin(), before.end());
  YamlText head;
  head.Comment(fmt::format("From a line of `{}`.", made->tool));
  if (!made->remarks.empty()) head.Comment("Not as it was there:");
  for (const Remark& remark : made->remarks) {
    head.Comment(fmt::format("  {}: {}", remark.subject, remark.reason));
  }
  head.Blank();
  made->text = head.text() + made->text;
  return made;
}

void ToolLine::Left(const std::string& subject, std::string_view reason) {
  made_.remarks.push_back({VisibleControls(subject), std::string(reason)});
}

void ToolLine::Refuse(const std::string& subject, std::string_view reason) {
  refused_.push_back({VisibleControls(subject), std::string(reason)});
}

std::optional<Error> ToolLine::Refused() const {
  if (refused_.empty()) return std::nullopt;
  std::vector<std::string> lines;
  if (refused_.size() > 1) lines.push_back(fmt::format("{} things in the line", refused_.size()));
  for (const Remark& each : refused_) lines.push_back(each.subject + ": " + each.reason);
  const char* it = refused_.size() == 1 ? "it" : "them";
  return MakeError(ErrorCode::kInvalidArgument, Join(lines, "\n"),
                   fmt::format("Put {0} right, or take {0} out of the line and say in the spec "
                               "what is meant.",
                               it));
}

std::string ToolLine::Shown(const GivenFlag& flag) {
  return flag.name.starts_with('-') ? flag.name : "--" + flag.name;
}

bool ToolLine::CanBeTaken(const GivenFlag& flag) {
  if (!flag.known) {
    Refuse(Shown(flag),
           flag.near.empty()
               ? "podctl does not know this flag"
               : fmt::format("podctl does not know this flag; did you mean `--{}`?", flag.near));
  } else if (flag.lacks_value) {
    Refuse(Shown(flag), "its value is missing");
  } else if (!flag.aside.empty()) {
    Left(Shown(flag), flag.aside);
  } else {
    return true;
  }
  return false;
}

}  // namespace podctl
