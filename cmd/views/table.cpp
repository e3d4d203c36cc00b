#include "cmd/views/table.h"

#include <algorithm>

namespace podctl {

std::string TableText(const std::vector<TableRow>& rows, const PaintCell& paint,
                      std::string_view align) {
  std::vector<std::size_t> widths;
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const std::string& cell = rows[r][i];
      const std::string blanks(widths[i] - cell.size(), ' ');
      const bool right = i < align.size() && align[i] == '>';
      const bool last = i + 1 == rows[r].size();
      text += (right ? blanks : "") + (paint ? paint(r, i, cell) : cell) +
              (right || last ? "" : blanks) + (last ? "\n" : "  ");
    }
  }
  return text;
}

std::string BoldHead(const std::string& table, const Paint& paint) {
  const auto end = table.find('\n');
  return paint(Ink::kBold, table.substr(0, end)) + table.substr(end);
}

}  // namespace podctl
