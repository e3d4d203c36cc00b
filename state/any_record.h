// One record of the state, whatever its kind: what is remembered of one pod, of one step. state/
// keeps, compares and writes it without knowing what it says; it is opened only by who knows its
// kind (state.h).
//
// Copies are cheap and share one record until one of them is changed, of which the others see
// nothing: so what a state said before a change is kept by copying the state. A record may be read
// by several threads at once, and changed by one that nobody else reads or copies from.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "providers/base/error.h"
#include "state/record.h"

namespace podctl {

class RecordCodec;  // record_codec.h

class AnyRecord {
 public:
  // `T` names its kind (`T::kKind`) and how it is written (`T::Codec()`).
  template <typename T>
  requires requires { T::Codec(); }
  AnyRecord(T record)  // NOLINT: implicit
      : cell_(std::make_shared<CellOf<T>>(std::move(record))) {}

  const RecordCodec& codec() const { return cell_->codec; }

  // Of another kind than T's it is a mistake in podctl, which ends here.
  template <typename T>
  const T& As() const {
    PODCTL_CHECK(&codec() == &T::Codec());
    return static_cast<const CellOf<T>&>(*cell_).value;
  }
  // To be changed: nobody else's copy sees it.
  template <typename T>
  T& Edit() {
    PODCTL_CHECK(&codec() == &T::Codec());
    return static_cast<CellOf<T>&>(Own()).value;
  }

  // What a kind with objects of a service remembers of them; nullptr of one that has none.
  const Record* objects() const { return cell_->Objects(); }
  Record* EditObjects() { return Own().Objects(); }

  friend bool operator==(const AnyRecord& a, const AnyRecord& b) {
    return a.cell_ == b.cell_ || (&a.codec() == &b.codec() && a.cell_->Equals(*b.cell_));
  }

 private:
  struct Cell {
    explicit Cell(const RecordCodec& its_codec) : codec(its_codec) {}
    virtual ~Cell() = default;
    virtual std::shared_ptr<Cell> Copy() const = 0;
    virtual bool Equals(const Cell& other) const = 0;  // which is of the same kind
    virtual Record* Objects() = 0;

    const RecordCodec& codec;
  };

  template <typename T>
  struct CellOf final : Cell {
    explicit CellOf(T record) : Cell(T::Codec()), value(std::move(record)) {}
    std::shared_ptr<Cell> Copy() const override { return std::make_shared<CellOf>(value); }
    bool Equals(const Cell& other) const override {
      return value == static_cast<const CellOf&>(other).value;
    }
    Record* Objects() override {
      if constexpr (std::is_base_of_v<Record, T>) return &value;
      return nullptr;
    }

    T value;
  };

  Cell& Own() {
    if (cell_.use_count() > 1) cell_ = cell_->Copy();
    return *cell_;
  }

  std::shared_ptr<Cell> cell_;
};

}  // namespace podctl
