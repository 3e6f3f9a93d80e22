#include "formats/made_metadata.h"

#include <gtest/gtest.h>

#include "formats/gguf_test_bytes.h"

namespace hearth {
namespace {

TEST(MadeMetadata, ArraysAreReadLikeThoseOfFiles) {
  MadeMetadata made;
  made.set("counts", std::vector<uint32_t>{3, 1, 2});
  made.set("reals", std::vector<float>{0.5f, 2});
  made.set("flags", std::vector<bool>{true, false, true});
  made.set("none", std::vector<bool>{});
  const MadeMetadata moved = std::move(made);
  const Metadata metadata = moved.metadata("m");
  EXPECT_EQ(metadata.get<std::vector<uint32_t>>("counts"), (std::vector<uint32_t>{3, 1, 2}));
  EXPECT_EQ(metadata.get<std::vector<float>>("reals"), (std::vector<float>{0.5f, 2}));
  EXPECT_EQ(metadata.get<std::vector<bool>>("flags"), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(metadata.get<std::vector<bool>>("none"), std::vector<bool>());
  EXPECT_EQ(meta_value_text(*metadata.find("flags")), "[true, false, true]");
}

TEST(MadeMetadata, AValueForEveryLayer) {
  MadeMetadata made;
  made.set("one", 7u);
  made.set("flag", true);
  made.set("each", std::vector<uint32_t>{5, 6, 7});
  const Metadata metadata = made.metadata("m");
  EXPECT_EQ(metadata.of_layer<uint32_t>("missing", 2), std::nullopt);
  EXPECT_EQ(metadata.of_layer<uint32_t>("one", 2), 7u);
  EXPECT_EQ(metadata.of_layer<bool>("flag", 3), true);
  EXPECT_EQ(metadata.of_layer<uint32_t>("each", 1), 6u);
  EXPECT_EQ(file_error([&] { metadata.of_layer<uint32_t>("each", 3); }),
            "'m': metadata key 'each' has values for 3 layers, but none for layer 3; the file is "
            "incomplete, convert the model again");
  EXPECT_NE(file_error([&] { metadata.of_layer<bool>("each", 2); }).find("array of bool"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth
