#include "store/file_digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <bit>
#include <cstring>
#include <new>

#include "base/check.h"

namespace hearth {
namespace {

constexpr uint64_t kOdd = 0xff51afd7ed558ccd;

}  // namespace

FileDigest::FileDigest(DigestKind kind, uint64_t size) : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr) throw std::bad_alloc();
  const EVP_MD* digest = kind == DigestKind::kSha256 ? EVP_sha256() : EVP_sha1();
  HEARTH_CHECK(EVP_DigestInit_ex(context_, digest, nullptr) == 1, "libcrypto has the digest");
  if (kind == DigestKind::kSha256) return;
  const std::string head = fmt::format("blob {}", size);
  add(std::as_bytes(std::span(head.c_str(), head.size() + 1)));
}

FileDigest::~FileDigest() { EVP_MD_CTX_free(context_); }

void FileDigest::add(std::span<const std::byte> bytes) {
  const int added = EVP_DigestUpdate(context_, bytes.data(), bytes.size());
  HEARTH_CHECK(added == 1, "a digest takes bytes");
}

std::string FileDigest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned length = 0;
  const int ended = EVP_DigestFinal_ex(context_, bytes.data(), &length);
  HEARTH_CHECK(ended == 1, "a digest ends once");
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

void BlockSum::add(std::span<const std::byte> bytes) {
  // Each step's words are combined first, so that only one operation depends on the step before.
  auto add_step = [](uint64_t value, const std::byte* step) {
    std::array<uint64_t, kStep / sizeof(uint64_t)> words;
    std::memcpy(words.data(), step, kStep);
    const uint64_t low = words[0] * 0x9e3779b97f4a7c15 + std::rotl(words[1] * kOdd, 31);
    const uint64_t high = words[2] * 0xc2b2ae3d27d4eb4f + std::rotl(words[3] * kOdd, 17);
    const uint64_t mixed = (value ^ (low + std::rotl(high, 23))) * kOdd;
    return mixed ^ (mixed >> 29);
  };
  uint64_t value = value_;
  for (; bytes.size() >= kStep; bytes = bytes.subspan(kStep)) value = add_step(value, bytes.data());
  if (!bytes.empty()) {
    std::array<std::byte, kStep> last{};
    std::memcpy(last.data(), bytes.data(), bytes.size());
    value = add_step(value, last.data());
  }
  value_ = value;
}

}  // namespace hearth
