#include "providers/tar/remote_texts.h"

#include <fmt/format.h>

#include "providers/base/text.h"
#include "providers/tar/remote_path.h"
#include "providers/workers/shell.h"

namespace podctl::tar {
namespace {

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

}  // namespace podctl::tar
