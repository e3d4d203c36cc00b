#include "providers/workers/notebooks.h"

#include <algorithm>
#include <cctype>

#include "providers/base/json.h"
#include "providers/workers/shell.h"

namespace podctl::workers {
namespace {

constexpr std::string_view kNotebooksFirstLine = "podctl-notebooks 1";
constexpr std::size_t kMostNotebooks = 100;
constexpr int kLastPort = 65535;

// `notebook` 4 to 6 and `jupyter_server` name their files differently and write the same into them.
// A file outlives a server that was killed, hence the look at its process.
constexpr const char* kText = R"sh(
LC_ALL=C; export LC_ALL
PATH=$PATH:$HOME/.local/bin
echo "podctl-notebooks 1"
found=
data=${JUPYTER_DATA_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/jupyter}
for folder in "$JUPYTER_RUNTIME_DIR" "$data/runtime" "$XDG_RUNTIME_DIR/jupyter"; do
  for file in "$folder"/jpserver-*.json "$folder"/nbserver-*.json; do
    [ -f "$file" ] || continue
    pid=${file##*-}
    kill -0 "${pid%.json}" 2>/dev/null || continue
    head -c 20000 "$file" | tr "\n\r" "  "
    echo
    found=1
  done
done
if [ -z "$found" ] && command -v jupyter >/dev/null; then
  timeout 20 jupyter server list --json 2>/dev/null | head -n 100
  timeout 20 jupyter notebook list --json 2>/dev/null | head -n 100
fi
echo end
)sh";

// What becomes a part of a URL as it stands.
bool IsPath(const std::string& text) {
  return text.starts_with('/') && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 ||
                  std::string_view("/-._~%").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

}  // namespace

std::string NotebooksCommand() {
  return InPlainShell(kText);
}

Result<std::vector<Notebook>> ParseNotebooks(const std::vector<std::string>& lines) {
  if (lines.size() < 2 || lines.front() != kNotebooksFirstLine || lines.back() != "end") {
    return MakeError(ErrorCode::kInvalidArgument, "its list of notebooks did not come over whole");
  }
  std::vector<Notebook> notebooks;
  for (std::size_t i = 1; i + 1 < lines.size() && notebooks.size() < kMostNotebooks; ++i) {
    // The programs may say other things, too.
    const auto entry = ParseJson(lines[i]);
    if (!entry || !entry->is_map()) continue;
    const std::int64_t port = (*entry)["port"].AsInt();
    if (port < 1 || port > kLastPort) continue;
    Notebook notebook;
    notebook.port = static_cast<int>(port);
    notebook.token = (*entry)["token"].AsString();
    notebook.password = (*entry)["password"].AsBool();
    const std::string& path = (*entry)["base_url"].AsString();
    if (IsPath(path)) notebook.base_url = path.ends_with('/') ? path : path + "/";
    notebooks.push_back(std::move(notebook));
  }
  return notebooks;
}

}  // namespace podctl::workers
