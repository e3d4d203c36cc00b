// Rows of cells as lines of text.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/views/paint.h"

namespace podctl {

using TableRow = std::vector<std::string>;
using PaintCell =
    std::function<std::string(std::size_t row, std::size_t column, const std::string& cell)>;

// Each column is as wide as its widest cell and two blanks from the next; the last one is not
// padded. `paint` is given each cell before that. `align`: ">" in the place of a column puts its
// cells to the right.
std::string TableText(const std::vector<TableRow>& rows, const PaintCell& paint = {},
                      std::string_view align = {});
// The same with its first line in bold.
std::string BoldHead(const std::string& table, const Paint& paint);

}  // namespace podctl
