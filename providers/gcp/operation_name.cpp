#include "providers/gcp/operation_name.h"

#include <algorithm>
#include <cctype>

#include "providers/base/text.h"

namespace podctl::gcp {
namespace {

constexpr std::size_t kLongestOperationId = 256;

bool IsPlainId(std::string_view text) {
  return !text.empty() && text.size() <= kLongestOperationId && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 ||
                  std::string_view("._-:").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

bool IsAllDigits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool IsOperationOf(std::string_view name, std::string_view project, std::string_view location) {
  const auto parts = Split(name, "/");
  if (parts.size() != 6 || parts[0] != "projects" || parts[2] != "locations" ||
      parts[4] != "operations") {
    return false;
  }
  const bool same_project = parts[1] == project || IsAllDigits(parts[1]) || IsAllDigits(project);
  return same_project && parts[3] == location && IsPlainId(parts[1]) && IsPlainId(parts[3]) &&
         IsPlainId(parts[5]);
}

}  // namespace podctl::gcp
