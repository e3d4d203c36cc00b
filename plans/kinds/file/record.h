// What is remembered of a file: where it was written, and what, without its content.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "providers/base/value.h"
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
  std::vector<Address> depends_on = {};  // what its content refers to; for the order of deletes

  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

// The folder from which its path was written; empty: from the root.
std::string FolderOfRecord(const FileRecord& record);

inline constexpr std::string_view kFileKind = FileRecord::kKind;
Address FileAddress(const std::string& file);  // `file.inventory`

// Of the content, as the record has it.
std::string DigestOf(const std::string& content, bool sensitive, const std::string& digest_key);

// Gives what was seen of the state's sensitive files the digests that their records have, by which
// their rows tell whether they changed.
void WithKeyedDigests(const State& state, std::map<Address, Value>* seen);

// "0644".
std::string ModeText(int mode);

}  // namespace podctl
