#include "cmd/output_filter.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ostream>

#include "providers/base/foreign_text.h"

namespace podctl {
namespace {

// What paint.h and the snippets of specs write.
constexpr std::array<std::string_view, 9> kColors = {"\x1b[0m",  "\x1b[1m",    "\x1b[2m",
                                                     "\x1b[31m", "\x1b[32m",   "\x1b[33m",
                                                     "\x1b[36m", "\x1b[1;31m", "\x1b[1;33m"};

// Plain text of which nothing has to be known.
bool IsSpecial(unsigned char c) {
  return (c < 0x20 && c != '\t' && c != '\n') || c >= 0x7F;
}

// What .NET's TrimStart takes away before a runner of GitHub looks for "::".
bool IsBlank(char32_t code) {
  return code == ' ' || code == '\t' || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x202F || code == 0x205F || code == 0x3000;
}

}  // namespace

// The beginning of a character that never came.
OutputFilter::~OutputFilter() {
  for (const char c : held_) text_ += Visible({1, static_cast<unsigned char>(c), false, true});
  Write();
}

OutputFilter::int_type OutputFilter::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
}

std::streamsize OutputFilter::xsputn(const char* bytes, std::streamsize size) {
  const std::string_view given(bytes, static_cast<std::size_t>(size));
  if (held_.empty()) {
    Clean(given);
  } else {
    std::string whole = std::move(held_);
    held_.clear();
    Clean(whole.append(given));
  }
  return Write() ? size : 0;
}

int OutputFilter::sync() {
  const bool written = Write();
  return target_.pubsync() == 0 && written ? 0 : -1;
}

bool OutputFilter::Write() {
  if (text_.empty()) return true;
  const auto size = static_cast<std::streamsize>(text_.size());
  const bool written = target_.sputn(text_.data(), size) == size;
  text_.clear();
  return written;
}

void OutputFilter::Clean(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    if (IsSpecial(static_cast<unsigned char>(bytes[at]))) {
      const std::size_t taken = TakeSpecial(bytes, at);
      if (taken == 0) {
        held_ = bytes.substr(at);
        return;
      }
      at += taken;
      continue;
    }
    if (rules_.ci) {
      Put(static_cast<unsigned char>(bytes[at]), bytes.substr(at, 1));
      ++at;
      continue;
    }
    const auto rest = bytes.substr(at);
    const auto end = std::find_if(rest.begin(), rest.end(),
                                  [](char c) { return IsSpecial(static_cast<unsigned char>(c)); });
    const auto size = static_cast<std::size_t>(end - rest.begin());
    text_ += rest.substr(0, size);
    at += size;
  }
}

// How many bytes were taken; 0: what follows must be seen first.
std::size_t OutputFilter::TakeSpecial(std::string_view bytes, std::size_t at) {
  const std::string_view rest = bytes.substr(at);
  if (rest == "\r") return 0;
  if (rest.starts_with("\r\n")) return 1;
  const Character character = CharacterAt(bytes, at);
  if (!character.complete) return 0;
  if (rules_.color && rest.front() == '\x1b') {
    const auto color = std::find_if(kColors.begin(), kColors.end(),
                                    [&](std::string_view each) { return rest.starts_with(each); });
    if (color != kColors.end()) {
      text_ += *color;
      return color->size();
    }
  }
  const bool shown = character.valid && !IsControl(character.code);
  Put(character.code, shown ? std::string(rest.substr(0, character.size)) : Visible(character));
  return character.size;
}

void OutputFilter::Put(char32_t code, std::string_view bytes) {
  if (rules_.ci && BeginsCommand(code)) {
    text_ += code == ':' ? "\\u003a" : "\\u005b";
  } else {
    text_ += bytes;
  }
}

// Whether with this character a line would begin a command of a CI runner.
bool OutputFilter::BeginsCommand(char32_t code) {
  const bool begins = (code == ':' && line_ == Line::kColon) || (code == '[' && hashes_ == 2);
  if (code == '\n') {
    line_ = Line::kBlank;
  } else if (line_ != Line::kBlank || !IsBlank(code)) {
    line_ = line_ == Line::kBlank && code == ':' ? Line::kColon : Line::kText;
  }
  if (code == '#') {
    hashes_ = std::min(hashes_ + 1, 2);
  } else if (hashes_ < 2 || code > 'z' || std::isalpha(static_cast<int>(code)) == 0) {
    hashes_ = 0;
  }
  return begins;
}

bool IsOutlet(const std::ostream& stream) {
  return dynamic_cast<OutputFilter*>(stream.rdbuf()) != nullptr;
}

void PassOwn(std::ostream& stream, std::string_view sequence) {
  if (auto* outlet = dynamic_cast<OutputFilter*>(stream.rdbuf())) {
    outlet->PassOwn(sequence);
  } else {
    stream << sequence;
  }
}

}  // namespace podctl
