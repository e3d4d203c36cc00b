#include "providers/emulator/service/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "providers/base/json.h"

namespace podctl::emulator {
namespace {

constexpr std::size_t kSlackBytes = std::size_t{16}
                                    << 20;  // dead lines that are not worth a rewrite

Error JournalError(std::string_view what, const std::string& path) {
  return MakeError(ErrorCode::kIo, fmt::format("cannot {} {}: {}", what, path,
                                               std::generic_category().message(errno)));
}

Result<void> WriteAll(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return JournalError("write", path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

std::string Line(const std::string& key, const Value* value) {
  Value line;
  line.Set("k", key);
  if (value != nullptr) line.Set("v", *value);
  return ToJson(line) + "\n";
}

// What lies in the folder may have been put there by somebody else: links are not followed, and a
// named pipe is not waited for.
constexpr int kOwn = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

}  // namespace

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    return MakeError(ErrorCode::kIo,
                     fmt::format("cannot make the folder {}: {}", folder, problem.message()));
  }
  ::chmod(folder.c_str(), 0700);  // metadata may hold secrets
  std::unique_ptr<Journal> journal(new Journal);
  journal->folder_ = folder;
  const std::string lock = folder + "/lock";
  journal->lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | kOwn, 0600);
  if (journal->lock_ < 0) return JournalError("open", lock);
  if (::flock(journal->lock_, LOCK_EX | LOCK_NB) != 0) {
    return MakeError(ErrorCode::kLocked,
                     fmt::format("the data folder {} is in use by another emulator", folder));
  }
  if (auto loaded = journal->Load(); !loaded) return loaded.error();
  if (auto written = journal->Rewrite(); !written) return written.error();
  return journal;
}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
  if (lock_ >= 0) ::close(lock_);
}

Result<void> Journal::Load() {
  const std::string path = folder_ + "/journal.jsonl";
  std::error_code unknown;
  const auto kind = std::filesystem::symlink_status(path, unknown).type();
  if (kind == std::filesystem::file_type::not_found) return {};
  if (kind != std::filesystem::file_type::regular) {
    return MakeError(ErrorCode::kDataLoss, fmt::format("{} is no file of the emulator", path),
                     "Give --data a folder of its own.");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return JournalError("open", path);
  std::string line;
  std::size_t number = 0;
  while (std::getline(file, line)) {
    ++number;
    Result<Value> entry = ParseJson(line);
    if (!entry || !(*entry)["k"].is_string()) {
      // A line without its newline is the one that a kill cut off: it never took effect.
      if (file.eof()) break;
      return MakeError(ErrorCode::kDataLoss, fmt::format("{} is damaged at line {}", path, number));
    }
    const std::string& key = (*entry)["k"].AsString();
    if (const Value* value = entry->Find("v")) {
      entries_[key] = *value;
      lines_[key] = line + "\n";
    } else {
      entries_.erase(key);
      lines_.erase(key);
    }
  }
  return {};
}

Result<void> Journal::Rewrite() {
  const std::string path = folder_ + "/journal.jsonl";
  const std::string temporary = path + ".new";
  ::unlink(temporary.c_str());  // of a run that was killed
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | kOwn, 0600);
  if (file < 0) return JournalError("open", temporary);
  std::string text;
  for (const auto& [key, line] : lines_) text += line;
  Result<void> done = WriteAll(file, text, temporary);
  if (done && ::fsync(file) != 0) done = JournalError("sync", temporary);
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0)
    done = JournalError("rename", temporary);
  if (!done) {
    ::close(file);
    return done;
  }
  if (const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    ::fsync(folder);  // makes the rename itself last
    ::close(folder);
  }
  if (file_ >= 0) ::close(file_);
  file_ = file;
  live_bytes_ = file_bytes_ = text.size();
  return {};
}

Result<void> Journal::Append(const std::string& line) {
  if (auto written = WriteAll(file_, line, folder_ + "/journal.jsonl"); !written) return written;
  file_bytes_ += line.size();
  if (file_bytes_ > 4 * live_bytes_ + kSlackBytes) return Rewrite();
  return {};
}

std::map<std::string, Value> Journal::TakeEntries() {
  return std::exchange(entries_, {});
}

Result<void> Journal::Put(const std::string& key, const Value& value) {
  std::string& line = lines_[key];
  live_bytes_ -= line.size();
  line = Line(key, &value);
  live_bytes_ += line.size();
  return Append(line);
}

Result<void> Journal::Erase(const std::string& key) {
  const auto found = lines_.find(key);
  if (found == lines_.end()) return {};
  live_bytes_ -= found->second.size();
  lines_.erase(found);
  return Append(Line(key, nullptr));
}

}  // namespace podctl::emulator
