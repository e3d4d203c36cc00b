// A tar archive as what all workers read, each at its own pace.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "providers/ssh/transport.h"
#include "providers/tar/archive.h"

namespace podctl {

class ArchiveFeed final : public ssh::InputFeed {
 public:
  explicit ArchiveFeed(tar::Archive& archive) : archive_(archive) {}  // lent
  std::size_t Read(std::uint64_t offset, char* bytes, std::size_t size) override {
    const std::size_t got = archive_.Read(offset, bytes, size);
    sent_ += got;
    return got;
  }
  bool EndsAt(std::uint64_t offset) override { return offset >= archive_.size(); }
  void Listen(std::function<void()>) override {}  // all of it is there
  std::uint64_t sent() const { return sent_; }

 private:
  tar::Archive& archive_;
  std::atomic<std::uint64_t> sent_{0};
};

}  // namespace podctl
