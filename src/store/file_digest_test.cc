#include "store/file_digest.h"

#include <gtest/gtest.h>

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace hearth {
namespace {

std::string digest_of(DigestKind kind, std::string_view text) {
  FileDigest digest(kind, text.size());
  digest.add(std::as_bytes(std::span(text)));
  return digest.hex();
}

TEST(FileDigest, AreThoseOfShaAndGit) {
  EXPECT_EQ(digest_of(DigestKind::kSha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // These are the digests that git hash-object prints.
  EXPECT_EQ(digest_of(DigestKind::kGitSha1, "hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(digest_of(DigestKind::kGitSha1, ""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

TEST(BlockSum, GoesOnAndSeesChanges) {
  std::string text;
  for (char c = 0; c < 3 * static_cast<char>(BlockSum::kStep) + 19; ++c) text += c;
  auto sum_of = [](const std::string& of) {
    BlockSum sum;
    sum.add(std::as_bytes(std::span(of)));
    return sum.value();
  };
  const auto bytes = std::as_bytes(std::span(text));
  for (size_t first = 0; first < bytes.size(); first += BlockSum::kStep) {
    BlockSum parts;
    parts.add(bytes.first(first));
    BlockSum later(parts.value());
    later.add(bytes.subspan(first));
    EXPECT_EQ(sum_of(text), later.value());
  }
  std::set<uint64_t> sums = {sum_of(text)};
  for (size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_TRUE(sums.insert(sum_of(other)).second) << i << ", bit " << bit;
    }
  }
  // Swapping two runs of 32 bytes changes the sum.
  std::string other = text.substr(32, 32) + text.substr(0, 32) + text.substr(64);
  EXPECT_TRUE(sums.insert(sum_of(other)).second);
}

}  // namespace
}  // namespace hearth
