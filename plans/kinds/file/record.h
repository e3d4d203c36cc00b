// What is remembered of a file: where it was written, and what, without its content.
#pragma once

#include <string>
#include <string_view>

#include "state/address.h"
#include "state/record.h"
#include "state/state.h"

namespace podctl {

// Its object's locator is its path from the root, on the machine that wrote it last.
struct FileRecord : Record {
  static constexpr std::string_view kKind = "file";
  static const RecordCodec& Codec();

  std::string path;  // as the spec has it: from the spec's folder, or from the root
  // Of what was written, or is being written: "sha256:…", or "hmac-sha256:…" by the state's
  // digest_key where it is sensitive.
  std::string digest;
  int mode = 0;
  // The same of what was there before, while it is being written over.
  std::string old_digest;
  int old_mode = 0;

  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

// The folder from which its path was written; empty: from the root.
std::string FolderOfRecord(const FileRecord& record);

inline constexpr std::string_view kFileKind = FileRecord::kKind;
Address FileAddress(const std::string& file);  // `file.inventory`

// Of the content, as the record has it.
std::string DigestOf(const std::string& content, bool sensitive, const std::string& digest_key);

// "0644".
std::string ModeText(int mode);

// A file as the spec says it: written on the machine that applies, such as an inventory of the
// workers for another tool.

struct FileSpec {
  std::string name;     // its address is file.<name>
  std::string path;     // from the current folder, or absolute
  std::string folder;   // of the spec, from the current folder; empty: `path` is absolute
  std::string written;  // the path from there, or `path`
  std::string content;  // template text
  bool sensitive = false;
  int mode = 0;  // permission bits
  // Of a change: the digest of what is written over, as FileRecord has it; empty: nothing is there.
  // And of what is removed, at the path that the record has; empty: nothing is. What is there then
  // and is not that stays.
  std::string replaces = {};
  std::string removes = {};
};

}  // namespace podctl
