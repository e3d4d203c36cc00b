// The outputs of many workers, of which each distinct one is kept once: what costs memory or disk
// is how much the outputs differ, not how many workers there are.
//
// The outputs form a tree. A worker whose bytes are the same as another's follows that one's; where
// they begin to differ it goes on by itself, on a branch. So two outputs are equal just when they
// end at the same place, whoever was first and in whichever pieces they came. Up to a limit in
// memory, what is more in a scratch file. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/os/spill_file.h"

namespace podctl {

class OutputStore {
 public:
  // How far an output has come; a new one stands at the beginning of everything.
  struct Place {
    std::size_t branch = 0;
    std::uint64_t at = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Limits {
    std::size_t memory = std::size_t{8} << 20;        // bytes
    std::uint64_t scratch = std::uint64_t{16} << 30;  // bytes
  };

  explicit OutputStore(std::string scratch_folder) : OutputStore(std::move(scratch_folder), {}) {}
  OutputStore(std::string scratch_folder, Limits limits);

  // `bytes` come next in the output that stands at `place`. When there is no room left for them
  // trouble() says so, from then on nothing is kept, and places mean nothing any more.
  void Add(Place& place, std::string_view bytes);
  const std::optional<Error>& trouble() const { return trouble_; }

  // The output that ends at `place`, from its beginning, in pieces of at most 64 KiB, for as long
  // as `take` says that it wants more.
  Result<void> Read(Place place, const std::function<bool(std::string_view)>& take) const;
  std::uint64_t SizeOf(Place place) const;

  std::uint64_t in_memory() const { return in_memory_; }  // bytes

 private:
  // A piece of a branch in the scratch file.
  struct Extent {
    std::uint64_t end;      // where in the branch it ends
    std::uint64_t at_file;  // where in the file it begins
  };
  struct Branch {
    Place from;                   // where it left another; what came before stands there
    std::uint64_t size = 0;       // without what came before
    std::vector<Extent> extents;  // ascending, without gaps, from 0
    std::string memory;           // what follows them
    std::map<std::pair<std::uint64_t, char>, std::size_t> forks;  // left at, with: goes on there
    std::uint64_t in_file() const { return extents.empty() ? 0 : extents.back().end; }
  };

  static std::uint64_t LastSize(const std::vector<Extent>& extents);
  std::string_view Piece(const Branch& branch, std::uint64_t at, std::size_t most) const;
  void Append(Branch& branch, std::string_view bytes);
  void Spill();
  void Fail(const Error& error);

  const std::string scratch_folder_;
  const Limits limits_;
  std::vector<Branch> branches_;
  std::optional<SpillFile> scratch_;
  std::uint64_t in_memory_ = 0;
  mutable std::string buffer_;            // of Piece
  mutable std::optional<Error> trouble_;  // a read can fail as well
};

}  // namespace podctl
