#include "providers/tar/unpacker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "providers/base/foreign_text.h"
#include "providers/base/text.h"

namespace podctl::tar {
namespace {

constexpr std::size_t kLongestName = std::size_t{16} * 1024;
constexpr unsigned kPermissions = 0777;

Error Refuse(std::string message) {
  return MakeError(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace

Result<void> Unpacker::Take(std::string_view bytes) {
  if (failed_) return *failed_;
  while (!bytes.empty()) {
    const auto taken = TakePart(bytes);
    if (!taken) {
      file_.reset();
      failed_ = taken.error();
      failed_->message = VisibleControls(failed_->message);  // it may hold any name
      return *failed_;
    }
    bytes.remove_prefix(*taken);
  }
  return {};
}

// As many bytes as belong to the part that is under way.
Result<std::size_t> Unpacker::TakePart(std::string_view bytes) {
  const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_));
  switch (part_) {
    case Part::kEnd:
      rest_ += bytes.size();
      if (rest_ > kMaxRest) return Refuse("it goes on sending behind the end of the archive");
      return bytes.size();
    case Part::kHeader: {
      const std::size_t more = std::min(bytes.size(), kBlock - block_.size());
      block_ += bytes.substr(0, more);
      if (block_.size() < kBlock) return more;
      const auto header = ReadHeader(block_);
      block_.clear();
      if (!header) return header.error();
      if (auto begun = TakeHeader(*header); !begun) return begun.error();
      return more;
    }
    case Part::kLongName:
      block_ += bytes.substr(0, some);
      break;
    case Part::kData:
      if (auto written = file_->Write(bytes.substr(0, some)); !written) return written.error();
      bytes_ += some;
      break;
    case Part::kPadding:
      break;
  }
  left_ -= some;
  if (left_ == 0) {
    if (auto ended = EndEntry(); !ended) return ended.error();
  }
  return some;
}

Result<void> Unpacker::TakeHeader(const Header& header) {
  if (header.name.empty()) {
    part_ = Part::kEnd;
    return {};
  }
  left_ = header.size;
  padding_ = Padding(header.size);
  if (header.kind == Kind::kLongName) {
    if (header.size == 0 || header.size > kLongestName) {
      return Refuse("this is no tar archive: a name is too long");
    }
    part_ = Part::kLongName;
    return {};
  }
  const std::string name = long_name_.empty() ? header.name : std::exchange(long_name_, {});
  if (auto begun = Begin(header, name); !begun) return begun;
  part_ = Part::kData;
  return left_ == 0 ? EndEntry() : Result<void>{};
}

Result<void> Unpacker::Begin(const Header& header, const std::string& name) {
  const bool is_folder = header.kind == Kind::kFolder;
  const auto parts = PartsOf(name);
  if (!parts) return parts.error();
  if (is_folder) left_ = padding_ = 0;
  if (parts->empty()) {
    return is_folder ? Result<void>{} : Refuse("this is no tar archive: a file has no name");
  }
  if (++entries_ > kMaxEntries) {
    return Refuse(fmt::format("it sends more than {} files and folders", kMaxEntries));
  }
  if (auto asked = CheckAsked(name, parts->front(), is_folder || parts->size() > 1); !asked) {
    return asked;
  }
  std::string path = folder_;
  for (const std::string_view& part : *parts) {
    path += '/';
    path += &part == &parts->front() && !rename_.empty() ? std::string_view(rename_) : part;
  }
  if (auto above = CheckFoldersAbove(path, folder_.size()); !above) return above;
  if (is_folder) {
    // Its owner must be able to fill it.
    auto made = MakeOutputFolder(path, (header.mode & kPermissions) | 0700);
    return made ? Claim(path) : made;
  }
  auto file = PartialFile::Make(path, header.mode & kPermissions);
  if (!file) return file.error();
  file_ = *std::move(file);
  file_path_ = std::move(path);
  return {};
}

// The parts of a name, without ".".
Result<std::vector<std::string_view>> Unpacker::PartsOf(const std::string& name) const {
  const auto refuse = [&](std::string_view why) {
    return Refuse(fmt::format("the name `{}` {}", VisibleControls(name), why));
  };
  if (HoldsControls(name)) return refuse("holds control characters");
  if (name.starts_with('/')) return refuse("leads out of the folder");
  std::vector<std::string_view> parts;
  for (const std::string_view part : Split(name, "/")) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return refuse("leads out of the folder");
    parts.push_back(part);
  }
  if (parts.size() > kMaxDepth) return refuse(fmt::format("is more than {} deep", kMaxDepth));
  return parts;
}

// `first`: of the parts of `name`.
Result<void> Unpacker::CheckAsked(const std::string& name, std::string_view first, bool is_folder) {
  const std::vector<std::size_t> asked_by = asked_.AskedBy(first);
  if (asked_by.empty()) {
    return Refuse(fmt::format("it sends `{}`, which was not asked for", VisibleControls(name)));
  }
  if (top_.empty()) top_ = first;
  if (!rename_.empty() && top_ != first) {
    return Refuse("it sends several files where one was asked for");
  }
  for (const std::size_t path : asked_by) {
    came_[path] = true;
    if (is_folder || !asked_.WantsFolder(path)) continue;
    return Refuse(
        fmt::format("it sends a file where the folder `{}` was asked for", asked_.path(path)));
  }
  return {};
}

// Of what this archive has made nothing is replaced by another part of it.
Result<void> Unpacker::Claim(const std::string& path) {
  const auto identity = IdentityOf(path);
  if (!identity || made_.insert(*identity).second) return {};
  return Refuse(fmt::format("it sends two files or folders that are both {} here", path));
}

Result<void> Unpacker::EndEntry() {
  if (part_ == Part::kLongName) {
    long_name_ = block_.substr(0, block_.find('\0'));
    block_.clear();
  } else if (part_ == Part::kData && file_) {
    const auto there = IdentityOf(file_path_);
    if (there && made_.contains(*there)) return Claim(file_path_);
    auto kept = file_->Keep();
    file_.reset();
    if (!kept) return kept;
    if (auto claimed = Claim(file_path_); !claimed) return claimed;
    ++files_;
  }
  left_ = part_ == Part::kPadding ? 0 : padding_;
  part_ = left_ > 0 ? Part::kPadding : Part::kHeader;
  return {};
}

Result<void> Unpacker::Finish() const {
  if (failed_) return *failed_;
  // Some tars leave the end away; a worker that was cut off has no whole entry at its end.
  if (part_ != Part::kEnd) {
    return MakeError(ErrorCode::kAborted, "what the worker sent is not whole");
  }
  for (std::size_t i = 0; i < came_.size(); ++i) {
    if (came_[i]) continue;
    return MakeError(ErrorCode::kAborted,
                     fmt::format("it sends nothing for `{}`", VisibleControls(asked_.path(i))));
  }
  return {};
}

}  // namespace podctl::tar
