// Bytes written as text: hex and base64 (RFC 4648). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace podctl {

std::string Hex(std::string_view bytes);           // lower case
std::string Base64Encode(std::string_view bytes);  // section 4, with padding
std::string Base64Url(std::string_view bytes);     // section 5, without
// Of section 4. Blanks and line ends are skipped; nullopt when the text is not base64.
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace podctl
