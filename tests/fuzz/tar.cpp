// What a worker sends as an archive: it lands under the names that were asked for, inside of the
// folder, or not at all.
//
// The first byte of an input: bits 0-2 what was asked for, bits 3-5 the size of the pieces, bit 6
// whether the folder has other things in it already. The rest is the archive.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "providers/tar/unpacker.h"
#include "tests/fuzz/fuzz_target.h"

namespace podctl::fuzz {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t Count(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

// Made anew for each input: <it>/in is unpacked into, and all that lies beside it must stay.
class Ground {
 public:
  explicit Ground(bool furnished) {
    std::string path = (fs::temp_directory_path() / "podctl-fuzz-XXXXXX").string();
    Expect(mkdtemp(path.data()) != nullptr, "there is a place for files");
    path_ = path;
    fs::create_directories(In() / "d");
    fs::create_directories(path_ / "out");
    std::ofstream(path_ / "out" / "kept") << "mine";
    if (!furnished) return;
    fs::create_directory_symlink(path_ / "out", In() / "link");
    fs::create_symlink(path_ / "out" / "kept", In() / "a.log");
    std::ofstream(In() / "file") << "mine";
  }
  ~Ground() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  fs::path In() const { return path_ / "in"; }

  void ExpectNothingOutside() const {
    Expect(Count(path_) == 2, "nothing is made beside the folder");
    std::ifstream kept(path_ / "out" / "kept");
    std::string text;
    kept >> text;
    Expect(Count(path_ / "out") == 1 && text == "mine", "nothing is written through a link");
  }

 private:
  fs::path path_;
};

const std::vector<std::string>& AskedFor(unsigned choice) {
  static const std::vector<std::vector<std::string>> kChoices = {
      {"run.log"}, {"*.log"}, {"d"},         {"d/", "file"},
      {"*"},       {"~"},     {"link", "d"}, {"[!a]*", "a.log"}};
  return kChoices[choice % kChoices.size()];
}

}  // namespace
}  // namespace podctl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace podctl;
  using namespace podctl::fuzz;
  if (size == 0) return 0;
  const unsigned choice = data[0];
  const Ground ground((choice & 0x40U) != 0);
  const auto asked = tar::RequestedNames::Of(AskedFor(choice & 7U));
  Expect(static_cast<bool>(asked), "these can be asked for");
  const std::string rename = asked->nameless() ? "home" : "";
  std::string_view rest = TextOf(data + 1, size - 1);
  const std::size_t piece = std::size_t{1} << ((choice >> 3U & 7U) * 2);
  {
    tar::Unpacker unpacker(ground.In().string(), rename, *asked);
    bool going = true;
    while (going && !rest.empty()) {
      const auto taken = unpacker.Take(rest.substr(0, piece));
      rest.remove_prefix(std::min(rest.size(), piece));
      if (!taken) ExpectShowable(taken.error());
      going = static_cast<bool>(taken);
    }
    const auto whole = unpacker.Finish();
    if (!whole) ExpectShowable(whole.error());
    Expect(going || !whole, "an archive that was refused is never whole");
  }
  ground.ExpectNothingOutside();
  for (const auto& each : fs::directory_iterator(ground.In())) {
    const std::string name = each.path().filename().string();
    const bool was_there = name == "d" || name == "link" || name == "a.log" || name == "file";
    Expect(was_there || name == rename || (rename.empty() && !asked->AskedBy(name).empty()),
           "only what was asked for is made", name);
    Expect(!name.ends_with(".part"), "no half file is left", name);
  }
  return 0;
}
