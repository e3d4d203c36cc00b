// One table a resource: its rows by resource name, their records in the journal, and pages of them.
//
// A row describes its record once, and is written and read by that:
//   template <typename Archive> void Fields(Archive& archive) { archive("workers", workers); }
// Not thread safe: whoever calls holds the service's lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/base/error.h"
#include "providers/base/value.h"
#include "providers/emulator/names.h"
#include "providers/emulator/service/journal.h"

namespace podctl::emulator {

struct RecordWriter {
  Value record = {};

  template <typename Member>
  void operator()(std::string_view key, const Member& member) {
    record.Set(key, member);
  }
  void operator()(std::string_view key, ApiVersion version) {
    record.Set(key, VersionName(version));
  }
  void operator()(std::string_view key, const std::vector<std::string>& items) {
    record.Set(key, Value::List(items.begin(), items.end()));
  }
};

struct RecordReader {
  const Value& record;

  void operator()(std::string_view key, Value& to) { to = record[key]; }
  void operator()(std::string_view key, std::string& to) { to = record[key].AsString(); }
  void operator()(std::string_view key, bool& to) { to = record[key].AsBool(); }
  void operator()(std::string_view key, std::int64_t& to) { to = record[key].AsInt(); }
  void operator()(std::string_view key, int& to) { to = static_cast<int>(record[key].AsInt()); }
  void operator()(std::string_view key, ApiVersion& to) { to = VersionOf(record[key].AsString()); }
  void operator()(std::string_view key, std::vector<std::string>& to) {
    for (const Value& item : record[key].AsList()) to.push_back(item.AsString());
  }
};

template <typename Row>
class Table {
 public:
  // `kind` begins the journal's keys. The journal is lent and outlives the table.
  Table(Journal* journal, std::string_view kind) : journal_(journal), key_(kind) { key_ += ':'; }

  std::map<std::string, Row>& rows() { return rows_; }
  const std::map<std::string, Row>& rows() const { return rows_; }
  Row* Find(const std::string& name) {
    const auto found = rows_.find(name);
    return found == rows_.end() ? nullptr : &found->second;
  }
  const Row* Find(const std::string& name) const { return const_cast<Table*>(this)->Find(name); }
  Row& at(const std::string& name) { return rows_.at(name); }

  Row& Restore(const std::string& name, const Value& record) {
    RecordReader reader{record};
    Row& row = rows_[name];
    row.Fields(reader);
    return row;
  }
  // Writes a change down. Put takes a new row as well, and leaves none behind when it fails.
  Result<void> Save(const std::string& name) {
    RecordWriter writer;
    rows_.at(name).Fields(writer);
    return journal_->Put(key_ + name, writer.record);
  }
  Result<void> Put(const std::string& name, Row row) {
    rows_[name] = std::move(row);
    Result<void> saved = Save(name);
    if (!saved) Erase(name);
    return saved;
  }
  // Where nobody can be told: a full disk shows at the next request.
  void Keep(const std::string& name) { static_cast<void>(Save(name)); }
  bool Erase(const std::string& name) {
    const std::string key = key_ + name;  // `name` may lie in what is erased
    if (rows_.erase(name) == 0) return false;
    static_cast<void>(journal_->Erase(key));
    return true;
  }
  // The full names of those with this id, or this full name itself.
  std::vector<std::string> NamesOf(const std::string& id) const {
    std::vector<std::string> names;
    for (const auto& [name, row] : rows_) {
      if (name == id || IdOf(name) == id) names.push_back(name);
    }
    return names;
  }

 private:
  Journal* const journal_;
  std::string key_;
  std::map<std::string, Row> rows_;
};

// ---- Pages of a list: pageSize, pageToken, nextPageToken (AIP-158). A token names the last key
// that was sent, so that a page is right whatever was added or removed in between.

struct PageRequest {
  int size = 0;       // 0: the default
  std::string after;  // the key after which the page begins; "" for the first page
};

// How many entries a page of this request holds: 500, or what is asked for, to 1000 at most.
int PageLimit(const PageRequest& request);
// Opaque to clients.
std::string MakePageToken(std::string_view last_key);
// nullopt: not a token of ours.
std::optional<std::string> ReadPageToken(std::string_view token);

// {"nodes": […], "nextPageToken": …}, without what is empty.
class Page {
 public:
  Page(std::string_view field, const PageRequest& request)
      : field_(field), limit_(static_cast<std::size_t>(PageLimit(request))) {}

  // False: it is full, and there is a next one.
  bool Add(const std::string& key, Value resource);
  Value Take();

 private:
  const std::string field_;
  const std::size_t limit_;
  Value::List listed_;
  std::string last_;
  Value answer_ = Value::EmptyMap();
};

// Calls `take` with each row whose name begins with `prefix`, from the page's beginning on, until
// it says false.
template <typename Rows, typename Take>
void EachOfPage(Rows& rows, const std::string& prefix, const PageRequest& page, Take take) {
  auto at = page.after.empty() ? rows.lower_bound(prefix) : rows.upper_bound(page.after);
  for (; at != rows.end() && at->first.starts_with(prefix); ++at) {
    if (!take(at->first, at->second)) return;
  }
}

}  // namespace podctl::emulator
