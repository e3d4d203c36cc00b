#include "plans/fleet/cp/ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "plans/fleet/pod_target.h"
#include "plans/spec/names.h"

namespace podctl {
namespace {

bool MaySelectWorkers(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isdigit(c) != 0 ||
           std::string_view("all,-!/[]").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

Error Wrong(const std::string& what, const std::string& fix) {
  return MakeError(ErrorCode::kInvalidArgument, what, fix);
}

Result<CopyPlan> ReadDownload(const std::vector<std::string>& words) {
  CopyPlan plan;
  plan.destination = words.back();
  for (auto word = words.begin(); word != words.end() - 1; ++word) {
    const auto remote = ReadRemotePath(*word);
    if (!remote) {
      return Wrong(fmt::format("`{}` and `{}` both lie on this machine", *word, words.back()),
                   "One side lies on the workers: podctl cp FILE research:~/ or podctl cp "
                   "research/0:~/FILE .");
    }
    const bool first = plan.sources.empty();
    if (!first && (remote->pod != plan.pod || remote->workers != plan.workers)) {
      return Wrong(fmt::format("`{}` lies elsewhere than `{}`", *word, words.front()),
                   "Copy from one pod and one selection of workers at a time.");
    }
    plan.pod = remote->pod;
    plan.workers = remote->workers;
    plan.sources.push_back(remote->path);
  }
  return plan;
}

}  // namespace

std::optional<RemotePath> ReadRemotePath(std::string_view word) {
  const auto colon = word.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view place = word.substr(0, colon);
  const auto suffix = place.find_first_of("[/");
  RemotePath remote;
  remote.pod = BarePodName(std::string(place.substr(0, suffix)));
  remote.path = word.substr(colon + 1);
  if (!IsThingName(remote.pod)) return std::nullopt;
  if (suffix == std::string_view::npos) return remote;
  remote.workers = place.substr(place[suffix] == '[' ? suffix : suffix + 1);
  return MaySelectWorkers(remote.workers) ? std::make_optional(remote) : std::nullopt;
}

Result<CopyPlan> ReadCopy(const std::vector<std::string>& words, const std::string& workers) {
  if (words.size() < 2) {
    return Wrong("`podctl cp` wants a source and a destination",
                 "For example: podctl cp ./src research:~/src");
  }
  CopyPlan plan;
  if (const auto to = ReadRemotePath(words.back())) {
    plan.upload = true;
    plan.pod = to->pod;
    plan.workers = to->workers;
    plan.destination = to->path;
    plan.sources.assign(words.begin(), words.end() - 1);
    for (const std::string& source : plan.sources) {
      if (!ReadRemotePath(source)) continue;
      return Wrong(fmt::format("`{}` and `{}` both lie on workers", source, words.back()),
                   "One side lies on this machine: copy to a local folder first. (A local file "
                   "with a colon in its name is written ./NAME.)");
    }
  } else {
    auto download = ReadDownload(words);
    if (!download) return download.error();
    plan = *std::move(download);
  }
  if (!workers.empty() && !plan.workers.empty()) {
    return Wrong(fmt::format("`--worker {}` and `{}/{}:` name workers twice", workers, plan.pod,
                             plan.workers),
                 "Leave one of them out.");
  }
  if (!workers.empty()) plan.workers = workers;
  return plan;
}

}  // namespace podctl
