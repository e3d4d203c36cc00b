// What a change carries for its kind alone: any value, opened only by who knows its type. A plan
// that is copied shares it; who edits one copy is not seen by the others.
// And Declared, what a spec says of one thing.
#pragma once

#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "providers/base/diagnostic.h"
#include "state/address.h"

namespace podctl {

class Kind;  // kind.h

class Payload {
 public:
  Payload() = default;
  // `kind`: whose it is, which outlives the payload; nullptr: while a saved plan is being read.
  template <typename T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Payload>)
      Payload(T value, const Kind* kind = nullptr)  // NOLINT: implicit
      : cell_(std::make_shared<CellOf<T>>(std::move(value))), kind_(kind) {}

  const Kind* kind() const { return kind_; }

  // nullptr: there is none, or it is of another type.
  template <typename T>
  const T* As() const {
    const Cell* cell = cell_.get();  // asked of each change, many times: no walk through bases
    if (cell == nullptr || typeid(*cell) != typeid(CellOf<T>)) return nullptr;
    return &static_cast<const CellOf<T>*>(cell)->value;
  }
  // The same, to be changed.
  template <typename T>
  T* Edit() {
    const T* shared = As<T>();
    if (shared == nullptr) return nullptr;
    if (cell_.use_count() > 1) cell_ = std::make_shared<CellOf<T>>(*shared);
    return &static_cast<CellOf<T>&>(*cell_).value;
  }

 private:
  struct Cell {
    virtual ~Cell() = default;
  };
  template <typename T>
  struct CellOf final : Cell {
    explicit CellOf(T its_value) : value(std::move(its_value)) {}
    T value;
  };

  std::shared_ptr<Cell> cell_;
  const Kind* kind_ = nullptr;
};

// ---- What a spec says of one thing, whatever its kind.

struct Declared {
  Address address;
  SourcePlace place;  // of its key
  Payload wanted;     // of its kind, which knows the type
  // What it builds on, of its own kind or one before it: its changes wait for theirs.
  std::vector<Address> builds_on = {};
};

}  // namespace podctl
