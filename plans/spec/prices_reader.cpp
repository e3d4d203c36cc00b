#include "plans/spec/prices_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "plans/spec/names.h"
#include "providers/base/price_words.h"
#include "providers/base/text.h"
#include "providers/gcp/available_types.h"

namespace podctl {
namespace {

constexpr std::size_t kMostPrices = 10'000;
constexpr double kHighestPrice = 1e6;

const Shape& ItemShape() {
  static const Shape kShape = shape::Map({
      shape::Required("type", "The chip: v5e, v6e, …", shape::Text()),
      shape::Required("region", "Where: us-central1.", shape::Text()),
      shape::Required("tier", "On what terms.",
                      shape::Word({std::string(kOnDemand), std::string(kSpot),
                                   std::string(kReserved), std::string(kFlexStart)})),
      shape::Required("perChipHour", "The price of one chip for one hour.", shape::Real()),
  });
  return kShape;
}

const Shape& FileShape() {
  static const Shape kShape = shape::Map({
      shape::Required("asOf", "The day of the prices.", shape::Text()),
      shape::Required("currency", "As ISO 4217 calls it: USD.", shape::Text()),
      shape::Required("items", "The prices.", shape::ListOf(ItemShape())),
  });
  return kShape;
}

struct Item {
  std::string type;
  std::string region;
  std::string tier;
  double price = 0;
};

class PriceReader {
 public:
  PriceReader(const std::string& last_day, ValueReader& reader)
      : last_day_(last_day), reader_(reader) {}

  PriceBook Read(const YamlNode& root) {
    // Who writes a spec may name any file, and what stands in it is nobody's business here.
    const bool is_one = std::any_of(FileShape().keys.begin(), FileShape().keys.end(),
                                    [&](const Key& key) { return root.Find(key.name) != nullptr; });
    if (!is_one) {
      reader_.Error(root, {}, "this is no file of prices",
                    "it has none of the keys `asOf`, `currency` and `items`");
      return {};
    }
    HasAll(root, {}, FileShape());
    reader_.ReadMap(root, {}, FileShape(),
                    {{"asOf", [&](auto& node, auto& slot) { ReadDay(node, slot); }},
                     {"currency", [&](auto& node, auto& slot) { ReadCurrency(node, slot); }},
                     {"items", [&](auto& node, auto& slot) { ReadItems(node, slot); }}});
    return std::move(book_);
  }

 private:
  // False after a report.
  bool HasAll(const YamlNode& node, const Slot& slot, const Shape& shape) {
    bool all = true;
    for (const Key& needed : shape.keys) {
      if (!node.is_map() || node.Find(needed.name) != nullptr) continue;
      reader_.Error(node, slot.Below(needed.name), fmt::format("there is no `{}`", needed.name),
                    needed.doc);
      all = false;
    }
    return all;
  }

  void ReadDay(const YamlNode& node, const Slot& slot) {
    const auto text = reader_.ReadPlain(node, slot);
    if (!text) return;
    if (!IsDay(*text)) {
      reader_.Error(node, slot, fmt::format("{} is no day", FoundWords(node)),
                    "write it as 2026-11-01");
    } else if (!last_day_.empty() && *text > last_day_) {
      reader_.Error(node, slot, fmt::format("{} is still to come", FoundWords(node)),
                    "write the day on which these prices were looked up");
    } else {
      book_.as_of = *text;
    }
  }

  void ReadCurrency(const YamlNode& node, const Slot& slot) {
    const auto text = reader_.ReadPlain(node, slot);
    if (!text) return;
    if (IsCurrency(*text)) {
      book_.currency = *text;
    } else {
      reader_.Error(node, slot, fmt::format("{} is no currency", FoundWords(node)),
                    "write its three capital letters, such as USD");
    }
  }

  void ReadItems(const YamlNode& node, const Slot& slot) {
    if (!reader_.ExpectList(node, slot)) return;
    if (node.items.size() > kMostPrices) {
      reader_.Error(
          node, slot,
          fmt::format("{} prices are too many, {} at most", node.items.size(), kMostPrices));
      return;
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      ReadItem(*node.items[i], {"", fmt::format("items[{}]", i)});
    }
  }

  void ReadItem(const YamlNode& node, const Slot& slot) {
    Item item;
    if (IsCutByComma(node, slot)) return;
    bool sound = HasAll(node, slot, ItemShape());
    const auto take = [&](auto read, auto* into) {
      return [this, read, into, &sound](const YamlNode& value, const Slot& at) {
        auto found = (this->*read)(value, at);
        sound = sound && found;
        if (found) *into = *std::move(found);
      };
    };
    const auto word = [&](const YamlNode& value, const Slot& at) {
      if (value.is_scalar() && value.text == "preemptible") {
        sound = false;
        return reader_.Error(value, at, "there is no tier `preemptible`",
                             "write `spot`, which is that of preemptible ones, too");
      }
      const auto found = reader_.ReadWord(value, at, ItemShape().At("tier"));
      sound = sound && found;
      if (found) item.tier = *found;
    };
    const bool whole = reader_.ReadMap(node, slot, ItemShape(),
                                       {{"type", take(&PriceReader::Type, &item.type)},
                                        {"region", take(&PriceReader::Region, &item.region)},
                                        {"tier", word},
                                        {"perChipHour", take(&PriceReader::Price, &item.price)}});
    if (!whole || !sound) return;
    const auto key = std::tuple(item.type, item.region, item.tier);
    const auto [at, is_new] = places_.emplace(key, &node);
    if (!is_new) {
      reader_.Conflict(node, slot,
                       fmt::format("{}, {}, {} has two prices", item.type, item.tier, item.region),
                       *at->second, "the other one is here");
      return;
    }
    book_.per_chip_hour.emplace(key, item.price);
  }

