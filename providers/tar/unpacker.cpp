#include "providers/tar/unpacker.h"

#include <fmt/format.h>

#include <algorithm>

#include "providers/base/text.h"

namespace podctl::tar {
namespace {

constexpr std::size_t kLongestName = 16 * 1024;
constexpr unsigned kPermissions = 0777;

}  // namespace

Result<void> Unpacker::Take(std::string_view bytes) {
  if (failed_) return *failed_;
  while (!bytes.empty()) {
    const auto taken = TakePart(bytes);
    if (!taken) {
      file_.reset();
      failed_ = taken.error();
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
      return bytes.size();  // tar pads its last record
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
      return MakeError(ErrorCode::kInvalidArgument, "this is no tar archive: a name is too long");
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
  const auto path = PathOf(name);
  if (!path) return path.error();
  if (header.kind == Kind::kFolder) {
    left_ = padding_ = 0;
    // Its owner must be able to fill it.
    return path->empty() ? Result<void>{}
                         : MakeOutputFolder(*path, (header.mode & kPermissions) | 0700);
  }
  if (path->empty()) {
    return MakeError(ErrorCode::kInvalidArgument, "this is no tar archive: a file has no name");
  }
  auto file = PartialFile::Make(*path, header.mode & kPermissions);
  if (!file) return file.error();
  file_ = *std::move(file);
  return {};
}

// Empty: the folder itself.
Result<std::string> Unpacker::PathOf(const std::string& name) const {
  std::string path;
  bool first = true;
  const auto refuse = [&] {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the name `{}` leads out of the folder", VisibleControls(name)),
                     "The worker sent what it should not; nothing of it was written.");
  };
  if (name.starts_with('/')) return refuse();
  for (std::string_view rest = name; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.find('\0') != std::string_view::npos) return refuse();
    path += '/';
    path += first && !rename_.empty() ? std::string_view(rename_) : part;
    first = false;
  }
  return path.empty() ? path : folder_ + path;
}

Result<void> Unpacker::EndEntry() {
  if (part_ == Part::kLongName) {
    long_name_ = block_.substr(0, block_.find('\0'));
    block_.clear();
  } else if (part_ == Part::kData && file_) {
    auto kept = file_->Keep();
    file_.reset();
    if (!kept) return kept;
    ++files_;
  }
  left_ = part_ == Part::kPadding ? 0 : padding_;
  part_ = left_ > 0 ? Part::kPadding : Part::kHeader;
  return {};
}

Result<void> Unpacker::Finish() const {
  if (failed_) return *failed_;
  // Some tars leave the end away; a worker that was cut off has no whole entry at its end.
  if (part_ == Part::kEnd) return {};
  return MakeError(ErrorCode::kAborted, "what the worker sent is not whole");
}

}  // namespace podctl::tar
