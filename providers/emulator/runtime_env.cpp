#include "providers/emulator/runtime_env.h"

#include <utility>

namespace podctl::emulator {
namespace {

using Words = std::vector<std::string>;

// Shell words: blanks part them, quotes and backslashes join them.
std::optional<Words> Split(std::string_view text) {
  Words words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\'') {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\\' && i + 1 < text.size()) {
      const char next = text[++i];
      // Inside double quotes a backslash is one only before these (POSIX shell, 2.2.3).
      if (quote == '"' && std::string_view("\"\\$`").find(next) == std::string_view::npos) {
        word += c;
      }
      word += next;
      in_word = true;
    } else if (quote == '"') {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace

std::optional<std::vector<std::string>> ParseRuntimeEnv(std::string_view text) {
  const std::optional<Words> words = Split(text);
  if (!words) return std::nullopt;
  Words variables;
  for (std::size_t i = 0; i < words->size(); ++i) {
    std::string_view word = (*words)[i];
    if (word == "-e" || word == "--env") {
      if (++i == words->size()) return std::nullopt;
      word = (*words)[i];
    } else if (word.rfind("--env=", 0) == 0) {
      word.remove_prefix(6);
    } else if (word.rfind("-e", 0) == 0) {
      word.remove_prefix(2);
    } else {
      return std::nullopt;
    }
    const std::size_t equals = word.find('=');
    if (equals == 0 || word.find('\0') != std::string_view::npos) return std::nullopt;
    if (equals != std::string_view::npos) variables.emplace_back(word);
  }
  return variables;
}

}  // namespace podctl::emulator
