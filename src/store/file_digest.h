// The digests by which a hub names the bytes of a file: SHA-256 of large ones, and of small ones
// git's SHA-1 of a blob ("blob SIZE", a zero byte, the content). Computed by libcrypto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

struct evp_md_ctx_st;

namespace hearth {

enum class DigestKind : uint8_t { kSha256, kGitSha1 };

class FileDigest {
 public:
  // Begins the digest of a file of `size` bytes.
  FileDigest(DigestKind kind, uint64_t size);
  ~FileDigest();
  FileDigest(const FileDigest&) = delete;
  FileDigest& operator=(const FileDigest&) = delete;

  void add(std::span<const std::byte> bytes);
  // Returns the digest in lower-case hexadecimal digits, and ends it.
  std::string hex();

 private:
  evp_md_ctx_st* context_;
};

// A sum of bytes that tells whether a disk still holds what was written to it, at the speed of
// memory. It goes on from one call to the next; all calls but the last add a multiple of kStep
// bytes.
class BlockSum {
 public:
  static constexpr size_t kStep = 32;
  // Returns how many of so many bytes may be added by any call but the last.
  static uint64_t whole_steps(uint64_t bytes) { return bytes / kStep * kStep; }

  explicit BlockSum(uint64_t value = 0x9e3779b97f4a7c15) : value_(value) {}
  void add(std::span<const std::byte> bytes);
  uint64_t value() const { return value_; }

 private:
  uint64_t value_;
};

}  // namespace hearth
