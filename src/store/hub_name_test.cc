#include "store/hub_name.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace hearth {
namespace {

TEST(HubName, ReadsNamesWithQuantisationAndRevision) {
  HubName name = read_hub_name("unsloth/Qwen3-4B-GGUF");
  EXPECT_EQ(name.id(), "unsloth/Qwen3-4B-GGUF");
  EXPECT_EQ(name.revision, "main");
  EXPECT_EQ(name.quant, "");
  name = read_hub_name("a/b:Q8_0@refs/pr/1");
  EXPECT_EQ(name.quant, "Q8_0");
  EXPECT_EQ(name.revision, "refs/pr/1");
  EXPECT_EQ(read_hub_name("a/b:x/y-Q8_0").quant, "x/y-Q8_0");
}

TEST(HubName, ReadsAddresses) {
  for (const char* text : {"hf.co/a/b:Q4_0", "https://huggingface.co/a/b:Q4_0"}) {
    EXPECT_EQ(read_hub_name(text).quant, "Q4_0") << text;
  }
  const HubName file = read_hub_name("https://huggingface.co/a/b/blob/v2/x/y.gguf?download=true");
  EXPECT_EQ(file.id(), "a/b");
  EXPECT_EQ(file.revision, "v2");
  EXPECT_EQ(file.file, "x/y.gguf");
  EXPECT_EQ(read_hub_name("https://huggingface.co/a/b/tree/dev").revision, "dev");
}

TEST(HubName, RefusesWhatCannotBe) {
  for (const std::string text : {"../x/y",
                                 "../y",
                                 "a/..",
                                 "a/b:..",
                                 "a/b@main/../..",
                                 "a/b@/x",
                                 "a",
                                 "/a/b",
                                 "./a/b",
                                 "a/b/c",
                                 "a/b:",
                                 "a/b@",
                                 "a//b",
                                 "a/b--c",
                                 "-a/b",
                                 "a/b:x//y",
                                 "a/b:../y",
                                 "https://huggingface.co/a",
                                 "https://huggingface.co/a/../b",
                                 "hf.co/a/b/resolve/main/../../x",
                                 ""}) {
    EXPECT_THROW(read_hub_name(text), Error) << text;
  }
  EXPECT_THROW(read_hub_name(std::string("a/b\0c", 5)), Error);
  EXPECT_THROW(read_hub_name("a/" + std::string(10240, 'b')), Error);
}

TEST(HubName, APathIsNoName) {
  for (const char* text : {"model.gguf", "/m/x.gguf", "./a/b", "a/b/c.gguf"}) {
    EXPECT_FALSE(find_hub_name(text)) << text;
  }
}

TEST(HubName, SafePathsStayInTheirFolder) {
  EXPECT_TRUE(is_safe_path("a/b.gguf"));
  for (const std::string path : {"", "/a", "a/", "a//b", "../a", "a/../b", "a/.", "a\\b", "a\nb"}) {
    EXPECT_FALSE(is_safe_path(path)) << path;
  }
  EXPECT_FALSE(is_safe_path(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace hearth
