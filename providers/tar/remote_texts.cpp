#include "providers/tar/remote_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "providers/base/text.h"
#include "providers/workers/shell.h"

namespace podctl::tar {
namespace {

constexpr std::string_view kPatternCharacters = "*?[]";

bool IsUserName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

// "~" or "~alice", where the path begins so.
std::string_view HomeOf(std::string_view path) {
  const std::string_view first = path.substr(0, path.find('/'));
  return first.starts_with('~') && IsUserName(first.substr(1)) ? first : std::string_view();
}

enum class Meaning { kPattern, kNegation, kPlain, kOther };

Meaning MeaningAt(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (kPatternCharacters.find(c) != std::string_view::npos) return Meaning::kPattern;
  // Shells do not agree on `^`; both are understood as the `!` of POSIX.
  if ((c == '!' || c == '^') && at > 0 && text[at - 1] == '[') return Meaning::kNegation;
  return ShellQuote(text.substr(at, 1)).size() == 1 ? Meaning::kPlain : Meaning::kOther;
}

constexpr const char* kPack = R"sh(
LC_ALL=C; export LC_ALL
set -- {}
nameless={} left=$#
while [ $left -gt 0 ]; do
  path=$1; shift; left=$((left-1))
  [ -e "$path" ] || { echo "$path: there is no such file or folder" >&2; exit 66; }
  while [ "$path" != / ] && [ "${path%/}" != "$path" ]; do path=${path%/}; done
  base=${path##*/}
  case $base in
    .|..|'')
      [ $nameless = 1 ] || continue
      folder=$(cd "$path" && pwd -P) || exit 1
      base=${folder##*/} folder=${folder%/*} ;;
    *)
      case $path in /*) ;; *) path=./$path ;; esac
      folder=$(cd "${path%/*}/" && pwd -P) || exit 1 ;;
  esac
  set -- "$@" -C "${folder:-/}" "./$base"
done
[ $# -gt 0 ] || { echo "there is no such file or folder" >&2; exit 66; }
format=
if tar --version 2>/dev/null | grep -q GNU; then format="--format=gnu --hard-dereference"; fi
exec tar -c $format -h -f - "$@"
)sh";

// Several workers may write to one file system (NFS). What one of them has put there comes whole,
// by a rename, and a folder carries the copy's mark as its time: to the others it is what they were
// to make, and no folder to copy into.
constexpr const char* kUnpack = R"sh(
LC_ALL=C; export LC_ALL
refuse() { echo "$1" >&2; exit 1; }
mark={}
is_ours() { [ -n "$mark" ] && [ "$(stat -c %.9Y "$1" 2>/dev/null)" = "$mark" ]; }
target={} into={}
# In this order: between two looks it may come.
if [ -d "$target" ]; then
  if [ $into = 0 ] && is_ours "$target"; then cat >/dev/null; exit 0; fi
  into=1
fi
case $target in /*) ;; *) target=./$target ;; esac
if [ $into = 1 ]; then
  mkdir -p "$target" || exit 1
  cd "$target" || exit 1
else
  [ -d "${target%/*}/" ] || refuse "${target%/*}: there is no such folder"
  cd "${target%/*}/" || exit 1
fi
temp=
trap 'rm -rf "$temp"' EXIT
trap "exit 143" TERM HUP INT
temp=$(mktemp -d ./.podctl-cp-XXXXXXXX 2>&1) || { why=${temp##*: } temp=; refuse "$PWD: $why"; }
tar -x -m -o -f - -C $temp || exit 1
for item in $temp/* $temp/.[!.]* $temp/..?*; do
  [ -e "$item" ] || continue
  name=./${item##*/}
  [ $into = 1 ] || name=./${target##*/}
  if [ ! -d "$name" ]; then
    [ -z "$mark" ] || [ ! -d "$item" ] || touch -d "@$mark" "$item" || exit 1
    said=$(mv -fT "$item" "$name" 2>&1) && continue
    [ -d "$name" ] || refuse "$said"
  fi
  ! is_ours "$name" || continue
  if [ ! -d "$item" ]; then
    refuse "$name: a folder is in the way"
  else
    cp -a --remove-destination "$item/." "$name/" 2>/dev/null || cp -a "$item/." "$name/" || exit 1
  fi
done
)sh";

std::string Put(std::string_view text, const std::vector<std::string>& words) {
  std::string done;
  for (const std::string& word : words) {
    const auto hole = text.find("{}");
    done += fmt::format("{}{}", text.substr(0, hole), word);
    text.remove_prefix(hole + 2);
  }
  return done.append(text);
}

}  // namespace

bool MayMeanSeveral(std::string_view path) {
  return path.find_first_of("*?[") != std::string_view::npos;
}

std::string ShellWord(std::string_view path, bool patterns) {
  const std::string_view home = HomeOf(path);
  std::string word(home);
  path.remove_prefix(home.size());
  if (!patterns) return path.empty() ? word : word + ShellQuote(path);
  // Only what must be is quoted: within [ ] a quoted `-` is no range any more.
  for (std::size_t at = 0; at < path.size();) {
    const Meaning meaning = MeaningAt(path, at);
    if (meaning != Meaning::kOther) {
      word += meaning == Meaning::kNegation ? '!' : path[at];
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < path.size() && MeaningAt(path, at) == Meaning::kOther) ++at;
    word += ShellQuote(path.substr(begin, at - begin));
  }
  return word;
}

std::string NameOf(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty() || HomeOf(path) == path) return {};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "." || name == ".." ? std::string() : std::string(name);
}

std::string MatchPattern(std::string_view name) {
  std::string pattern;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const Meaning meaning = MeaningAt(name, at);
    if (meaning == Meaning::kOther) pattern += '\\';
    pattern += meaning == Meaning::kNegation ? '!' : name[at];
  }
  return pattern;
}

std::string PackCommand(const std::vector<std::string>& paths) {
  std::vector<std::string> words;
  bool nameless = false;
  for (const std::string& path : paths) {
    words.push_back(path.empty() ? "." : ShellWord(path, true));
    nameless = nameless || NameOf(path).empty();
  }
  return InPlainShell(Put(kPack, {Join(words, " "), nameless ? "1" : "0"}));
}

std::string UnpackCommand(const std::string& destination, bool into, const std::string& mark) {
  const bool whole = into || destination.empty() || destination.ends_with('/');
  const std::string path = destination.empty() ? "." : destination;
  return InPlainShell(Put(kUnpack, {mark, ShellWord(path, false), whole ? "1" : "0"}));
}

std::string ListCommand(const std::string& folder) {
  // Not ls: of a name with a newline it makes two.
  return InPlainShell(fmt::format(R"sh(LC_ALL=C; export LC_ALL
cd -- {} || exit 0
for name in * .[!.]* ..?*; do
  case $name in *[[:cntrl:]]*) continue ;; esac
  if [ -d "$name" ]; then
    printf "%s/\n" "$name"
  elif [ -e "$name" ]; then
    printf "%s\n" "$name"
  fi
done | head -n 1000)sh",
                                  folder.empty() ? "." : ShellWord(folder, false)));
}

}  // namespace podctl::tar
