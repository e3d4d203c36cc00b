#include "providers/os/become.h"

#include <unistd.h>

#include <cerrno>

#include "providers/os/descriptor.h"

namespace podctl {
namespace {

std::vector<char*> PointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Error BecomeProgram(const std::vector<std::string>& words,
                    const std::map<std::string, std::string>& variables) {
  PODCTL_CHECK(!words.empty());
  std::vector<std::string> arguments = words;
  std::vector<std::string> environment;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string text = *each;
    if (!variables.contains(text.substr(0, text.find('=')))) environment.push_back(text);
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  ::execve(arguments.front().c_str(), PointersTo(arguments).data(), PointersTo(environment).data());
  return SystemError("run", words.front(), errno);
}

}  // namespace podctl
