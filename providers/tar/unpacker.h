// Writes what is in a tar archive below a folder, while its bytes come. Only files and folders that
// were asked for are made: no links, no devices, nothing outside of the folder and nothing through
// a link in it. A file has its name when it is whole, and not before; what it replaces stays until
// then.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/error.h"
#include "providers/os/output_file.h"
#include "providers/tar/header.h"
#include "providers/tar/requested_names.h"

namespace podctl::tar {

class Unpacker {
 public:
  static constexpr std::size_t kMaxEntries = 1'000'000;
  static constexpr std::size_t kMaxDepth = 64;
  // Bytes behind the end of the archive, with which tar fills its last record: its own records have
  // 10 KiB, and none has more than this.
  static constexpr std::uint64_t kMaxRest = std::uint64_t{1} << 20;

  // Below `folder`, which must be there. `rename`: the name that takes the place of the first part
  // of each name; empty: they stay as they are, which a nameless path must not. "./" before a name,
  // and an entry "./", are left out. `asked` is lent.
  Unpacker(std::string folder, std::string rename, const RequestedNames& asked)
      : folder_(std::move(folder)),
        rename_(std::move(rename)),
        asked_(asked),
        came_(asked.size(), false) {}

  // The next bytes, in pieces of any length. After an error nothing more is taken.
  Result<void> Take(std::string_view bytes);
  // kAborted when the archive is not whole, or not all that was asked for is in it.
  Result<void> Finish() const;

  std::uint64_t files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }  // of files

 private:
  enum class Part { kHeader, kLongName, kData, kPadding, kEnd };
  Result<std::size_t> TakePart(std::string_view bytes);
  Result<void> TakeHeader(const Header& header);
  Result<void> Begin(const Header& header, const std::string& name);
  Result<std::vector<std::string_view>> PartsOf(const std::string& name) const;
  Result<void> CheckAsked(const std::string& name, std::string_view first, bool is_folder);
  Result<void> Claim(const std::string& path);
  Result<void> EndEntry();

  const std::string folder_;
  const std::string rename_;
  const RequestedNames& asked_;
  std::vector<bool> came_;  // of each that was asked for
  std::string top_;         // the first part of all names, where it gets another
  std::size_t entries_ = 0;
  std::set<FileIdentity> made_;  // what this archive has made
  Part part_ = Part::kHeader;
  std::string block_;      // of the header, as far as it came; or of a long name
  std::string long_name_;  // of the next entry
  std::uint64_t left_ = 0;
  std::uint64_t rest_ = 0;  // that came behind the end
  std::uint64_t padding_ = 0;
  std::optional<PartialFile> file_;
  std::string file_path_;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<Error> failed_;
};

}  // namespace podctl::tar
