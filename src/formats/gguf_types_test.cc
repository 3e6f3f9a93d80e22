#include "formats/gguf_types.h"

#include <gtest/gtest.h>

#include "formats/metadata_types.h"

namespace hearth {
namespace {

TEST(GgufTypes, NumbersMapToTheTypesOfTheFormat) {
  EXPECT_EQ(meta_type_of<bool>(), MetaType::kBool);
  EXPECT_EQ(meta_type_of<uint8_t>(), MetaType::kUint8);
  EXPECT_EQ(meta_type_of<int16_t>(), MetaType::kInt16);
  EXPECT_EQ(meta_type_of<uint32_t>(), MetaType::kUint32);
  EXPECT_EQ(meta_type_of<int64_t>(), MetaType::kInt64);
  EXPECT_EQ(meta_type_of<size_t>(), MetaType::kUint64);
  EXPECT_EQ(meta_type_of<float>(), MetaType::kFloat32);
  EXPECT_EQ(meta_type_of<double>(), MetaType::kFloat64);
}

TEST(GgufTypes, NamesAndSizesFollowTheNumbers) {
  EXPECT_EQ(meta_type_name(static_cast<MetaType>(0)), "uint8");
  EXPECT_EQ(meta_type_name(static_cast<MetaType>(9)), "array");
  EXPECT_EQ(meta_type_name(static_cast<MetaType>(12)), "float64");
  EXPECT_EQ(meta_type_bytes(MetaType::kString), 0u);
  EXPECT_EQ(meta_type_bytes(MetaType::kInt16), 2u);
  EXPECT_EQ(meta_type_bytes(MetaType::kUint64), 8u);
}

// tests/models/types_test.cc checks the numbers against the golden set.
TEST(GgufTypes, TensorTypesHaveNumbersOfTheirOwn) {
  for (DType dtype : gguf_dtypes()) EXPECT_EQ(dtype_of_gguf(gguf_type_of(dtype)), dtype);
  EXPECT_EQ(gguf_dtypes().size(), all_dtypes().size() - 1);  // all but FP8
  EXPECT_EQ(dtype_of_gguf(4), std::nullopt);  // Q4_2, withdrawn from the specification
  EXPECT_EQ(dtype_of_gguf(1000), std::nullopt);
  EXPECT_EQ(dtype_of_gguf(kNoGgufType), std::nullopt);
}

TEST(GgufTypes, BlocksAreKnownOfTypesThatAreNotRead) {
  EXPECT_EQ(gguf_block(8)->bytes, 34u);
  EXPECT_EQ(gguf_block(15)->elements, 256u);
  EXPECT_EQ(gguf_block(15)->bytes, 292u);
  EXPECT_FALSE(gguf_block(4));
  EXPECT_FALSE(gguf_block(144));
  EXPECT_FALSE(gguf_block(4000000000u));
  for (DType dtype : gguf_dtypes()) {
    EXPECT_EQ(gguf_tensor_type_text(gguf_type_of(dtype)), dtype_info(dtype).name);
  }
}

TEST(GgufTypes, TensorTypesAreNamedWhetherReadOrNot) {
  EXPECT_EQ(gguf_tensor_type_text(0), "f32");
  EXPECT_EQ(gguf_tensor_type_text(8), "q8_0");
  EXPECT_EQ(gguf_tensor_type_text(39), "mxfp4");
  EXPECT_EQ(gguf_tensor_type_text(16), "iq2_xxs");
  EXPECT_EQ(gguf_tensor_type_text(9), "q8_1 (type 9)");
  EXPECT_EQ(gguf_tensor_type_text(139), "iq4_k (type 139)");
  EXPECT_EQ(gguf_tensor_type_text(340), "iq5_k_r4 (type 340)");
  EXPECT_EQ(gguf_tensor_type_text(4000000000u), "type 4000000000");
}

TEST(GgufTypes, RefusalsSayWhatToUse) {
  EXPECT_TRUE(gguf_refusal(15).starts_with(
      "it is stored as q8_k (type 15), and this program reads only f32 (0), f16 (1), bf16 (30), "));
  EXPECT_TRUE(gguf_refusal(12345).starts_with("it is stored as type 12345, and this program"));
  EXPECT_EQ(gguf_refusal(144),
            "it is stored as iq4_ks (type 144), a type of ik_llama.cpp's own, which this program "
            "does not read; download the same model in another type, such as a file of Q4_K_M or "
            "IQ4_XS");
}

}  // namespace
}  // namespace hearth
