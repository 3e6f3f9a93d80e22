// Tests the tensor table of GGUF files: shapes, types, offsets.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "formats/gguf_test_bytes.h"
#include "formats/gguf_types.h"
#include "formats/gguf_writer.h"

namespace hearth {
namespace {

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ8_0 = 8;

// Returns a file with the one tensor "t" and `data` bytes of data.
GgufBytes one_tensor(const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset,
                     size_t data) {
  return GgufBytes().header(1, 0).tensor("t", dims, type, offset).data(data);
}

TEST(SourceTensor, DataIsFoundWhereTheTableSays) {
  GgufWriter writer;
  std::vector<float> a = {1, 2, 3, 4, 5, 6};
  std::vector<std::byte> b(34 * 4, std::byte{3});
  writer.add_tensor("a", {3, 2}, a);
  writer.add_tensor("b", {64, 2}, DType::kQ8_0, b);
  ModelSource file = parse_gguf(writer.finish(), "m.gguf");
  ASSERT_EQ(file.tensors().size(), 2u);
  const SourceTensor& first = file.require_tensor("a");
  EXPECT_EQ(&first, &file.tensors()[0]);
  EXPECT_EQ(first.dtype, DType::kF32);
  EXPECT_EQ(first.dims, (std::vector<uint64_t>{3, 2}));
  EXPECT_EQ(first.rows(), 2u);
  EXPECT_EQ(first.n_bytes(), 24u);
  EXPECT_EQ(std::memcmp(first.data.data(), a.data(), 24), 0);
  const SourceTensor* second = file.find_tensor("b");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->n_elements, 128u);
  EXPECT_EQ(second->type_text, "q8_0");
  EXPECT_EQ(second->offset, first.offset + 32);
  EXPECT_TRUE(std::equal(b.begin(), b.end(), second->data.begin(), second->data.end()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second->data.data()) % 8, 0u);
  file.release(*second);
}

TEST(SourceTensor, MissingTensorsAreNamed) {
  ModelSource file = parse_gguf(GgufWriter().finish(), "m.gguf");
  EXPECT_EQ(file.find_tensor("output.weight"), nullptr);
  EXPECT_EQ(file_error([&] { file.require_tensor("output.weight"); }),
            "'m.gguf': tensor 'output.weight' is missing; the file is incomplete, download or "
            "convert the model again");
}

TEST(SourceTensor, BadShapesNameTheTensor) {
  EXPECT_EQ(parse_error(one_tensor({8}, kF32, 0, 32)), "");
  EXPECT_EQ(parse_error(one_tensor({8, 1, 1, 1, 1}, kF32, 0, 32)),
            "'m.gguf': tensor 't': the number of dimensions is 5, and 1 to 4 are allowed; the file "
            "is corrupt, download or convert it again");
  GgufBytes none = GgufBytes().header(1, 0).tensor("t", {}, kF32, 0).data(32);
  EXPECT_TRUE(says(parse_error(none), "tensor 't': the number of dimensions is 0"));
  EXPECT_TRUE(
      says(parse_error(one_tensor({8, 0}, kF32, 0, 32)), "tensor 't': one of its dimensions is 0"));
  EXPECT_TRUE(says(parse_error(one_tensor({1ull << 32, 1ull << 32}, kF32, 0, 32)),
                   "tensor 't': its dimensions 4294967296 x 4294967296 multiply to more"));
  EXPECT_TRUE(says(parse_error(one_tensor({1ull << 62, 2}, kF32, 0, 32)), "multiply to more"));
  // The number of elements fits 64 bits, the number of bytes does not.
  EXPECT_TRUE(says(parse_error(one_tensor({1ull << 62}, kF32, 0, 32)),
                   "tensor 't': its more than 2^64 bytes"));
}

TEST(SourceTensor, RowsAreWholeBlocks) {
  EXPECT_EQ(parse_error(one_tensor({32, 3}, kQ8_0, 0, 102)), "");
  EXPECT_EQ(parse_error(one_tensor({48, 2}, kQ8_0, 0, 102)),
            "'m.gguf': tensor 't': its rows have 48 elements, not a multiple of the 32 in a block "
            "of q8_0; the file is corrupt, download or convert it again");
  for (DType dtype : gguf_dtypes()) {
    const DTypeInfo& info = dtype_info(dtype);
    if (info.block_elements == 1) continue;
    const uint64_t k = info.block_elements + 16;
    const std::string error = parse_error(one_tensor({k}, gguf_type_of(dtype), 0, 1024));
    EXPECT_TRUE(says(
        error,
        fmt::format("'t': its rows have {} elements, not a multiple of the {} in a block of {}", k,
                    info.block_elements, info.name)))
        << error;
  }
}

TEST(SourceTensor, UnknownTypesAreNamedWithThoseKnown) {
  std::string error = parse_error(one_tensor({256}, 15, 0, 292));
  EXPECT_TRUE(
      says(error, "tensor 't': it is stored as q8_k (type 15), and this program reads only"));
  EXPECT_TRUE(says(error, "f32 (0), f16 (1), bf16 (30), q4_0 (2)"));
  EXPECT_TRUE(says(parse_error(one_tensor({256}, 12345, 0, 66)), "it is stored as type 12345,"));
  EXPECT_TRUE(says(parse_error(one_tensor({256}, 139, 0, 144)),
                   "tensor 't': it is stored as iq4_k (type 139), a type of ik_llama.cpp's own"));
}

TEST(SourceTensor, UnknownTypesCanBeKept) {
  GgufBytes bytes = one_tensor({256}, 15, 0, 292);
  ModelSource file = parse_gguf(bytes.bytes(), "m.gguf", UnknownTypes::kKeep);
  const SourceTensor& tensor = file.require_tensor("t");
  EXPECT_FALSE(tensor.type_known);
  EXPECT_EQ(tensor.type_text, "q8_k (type 15)");
  EXPECT_EQ(tensor.n_elements, 256u);
  EXPECT_EQ(tensor.n_bytes(), 292u);
  file.release(tensor);
  GgufBytes strange = one_tensor({250}, 12345, 0, 66);
  EXPECT_EQ(parse_gguf(strange.bytes(), "m.gguf", UnknownTypes::kKeep).tensors()[0].n_bytes(), 0u);
  GgufBytes odd = one_tensor({250}, 15, 0, 292);
  EXPECT_TRUE(says(file_error([&] { parse_gguf(odd.bytes(), "m.gguf", UnknownTypes::kKeep); }),
                   "its rows have 250 elements, not a multiple of the 256 in a block of q8_k"));
}

TEST(SourceTensor, OffsetsOutsideTheFileNameTheTensor) {
  EXPECT_EQ(
      parse_error(one_tensor({8}, kF32, 32, 63)),
      "'m.gguf': tensor 't': its 32 bytes at offset 32 of the data end beyond the file, which "
      "has 63 bytes of data; it is truncated or corrupt, download it again");
  EXPECT_EQ(parse_error(one_tensor({8}, kF32, 32, 64)), "");
  EXPECT_TRUE(says(parse_error(one_tensor({8}, kF32, UINT64_MAX - 31, 64)),
                   "tensor 't': its 32 bytes at offset 18446744073709551584"));
  GgufBytes unpadded = GgufBytes().header(1, 0).tensor("t", {8}, kF32, 0);
  EXPECT_TRUE(says(parse_error(unpadded), "which has 0 bytes of data"));
}

TEST(SourceTensor, OffsetsAreAligned) {
  EXPECT_EQ(parse_error(one_tensor({2}, kF32, 8, 64)),
            "'m.gguf': tensor 't': its offset 8 is not a multiple of the alignment 32; the file is "
            "corrupt, download or convert it again");
  GgufBytes eight;
  eight.header(1, 1).str("general.alignment").u32(4).u32(8);
  eight.tensor("t", {2}, kF32, 8).data(16, 8);
  EXPECT_EQ(parse_error(eight), "");
}

TEST(SourceTensor, DataMustNotOverlap) {
  auto two = [](uint64_t offset_a, uint64_t offset_b) {
    return parse_error(GgufBytes()
                           .header(2, 0)
                           .tensor("a", {16}, kF32, offset_a)
                           .tensor("b", {8}, kF32, offset_b)
                           .data(128));
  };
  EXPECT_EQ(two(0, 64), "");
  EXPECT_EQ(two(32, 0), "");  // tensors may lie in any order
  EXPECT_TRUE(says(two(0, 32), "tensor 'b': its data overlaps that of tensor 'a'"));
  EXPECT_TRUE(says(two(0, 0), "overlaps"));
  EXPECT_TRUE(says(two(32, 64), "overlaps"));
}

// Another Q2_0 stores 128 elements in 34 bytes, where this program's Q2_0 takes 36 bytes.
TEST(SourceTensor, Q2_0OfOtherBlocksIsRefusedAsSuch) {
  const uint32_t q2_0 = gguf_type_of(DType::kQ2_0);
  EXPECT_EQ(parse_error(one_tensor({2048}, q2_0, 0, 576)), "");
  EXPECT_TRUE(says(parse_error(one_tensor({2048}, q2_0, 0, 544)),
                   "tensor 't': it has fewer bytes than q2_0 needs"));
  GgufBytes two = GgufBytes().header(2, 0).tensor("a", {2048}, q2_0, 0);
  EXPECT_TRUE(says(parse_error(two.tensor("b", {8}, kF32, 544).data(576)),
                   "tensor 'a': it has fewer bytes than q2_0 needs: the file is truncated, or "
                   "written by PrismML's llama.cpp"));
}

TEST(SourceTensor, NamesThatStandTwiceAreNamed) {
  GgufBytes bytes;
  bytes.header(2, 0).tensor("t", {8}, kF32, 0).tensor("t", {8}, kF32, 32).data(64);
  EXPECT_EQ(parse_error(bytes),
            "'m.gguf': tensor 't' appears twice in the model; download or convert it again");
}

TEST(SourceTensor, TruncatedTablesSayWhichField) {
  // Bytes for three tensors and a count of two, so that the count passes the check against the
  // size.
  GgufBytes bytes;
  bytes.header(2, 0).tensor("a", {1, 1, 1, 1}, kF32, 0).u64(1).raw("b").u32(2).u64(4);
  EXPECT_TRUE(says(parse_error(bytes), "tensor 'b': one of its dimensions needs 8 bytes"));
}

}  // namespace
}  // namespace hearth
