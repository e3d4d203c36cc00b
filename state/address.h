// The name of one thing that podctl looks after: `pod.research`, `bootstrap.research.jupyter`,
// `trainingJob.mnist`. Which kinds there are is not known here.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace podctl {

struct Address {
  Address() = default;
  Address(std::string its_kind, std::string its_name, std::string its_key = {},
          std::string its_deposed = {})
      : kind(std::move(its_kind)),
        name(std::move(its_name)),
        key(std::move(its_key)),
        deposed(std::move(its_deposed)) {}

  std::string kind;  // "pod"
  std::string name;  // "research"; of a part of another thing with dots, "research.jupyter"
  std::string key;   // which of several that one entry of the spec stands for; empty: the one
  // The id of an object that was replaced and is still to be deleted; empty: the current one. Only
  // changes of a plan have it.
  std::string deposed;

  // `pod.research`, `pod.research["a"]`, `pod.research (deposed research-1)`. ParseAddress reads it
  // back.
  std::string Text() const;
  bool empty() const { return kind.empty(); }
  Address WithoutDeposed() const { return {kind, name, key}; }

  friend auto operator<=>(const Address&, const Address&) = default;
};

// nullopt where `text` is no address: no kind, no name or an empty part of one, a bracket that does
// not belong there, or a character that makes no part of a name.
std::optional<Address> ParseAddress(std::string_view text);

}  // namespace podctl

template <>
struct fmt::formatter<podctl::Address> : fmt::formatter<std::string> {
  auto format(const podctl::Address& address, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(address.Text(), context);
  }
};
