// What the emulator remembers over a restart: keys with JSON values, in one append-only file.
//
// A change is one appended line, so that a thousand nodes cost a thousand short writes and not a
// thousand rewrites. The file is written anew (temporary file, fsync, rename) when it is opened and
// when dead lines outgrow the living. Lines are not synced one by one: a killed emulator loses
// nothing, a power cut may lose the last moments, which is enough for a double of a service.
// Knows nothing of nodes. Not thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "providers/base/error.h"
#include "providers/base/value.h"

namespace podctl::emulator {

class Journal {
 public:
  // Makes the folder (mode 0700) if needed and locks it against a second emulator.
  // kLocked: another one has it; kDataLoss: unreadable; kIo.
  static Result<std::unique_ptr<Journal>> Open(const std::string& folder);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // What was there when it was opened. Parsed once; the caller takes it.
  std::map<std::string, Value> TakeEntries();

  Result<void> Put(const std::string& key, const Value& value);
  Result<void> Erase(const std::string& key);

 private:
  Journal() = default;
  Result<void> Load();
  Result<void> Append(const std::string& line);
  Result<void> Rewrite();

  std::string folder_;
  int lock_ = -1;
  int file_ = -1;
  std::map<std::string, std::string> lines_;  // the living lines, by key
  std::map<std::string, Value> entries_;      // until taken
  std::size_t live_bytes_ = 0;
  std::size_t file_bytes_ = 0;
};

}  // namespace podctl::emulator
