// The data types of SSH (RFC 4251 section 5), and fingerprints: what keys, agents and host keys are
// written in. Knows nothing of sockets or sessions. Everything here is a plain function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace podctl::ssh {

// Reads a message from front to back. After the first field that does not fit, ok() is false and
// every further field is empty, so a whole message is read first and checked once.
class WireReader {
 public:
  explicit WireReader(std::string_view data) : rest_(data) {}

  std::uint8_t Byte();
  std::uint32_t Number();     // uint32
  std::string_view String();  // string: length and bytes; points into the data given
  std::string_view Bytes(std::size_t count);

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

void AppendNumber(std::string& out, std::uint32_t number);
void AppendString(std::string& out, std::string_view bytes);
// An unsigned big-endian number as mpint: no leading zeros, one zero byte when the top bit is set.
void AppendMpint(std::string& out, std::string_view big_endian);

// "SHA256:…" of a public key in wire format, as ssh-keygen -l prints it.
std::string Fingerprint(std::string_view blob);

// Bytes that must not stay in memory: wiped when destroyed. Not copyable.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string bytes) : bytes_(std::move(bytes)) {}
  ~Secret() { Wipe(); }
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;

  std::string_view view() const { return bytes_; }

 private:
  void Wipe();
  std::string bytes_;
};

}  // namespace podctl::ssh