  // {perChipHour: 2,00} is the amount 2 and a key 00.
  bool IsCutByComma(const YamlNode& node, const Slot& slot) {
    if (!node.is_map()) return false;
    for (std::size_t i = 1; i < node.entries.size(); ++i) {
      const YamlNode& key = *node.entries[i].key;
      const YamlEntry& before = node.entries[i - 1];
      const bool is_rest = node.entries[i].value->kind == YamlNode::Kind::kNull &&
                           IsDigits(key.text) && before.key->text == "perChipHour" &&
                           before.value->is_scalar() && IsDigits(before.value->text);
      if (!is_rest) continue;
      reader_.Error(
          key, slot, "a comma ends the amount before it",
          fmt::format("write its decimals behind a point: {}.{}", before.value->text, key.text));
      return true;
    }
    return false;
  }

  static bool IsDigits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  }

  std::optional<std::string> Type(const YamlNode& node, const Slot& slot) {
    auto text = reader_.ReadPlain(node, slot);
    if (!text) return std::nullopt;
    const std::string chip = gcp::ChipTypeNamed(*text);
    if (!chip.empty()) return chip;
    const auto dash = text->rfind('-');
    if (dash != text->npos && IsDigits(std::string_view(*text).substr(dash + 1))) {
      const std::string of_it = gcp::ChipTypeNamed(text->substr(0, dash));
      if (!of_it.empty()) {
        reader_.Error(
            node, slot,
            fmt::format("{} is an acceleratorType, and a price is of one chip", FoundWords(node)),
            fmt::format("write `{}`, the type of its chips", of_it));
        return std::nullopt;
      }
    }
    // New ones come.
    const std::vector<std::string> known = gcp::ChipTypes();
    const std::string near = DidYouMean(*text, known);
    reader_.Warn(node, slot, fmt::format("podctl knows no chips called {}", FoundWords(node)),
                 near.empty() ? "it knows " + Join(known, ", ") : near);
    return text;
  }

  std::optional<std::string> Region(const YamlNode& node, const Slot& slot) {
    auto text = reader_.ReadPlain(node, slot);
    if (!text || IsRegion(*text)) return text;
    const std::string of_zone = RegionOfZone(*text);
    const bool is_zone = IsRegion(of_zone);
    reader_.Error(node, slot,
                  fmt::format("{} is {}", FoundWords(node), is_zone ? "a zone" : "no region"),
                  is_zone ? fmt::format("its region is `{}`", of_zone) : "such as us-central1");
    return std::nullopt;
  }

  std::optional<double> Price(const YamlNode& node, const Slot& slot) {
    std::optional<double> number;
    if (node.is_scalar()) {
      const auto text = reader_.ReadPlain(node, slot);
      if (!text) return std::nullopt;
      number = ParseNumber<double>(*text);
    }
    const bool is_amount = number && *number <= kHighestPrice && *number >= 0;
    if (is_amount && !std::signbit(*number)) return number;
    std::string hint = "of the file's currency, without a sign: 1.2";
    const std::string text = node.is_scalar() ? node.text : "";
    if (const auto comma = text.find(','); comma != text.npos) {
      const std::string pointed = text.substr(0, comma) + "." + text.substr(comma + 1);
      if (ParseNumber<double>(pointed)) hint = "write its decimals behind a point: " + pointed;
    }
    reader_.Error(node, slot,
                  fmt::format("`{}` must be an amount, found {}", slot.key, FoundWords(node)),
                  std::move(hint));
    return std::nullopt;
  }

  const std::string& last_day_;
  ValueReader& reader_;
  PriceBook book_;
  std::map<std::tuple<std::string, std::string, std::string>, const YamlNode*> places_;
};

}  // namespace

PriceBook ReadPrices(const YamlNode& root, const std::string& last_day, ValueReader& reader) {
  return PriceReader(last_day, reader).Read(root);
}

bool LooksLikePrices(const YamlNode& root) {
  const std::vector<Key>& keys = FileShape().keys;
  const auto found = std::count_if(keys.begin(), keys.end(),
                                   [&](const Key& key) { return root.Find(key.name) != nullptr; });
  return found >= 2;
}

std::optional<CostLimit> ReadCostLimit(const YamlNode& node, const Slot& slot,
                                       ValueReader& reader) {
  const auto text = reader.ReadPlain(node, slot);
  if (!text) return std::nullopt;
  const auto slash = text->find('/');
  const auto amount = ParseNumber<double>(text->substr(0, slash));
  const std::string unit = slash == std::string::npos ? "" : text->substr(slash + 1);
  const double hours = unit == "hour"    ? 1
                       : unit == "day"   ? kHoursOfDay
                       : unit == "month" ? kHoursOfMonth
                                         : 0;
  const bool is_plain = text->find_first_not_of("0123456789.") == slash;
  if (!amount || !is_plain || !std::isfinite(*amount) || hours == 0) {
    reader.Error(node, slot, fmt::format("{} is no cost", FoundWords(node)),
                 std::string(kCostLimitPattern.words));
    return std::nullopt;
  }
  return CostLimit{*amount / hours, *text, node.Place()};
}

}  // namespace podctl
