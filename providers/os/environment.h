// The door to environment variables, so that tests need not change the process's own.
#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace podctl {

class Environment {
 public:
  virtual ~Environment() = default;
  virtual std::optional<std::string> Get(const std::string& name) const = 0;
};

class RealEnvironment final : public Environment {
 public:
  std::optional<std::string> Get(const std::string& name) const override {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::make_optional<std::string>(value);
  }
};

class FixedEnvironment final : public Environment {
 public:
  explicit FixedEnvironment(std::map<std::string, std::string> values)
      : values_(std::move(values)) {}
  std::optional<std::string> Get(const std::string& name) const override {
    auto it = values_.find(name);
    return it == values_.end() ? std::nullopt : std::make_optional(it->second);
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace podctl
