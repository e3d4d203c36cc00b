#include "cmd/views/offer_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cmd/views/paint.h"
#include "providers/base/text.h"

namespace podctl {
namespace {

constexpr const char* kUnknown = "-";

std::string Number(const std::optional<int>& number) {
  return number ? std::to_string(*number) : kUnknown;
}

std::string Words(const std::vector<std::string>& words) {
  return words.empty() ? kUnknown : VisibleControls(Join(words, ", "));
}

Value TextList(const std::vector<std::string>& texts) {
  Value::List list;
  for (const std::string& text : texts) list.emplace_back(text);
  return Value(std::move(list));
}

}  // namespace

std::string TypesTable(const std::vector<gcp::OfferedType>& types, bool color) {
  using Row = std::array<std::string, 5>;
  std::vector<Row> rows = {{"TYPE", "CHIPS", "HOSTS", "TOPOLOGY", "ZONES"}};
  bool with_zones = false;
  for (const gcp::OfferedType& type : types) {
    rows.push_back({VisibleControls(type.type), Number(type.chips), Number(type.hosts),
                    Words(type.topologies), Words(type.zones)});
    with_zones = with_zones || !type.zones.empty();
  }
  std::array<std::size_t, 5> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const Paint paint(color);
  std::string text;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:<{}}  {:>{}}  {:>{}}  ", row[0], widths[0], row[1], widths[1],
                                   row[2], widths[2]);
    line += with_zones ? fmt::format("{:<{}}  {}", row[3], widths[3], row[4]) : row[3];
    text += (&row == &rows.front() ? paint(Ink::kBold, line) : line) + "\n";
  }
  return text;
}

Value TypesList(const std::vector<gcp::OfferedType>& types) {
  Value::List list;
  for (const gcp::OfferedType& type : types) {
    Value entry;
    entry.Set("type", type.type);
    entry.Set("chips", type.chips ? Value(*type.chips) : Value());
    entry.Set("hosts", type.hosts ? Value(*type.hosts) : Value());
    entry.Set("topologies", TextList(type.topologies));
    if (!type.zones.empty()) entry.Set("zones", TextList(type.zones));
    list.push_back(std::move(entry));
  }
  return Value(std::move(list));
}

}  // namespace podctl
