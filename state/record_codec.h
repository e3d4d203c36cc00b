// What state/ asks of a kind of things that are remembered: what its records are called, and how
// the part that only the kind understands is written and read. One for each kind, without a state
// of its own; which there are is handed in by the wiring.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "state/any_record.h"
#include "state/object_reader.h"
#include "state/object_writer.h"

namespace podctl {

class RecordCodec {
 public:
  virtual std::string_view kind() const = 0;  // of its addresses, and the member `type`: "pod"
  virtual AnyRecord New() const = 0;
  // Takes the members of the payload; what is wrong with them is told to `in`. `version` is the
  // format's; below kFormatOfObjects the members stand beside those of the objects. The objects of
  // `record` have been read.
  virtual void ReadPayload(ObjectReader& in, int version, AnyRecord* record) const = 0;
  // In the order of the members' keys.
  virtual void WritePayload(const AnyRecord& record, ObjectWriter& out) const = 0;

  // What is unusual about it, in a few words: "PREEMPTED, being deleted"; "": nothing.
  virtual std::string Remark(const AnyRecord&) const { return {}; }
  // The first version of the format that has such records.
  virtual int since_version() const { return 1; }
  // The member that named the current object before kFormatOfObjects.
  virtual std::string_view old_locator() const { return {}; }

 protected:
  ~RecordCodec() = default;
};

using RecordKinds = std::span<const RecordCodec* const>;

// One for records of type T, which it opens.
template <typename T>
class RecordCodecOf : public RecordCodec {
 public:
  std::string_view kind() const override { return T::kKind; }
  AnyRecord New() const override { return T(); }
  void ReadPayload(ObjectReader& in, int version, AnyRecord* record) const override {
    Read(in, version, &record->Edit<T>());
  }
  void WritePayload(const AnyRecord& record, ObjectWriter& out) const override {
    Write(record.As<T>(), out);
  }

 protected:
  ~RecordCodecOf() = default;
  virtual void Read(ObjectReader& in, int version, T* record) const = 0;
  virtual void Write(const T& record, ObjectWriter& out) const = 0;
};

}  // namespace podctl
