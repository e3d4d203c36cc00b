// Text that does not get into messages by accident: it can be read on purpose only.
#pragma once

#include <string>
#include <utility>

namespace podctl::gcp {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& Reveal() const { return text_; }
  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  std::string text_;
};

}  // namespace podctl::gcp
