// FNV-1a (Fowler, Noll, Vo) of 64 bits: a hash of the bytes that were added. Not safe against an
// attacker: collisions are easy to make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hearth {

class FnvHash {
 public:
  void add(std::span<const std::byte> bytes) {
    for (std::byte byte : bytes) {
      value_ = (value_ ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
    }
  }
  void add(std::string_view text) {
    add(std::as_bytes(std::span(text)));
    add(std::as_bytes(std::span("", 1)));  // "ab", "c" is not "a", "bc"
  }
  void add(uint64_t number) { add(std::as_bytes(std::span(&number, 1))); }

  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace hearth
