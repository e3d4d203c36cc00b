// Cuts a stream of bytes into lines for an Observer: without the newline, at most 64 KiB at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace podctl::ssh {

class LineSplitter {
 public:
  static constexpr std::size_t kLongestLine =
      std::size_t{64} * 1024;  // bytes; the rest comes as further pieces
  using Take = std::function<void(std::string_view line, bool ends)>;  // `ends`: in a newline

  void Add(std::string_view bytes, const Take& take) {
    while (!bytes.empty()) {
      const std::size_t room = kLongestLine - partial_.size();
      const std::size_t newline = bytes.substr(0, room + 1).find('\n');
      if (newline != std::string_view::npos) {
        Deliver(bytes.substr(0, newline), true, take);
        bytes.remove_prefix(newline + 1);
      } else if (bytes.size() > room) {
        Deliver(bytes.substr(0, room), false, take);
        bytes.remove_prefix(room);
      } else {
        partial_.append(bytes);
        return;
      }
    }
  }
  // The stream has ended: a last line without a newline is a line too.
  void Finish(const Take& take) {
    if (!partial_.empty()) Deliver({}, false, take);
  }

 private:
  void Deliver(std::string_view end, bool ends, const Take& take) {
    if (partial_.empty()) {
      take(end, ends);
      return;
    }
    partial_.append(end);
    take(partial_, ends);
    partial_.clear();
    // There is one for each stream of thousands of workers.
    if (partial_.capacity() > kSpare) std::string().swap(partial_);
  }
  static constexpr std::size_t kSpare = std::size_t{4} * 1024;  // bytes kept for the next line
  std::string partial_;
};

}  // namespace podctl::ssh
