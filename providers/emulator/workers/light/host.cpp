#include "providers/emulator/workers/light/host.h"

#include <algorithm>
#include <vector>

#include "providers/emulator/names.h"

namespace podctl::emulator {
namespace {

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-.,:/@%+=|").find(c) != std::string_view::npos;
}

// The words between blanks; empty when one is not plain. "|" is a word of its own or not plain.
std::vector<std::string_view> PlainWords(std::string_view command) {
  std::vector<std::string_view> words;
  while (true) {
    command.remove_prefix(std::min(command.find_first_not_of(' '), command.size()));
    if (command.empty()) return words;
    const std::string_view word = command.substr(0, command.find(' '));
    command.remove_prefix(word.size());
    const bool pipe = word.find('|') != std::string_view::npos;
    if (!std::all_of(word.begin(), word.end(), IsPlain) || (pipe && word != "|")) return {};
    words.push_back(word);
  }
}

InlineAnswer Once(std::string text) {
  const std::uint64_t size = text.size();
  return {std::move(text), size};
}

// yes WORD | head -c BYTES
std::optional<InlineAnswer> AnswerYes(const std::vector<std::string_view>& words) {
  if (words.size() != 6 || words[0] != "yes" || words[1][0] == '-' || words[2] != "|" ||
      words[3] != "head" || words[4] != "-c") {
    return std::nullopt;
  }
  InlineAnswer answer{.text = std::string(words[1]) + "\n", .size = 0};
  if (!ReadNumber(words[5], &answer.size)) return std::nullopt;
  return answer;
}

}  // namespace

std::optional<InlineAnswer> AnswerInline(std::string_view command, std::string_view hostname) {
  const std::vector<std::string_view> words = PlainWords(command);
  if (words.empty()) return std::nullopt;
  if (words[0] == "yes") return AnswerYes(words);
  if (std::find(words.begin(), words.end(), "|") != words.end()) return std::nullopt;
  if (words[0] == "true") return Once("");
  if (words[0] == "hostname" && words.size() == 1) return Once(std::string(hostname) + "\n");
  // An option of echo's is not just a word.
  if (words[0] != "echo" || (words.size() > 1 && words[1][0] == '-')) return std::nullopt;
  std::string text;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (i > 1) text += ' ';
    text += words[i];
  }
  return Once(text + "\n");
}

}  // namespace podctl::emulator
