// Writes what is in a tar archive below a folder, while its bytes come. Only files and folders are
// made: no links, no devices, and nothing outside of the folder. A file has its name when it is
// whole, and not before; what it replaces stays until then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "providers/base/error.h"
#include "providers/os/output_file.h"
#include "providers/tar/header.h"

namespace podctl::tar {

class Unpacker {
 public:
  // Below `folder`, which must be there. `rename`: the name that takes the place of the first part
  // of each name; empty: they stay as they are. "./" before a name, and an entry "./", are left
  // out.
  Unpacker(std::string folder, std::string rename)
      : folder_(std::move(folder)), rename_(std::move(rename)) {}

  // The next bytes, in pieces of any length. After an error nothing more is taken.
  Result<void> Take(std::string_view bytes);
  // kAborted when the archive is not whole.
  Result<void> Finish() const;

  std::uint64_t files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }  // of files

 private:
  enum class Part { kHeader, kLongName, kData, kPadding, kEnd };
  Result<std::size_t> TakePart(std::string_view bytes);
  Result<void> TakeHeader(const Header& header);
  Result<void> Begin(const Header& header, const std::string& name);
  Result<std::string> PathOf(const std::string& name) const;
  Result<void> EndEntry();

  const std::string folder_;
  const std::string rename_;
  Part part_ = Part::kHeader;
  std::string block_;      // of the header, as far as it came; or of a long name
  std::string long_name_;  // of the next entry
  std::uint64_t left_ = 0;
  std::uint64_t padding_ = 0;
  std::optional<PartialFile> file_;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<Error> failed_;
};

}  // namespace podctl::tar
