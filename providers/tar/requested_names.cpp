#include "providers/tar/requested_names.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "providers/tar/remote_texts.h"

namespace podctl::tar {

Result<RequestedNames> RequestedNames::Of(const std::vector<std::string>& paths) {
  RequestedNames names;
  for (const std::string& path : paths) {
    Requested asked{path, NameOf(path), "", path.ends_with('/')};
    const bool root = !path.empty() && path.find_first_not_of('/') == std::string::npos;
    if (asked.name.empty() && (root || paths.size() > 1 || MayMeanSeveral(path))) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("`{}` does not say what its files are called", path),
                       "Name a file or a folder; a home folder is copied alone.");
    }
    if (MayMeanSeveral(asked.name)) asked.pattern = MatchPattern(asked.name);
    const auto same = [&](const Requested& other) { return other.name == asked.name; };
    if (std::any_of(names.asked_.begin(), names.asked_.end(), same)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("two of the sources are called `{}`", asked.name),
                       "The second would replace the first; copy them one after the other.");
    }
    names.nameless_ = asked.name.empty();
    names.asked_.push_back(std::move(asked));
  }
  return names;
}

std::vector<std::size_t> RequestedNames::AskedBy(std::string_view name) const {
  std::vector<std::size_t> found;
  const std::string text(name);
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const Requested& asked = asked_[i];
    // A pattern that matches nothing on the worker stands for itself, as in any shell.
    const bool fits =
        nameless_ || text == asked.name ||
        (!asked.pattern.empty() && fnmatch(asked.pattern.c_str(), text.c_str(), FNM_PERIOD) == 0);
    if (fits) found.push_back(i);
  }
  return found;
}

}  // namespace podctl::tar
