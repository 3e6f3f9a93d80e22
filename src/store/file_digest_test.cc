#include "store/file_digest.h"

#include <gtest/gtest.h>

#include <span>
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
  // git hash-object
  EXPECT_EQ(digest_of(DigestKind::kGitSha1, "hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(digest_of(DigestKind::kGitSha1, ""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

TEST(BlockSum, GoesOnAndSeesChanges) {
  const std::string_view text = "0123456789abcdefXYZ";
  const auto bytes = std::as_bytes(std::span(text));
  BlockSum whole, parts;
  whole.add(bytes);
  parts.add(bytes.first(8));
  BlockSum later(parts.value());
  later.add(bytes.subspan(8));
  EXPECT_EQ(whole.value(), later.value());
  BlockSum other;
  other.add(std::as_bytes(std::span(std::string_view("0123456789abcdefXYz"))));
  EXPECT_NE(whole.value(), other.value());
}

}  // namespace
}  // namespace hearth
