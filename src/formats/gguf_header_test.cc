// Tests GGUF headers: magic, version, counts, and files of other formats.
#include <gtest/gtest.h>

#include "formats/gguf_test_bytes.h"
#include "formats/gguf_writer.h"

namespace hearth {
namespace {

std::string error_of_text(std::string_view text) { return parse_error(GgufBytes().raw(text)); }

TEST(GgufHeader, VersionsTwoAndThreeAreRead) {
  for (uint32_t version : {2u, 3u}) {
    GgufBytes bytes;
    ModelSource file = parse_gguf(bytes.header(0, 0, version).bytes(), "m.gguf");
    EXPECT_EQ(file.format_version(), version);
    EXPECT_TRUE(file.tensors().empty());
  }
}

TEST(GgufHeader, OtherVersionsAreNamed) {
  auto error = [](uint32_t version) { return parse_error(GgufBytes().header(0, 0, version)); };
  EXPECT_EQ(
      error(1),
      "'m.gguf' has GGUF version 1, which was replaced in 2023; download or convert the model "
      "again");
  EXPECT_TRUE(says(error(4), "has GGUF version 4, and this program reads 2 and 3"));
  EXPECT_TRUE(says(error(0), "has GGUF version 0"));
  EXPECT_TRUE(says(error(0x03000000), "is a big-endian GGUF file"));
}

TEST(GgufHeader, OtherFormatsAreNamedWithTheWayOut) {
  EXPECT_TRUE(says(error_of_text(std::string("PK\x03\x04 pytorch", 12)), "ZIP archive"));
  EXPECT_TRUE(says(error_of_text("\x80\x02 pickle"), "pickle"));
  EXPECT_TRUE(says(error_of_text("\x1f\x8b gzip"), "gunzip"));
  EXPECT_TRUE(says(error_of_text("tjgg...."), "GGJT"));
  EXPECT_TRUE(says(error_of_text("version https://git-lfs.github.com/spec/v1"), "git lfs pull"));
  EXPECT_TRUE(says(error_of_text("<!DOCTYPE html>"), "web page"));
  EXPECT_TRUE(says(error_of_text("{\"error\": 404}"), "is JSON"));
  EXPECT_TRUE(says(error_of_text("ABCDEFGHIJKL"), "begins with 'ABCD' instead of 'GGUF'"));
  EXPECT_TRUE(says(error_of_text("\x1b[2J"), "begins with '\\x1b[2J'"));
  EXPECT_TRUE(says(error_of_text("G"), "begins with 'G' instead of"));
  GgufBytes safetensors;
  safetensors.str("{\"weight\":{\"dtype\":\"F32\"}}");
  EXPECT_TRUE(says(parse_error(safetensors),
                   "' is a safetensors file; name the folder that it is in, or rename it to end in "
                   ".safetensors"));
}

TEST(GgufHeader, EmptyAndTruncatedFilesSaySo) {
  EXPECT_EQ(parse_error(GgufBytes()), "'m.gguf' is empty; download it again");
  EXPECT_EQ(error_of_text("GGUF\x03"),
            "'m.gguf': the header needs 24 bytes, but the file ends after 5; it is truncated, "
            "download it again");
}

TEST(GgufHeader, CountsThatTheFileCannotHoldAreNamed) {
  std::string keys = parse_error(GgufBytes().header(0, 1));
  EXPECT_EQ(keys,
            "'m.gguf': the number of metadata keys is 1, too many for the 0 bytes that follow; the "
            "file is truncated or corrupt, download it again");
  EXPECT_TRUE(says(parse_error(GgufBytes().header(0, UINT64_MAX)),
                   "the number of metadata keys is 18446744073709551615"));
  EXPECT_TRUE(says(parse_error(GgufBytes().header(UINT64_MAX / 2, 0)), "the number of tensors is"));
}

// Cuts the file of a realistic model at every byte: each prefix is an error, or is read if only
// padding is missing.
TEST(GgufHeader, EveryTruncationIsAnError) {
  GgufWriter writer;
  writer.set("general.architecture", "llama");
  writer.set("tokenizer.ggml.tokens", std::vector<std::string>{"<s>", "", "hello"});
  writer.set("tokenizer.ggml.scores", std::vector<float>{0, -1, -2});
  writer.set("flag", true);
  std::vector<float> values(24, 1.0f);
  writer.add_tensor("a", {4, 6}, values);
  writer.add_tensor("b", {8, 3}, values);
  std::vector<std::byte> bytes = writer.finish();
  ASSERT_EQ(parse_error(bytes), "");
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A separate allocation lets the sanitizers see a read beyond its end.
    std::vector<std::byte> cut(bytes.begin(), bytes.begin() + size);
    std::string error = parse_error(cut);
    EXPECT_EQ(error.empty(), false) << size;
  }
}

}  // namespace
}  // namespace hearth
