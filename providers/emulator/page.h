// Pages of a list: pageSize, pageToken, nextPageToken (AIP-158).
//
// A token names the last key that was sent, so that a page is right whatever was added or removed
// in between. Tokens are opaque to clients. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace podctl::emulator {

struct PageRequest {
  int size = 0;       // 0: the default
  std::string after;  // the key after which the page begins; "" for the first page
};

constexpr int kDefaultPageSize = 500;
constexpr int kMaxPageSize = 1000;  // a larger request is cut to this, as the guideline says

// How many entries a page of this request holds.
int PageLimit(const PageRequest& request);

std::string MakePageToken(std::string_view last_key);
// nullopt: not a token of ours.
std::optional<std::string> ReadPageToken(std::string_view token);

}  // namespace podctl::emulator
