#include "store/file_digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <bit>
#include <cstring>
#include <new>

#include "base/check.h"

namespace hearth {

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
  uint64_t value = value_;
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t length = bytes.size() < sizeof(word) ? bytes.size() : sizeof(word);
    std::memcpy(&word, bytes.data(), length);
    value = std::rotl(value ^ word, 29) * 0xff51afd7ed558ccd;
    bytes = bytes.subspan(length);
  }
  value_ = value;
}

}  // namespace hearth
