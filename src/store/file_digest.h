// FileDigest: the digest by which a hub names a file's bytes, computed by libcrypto. A large file
// has SHA-256, a small one git's SHA-1 of a blob ("blob SIZE", a zero byte, the content).
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

// BlockSum: a checksum that is computed as fast as memory is read, and that shows whether a disk
// still holds the bytes written to it. It may be computed in several calls; each but the last adds
// a multiple of kStep bytes.
class BlockSum {
 public:
  static constexpr size_t kStep = 32;
  // Returns the largest multiple of kStep that is at most `bytes`.
  static uint64_t whole_steps(uint64_t bytes) { return bytes / kStep * kStep; }

  explicit BlockSum(uint64_t value = 0x9e3779b97f4a7c15) : value_(value) {}
  void add(std::span<const std::byte> bytes);
  uint64_t value() const { return value_; }

 private:
  uint64_t value_;
};

}  // namespace hearth
