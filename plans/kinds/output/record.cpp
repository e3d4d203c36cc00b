#include "plans/kinds/output/record.h"

#include "providers/base/digest.h"
#include "providers/base/json.h"
#include "state/record_codec.h"

namespace podctl {
namespace {

// The first version of the format in which a state may have outputs.
constexpr int kFormatOfOutputs = 6;

constexpr std::string_view kOutputDigestHead = "hmac-sha256:";

bool IsOutputDigest(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  if (!text.starts_with(kOutputDigestHead)) return false;
  text.remove_prefix(kOutputDigestHead.size());
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

class OutputCodec final : public RecordCodecOf<OutputRecord> {
 public:
  int since_version() const override { return kFormatOfOutputs; }
  bool is_value() const override { return true; }

  std::string_view noun() const override { return "output"; }
  std::string_view form() const override { return "output.NAME"; }
  std::string_view section() const override { return "outputs"; }
  std::string_view forget_risk() const override {
    return "who reads it gets nothing until the next apply.";
  }

  std::vector<std::pair<std::string, std::string>> Lines(const AnyRecord& any) const override {
    const auto& record = any.As<OutputRecord>();
    return {{"value", record.sensitive() ? "(sensitive value)" : ToJson(Value(record.value))}};
  }

  Value Document(const AnyRecord& any) const override {
    const auto& record = any.As<OutputRecord>();
    Value output = Value::EmptyMap();
    output.Set("sensitive", record.sensitive());
    if (!record.sensitive()) output.Set("value", record.value);
    return output;
  }

 private:
  void Read(ObjectReader& in, int /*version*/, OutputRecord* output) const override {
    output->depends_on = in.SpareAddresses("depends_on");
    output->digest = in.SpareText("digest");
    if (output->digest.empty()) {
      output->value = in.Text("value");
    } else if (!IsOutputDigest(output->digest)) {
      in.Fail("has a `digest` that is none");
    }
  }

  void Write(const OutputRecord& output, ObjectWriter& out) const override {
    out.Spare("depends_on", output.depends_on);
    if (output.sensitive()) {
      out.Member("digest", output.digest);
    } else {
      out.Member("value", output.value);
    }
  }
};

}  // namespace

const RecordCodec& OutputRecord::Codec() {
  static const OutputCodec codec;
  return codec;
}

Address OutputAddress(const std::string& output) {
  return {std::string(kOutputKind), output};
}

// With words of its own before it: other digests under the same key are of texts alone, and who
// may choose one of those must not read this off it.
std::string OutputDigest(const std::string& value, const std::string& digest_key) {
  return std::string(kOutputDigestHead) + HmacSha256Hex(digest_key, "podctl output\n" + value);
}

}  // namespace podctl
