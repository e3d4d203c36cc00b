#include "providers/gcp/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/text.h"

namespace podctl::gcp {
namespace {

constexpr std::string_view kProjects = "projects/";
constexpr std::string_view kZones = "/locations/";
constexpr std::string_view kEveryZone = "/locations/-";

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Without "projects/P", where P is taken out.
std::string_view BehindProject(std::string_view name, std::string_view* project) {
  if (!name.starts_with(kProjects)) return name;
  name.remove_prefix(kProjects.size());
  const auto slash = std::min(name.find('/'), name.size());
  *project = name.substr(0, slash);
  return name.substr(slash);
}

Error Odd(std::string what) {
  return MakeError(ErrorCode::kInternal, std::move(what),
                   "is the endpoint really one of the Cloud TPU API?");
}

}  // namespace

bool IsSameResource(std::string_view name, std::string_view asked) {
  std::string_view of;
  std::string_view asked_of;
  name = BehindProject(name, &of);
  asked = BehindProject(asked, &asked_of);
  if (of != asked_of && !IsNumber(of) && !IsNumber(asked_of)) return false;
  if (!asked.starts_with(kEveryZone)) return name == asked;
  const auto zone = name.find('/', kZones.size());
  return name.starts_with(kZones) && zone != std::string_view::npos &&
         name.substr(zone) == asked.substr(kEveryZone.size());
}

std::string WhyNoNode(const Value& node) {
  const std::size_t workers = node["networkEndpoints"].AsList().size();
  if (workers <= kMostWorkersOfNode) return {};
  return fmt::format("{} has {} network endpoints, and no node has more than {}",
                     VisibleControls(node["name"].AsString().substr(0, 200)), workers,
                     kMostWorkersOfNode);
}

Result<Value> CheckedResource(Result<Value> answer, const std::string& asked) {
  if (!answer) return answer;
  const std::string& name = (*answer)["name"].AsString();
  if (!IsSameResource(name, asked)) {
    return Odd(fmt::format("asked for {}, the service answers with `{}`", asked,
                           VisibleControls(name.substr(0, 200))));
  }
  if (const std::string why = WhyNoNode(*answer); !why.empty()) return Odd(why);
  return answer;
}

}  // namespace podctl::gcp
