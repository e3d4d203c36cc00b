// What is remembered of an output: its value as the last apply found it, or, where that is
// sensitive, a digest by which it is known again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/address.h"
#include "state/state.h"

namespace podctl {

struct OutputRecord {
  static constexpr std::string_view kKind = "output";
  static const RecordCodec& Codec();

  std::string value;   // empty of a sensitive one
  std::string digest;  // of a sensitive one, by the state's digest_key; else empty
  std::vector<Address> depends_on = {};  // what its text refers to; for the order of deletes

  bool sensitive() const { return !digest.empty(); }

  friend bool operator==(const OutputRecord&, const OutputRecord&) = default;
};

inline constexpr std::string_view kOutputKind = OutputRecord::kKind;
Address OutputAddress(const std::string& output);  // `output.address`

// As the record of a sensitive one has it.
std::string OutputDigest(const std::string& value, const std::string& digest_key);

inline RecordsOf<OutputRecord> Outputs(const State& state) {
  return RecordsOf<OutputRecord>(state);
}

}  // namespace podctl
