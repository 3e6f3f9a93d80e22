#include "bench/matrix_shapes.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/gguf_writer.h"

namespace hearth {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
const WeightType kF32 = weight_type(DType::kF32), kBF16 = weight_type(DType::kBF16),
                 kQ8_0 = weight_type(DType::kQ8_0), kQ4_0 = weight_type(DType::kQ4_0);

class FileOfShapes {
 public:
  FileOfShapes() { writer_.set("general.architecture", "llama"); }
  FileOfShapes& add(std::string_view name, std::vector<uint64_t> dims, DType type = DType::kF32) {
    uint64_t rows = 1;
    for (size_t i = 1; i < dims.size(); ++i) rows *= dims[i];
    std::vector<std::byte> bytes(rows * row_bytes(type, dims[0]));
    writer_.add_tensor(name, std::move(dims), type, bytes);
    return *this;
  }
  std::vector<MatrixShape> shapes(const std::vector<WeightType>& types = {}) const {
    return matrix_shapes(GgufFile::parse(writer_.finish(), "test.gguf"), types);
  }

 private:
  GgufWriter writer_;
};

FileOfShapes two_layers() {
  FileOfShapes file;
  file.add("token_embd.weight", {64, 100});
  for (std::string layer : {"blk.0.", "blk.1."}) {
    file.add(layer + "ffn_down.weight", {96, 64}, DType::kQ8_0);
    file.add(layer + "attn_q.weight", {64, 64}, DType::kQ4_0);
    file.add(layer + "attn_k.weight", {64, 32}, DType::kQ4_0);
    file.add(layer + "attn_v.weight", {64, 32}, layer == "blk.0." ? DType::kQ8_0 : DType::kQ4_0);
    file.add(layer + "attn_output.weight", {64, 64}, DType::kQ4_0);
    file.add(layer + "ffn_gate.weight", {64, 96}, DType::kQ4_0);
    file.add(layer + "ffn_up.weight", {64, 96}, DType::kQ4_0);
    file.add(layer + "attn_norm.weight", {64});
    file.add(layer + "attn_q.bias", {64});
  }
  return file;
}

TEST(MatrixShapes, EachOnceInTheFilesTypes) {
  EXPECT_EQ(two_layers().shapes(), (std::vector<MatrixShape>{{64, 64, kQ4_0, "q, o"},
                                                             {32, 64, kQ4_0, "k, v"},
                                                             {32, 64, kQ8_0, "v"},
                                                             {96, 64, kQ4_0, "gate, up"},
                                                             {64, 96, kQ8_0, "down"},
                                                             {100, 64, kF32, "head"}}));
}

TEST(MatrixShapes, EachInEveryTypeAskedFor) {
  EXPECT_EQ(two_layers().shapes({kBF16, kQ4_0}),
            (std::vector<MatrixShape>{{64, 64, kBF16, "q, o"},
                                      {64, 64, kQ4_0, "q, o"},
                                      {32, 64, kBF16, "k, v"},
                                      {32, 64, kQ4_0, "k, v"},
                                      {96, 64, kBF16, "gate, up"},
                                      {96, 64, kQ4_0, "gate, up"},
                                      {64, 96, kBF16, "down"},
                                      {64, 96, kQ4_0, "down"},
                                      {100, 64, kBF16, "head"},
                                      {100, 64, kQ4_0, "head"}}));
}

// The table is the head only where no other matrix is.
TEST(MatrixShapes, AHeadOfItsOwn) {
  std::vector<MatrixShape> shapes = two_layers().add("output.weight", {64, 48}).shapes();
  EXPECT_EQ(shapes.back(), (MatrixShape{48, 64, kF32, "head"}));
  EXPECT_EQ(shapes[shapes.size() - 2].roles, "down");
}

TEST(MatrixShapes, RefusesAFileWithoutThem) {
  FileOfShapes other;
  other.add("encoder.weight", {64, 64}).add("blk.0.ffn_gate_inp.weight", {64, 8});
  try {
    other.shapes();
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("test.gguf"), std::string::npos) << error.what();
  }
}

TEST(MatrixShapes, RefusesAMatrixOfAbsurdSize) {
  constexpr uint64_t kK = (1 << 24) + 32;
  EXPECT_THROW(FileOfShapes().add("blk.0.attn_q.weight", {kK, 1}, DType::kQ4_0).shapes(), Error);
  FileOfShapes most;
  most.add("blk.0.attn_q.weight", {kK - 32, 1}, DType::kQ4_0);
  EXPECT_EQ(most.shapes(), (std::vector<MatrixShape>{{1, kK - 32, kQ4_0, "q"}}));
}

TEST(WeightTypes, ThoseOfFilesAndFp8) {
  std::vector<WeightType> types = weight_types();
  EXPECT_EQ(types.size(), all_dtypes().size() + 1);
  EXPECT_EQ(types[static_cast<size_t>(DType::kQ4_1)], (WeightType{"q4_1", PackKind::kI8x32}));
  EXPECT_EQ(types.back(), (WeightType{"fp8", PackKind::kFP8}));
}

TEST(PlanRotation, SoManyCopiesThatTheyFillTheBytes) {
  for (const WeightType& type : weight_types()) {
    for (uint64_t bytes : {kMiB, 7 * kMiB, 100 * kMiB + 1}) {
      Rotation rotation = plan_rotation({1000, 512, type, "q"}, bytes);
      EXPECT_EQ(rotation.spec.kind, type.kind);
      EXPECT_EQ(rotation.spec.rows, 1008u) << "whole panels";
      EXPECT_GE(rotation.copies * rotation.copy_bytes(), bytes) << type.name;
      EXPECT_LT((rotation.copies - 1) * rotation.copy_bytes(), bytes) << type.name;
    }
  }
}

TEST(PlanRotation, OneCopyOfPartOfAVeryLargeMatrix) {
  MatrixShape head = {151936, 2560, kF32, "head"};
  Rotation rotation = plan_rotation(head, kMiB);
  constexpr uint64_t kPanel = 2560 * 4 * kPanelRows;
  EXPECT_EQ(rotation.copies, 1u);
  EXPECT_EQ(rotation.spec.panels(), kWholeMatrix / kPanel + 1);
  // More where more is rotated over, whole panels or not.
  for (uint64_t bytes : {2000 * kPanel, 2000 * kPanel - 64}) {
    rotation = plan_rotation(head, bytes);
    EXPECT_EQ(rotation.copies, 1u);
    EXPECT_EQ(rotation.spec.panels(), 2000u);
  }
  // k is padded to whole blocks.
  EXPECT_EQ(plan_rotation({16, 33, kF32, "q"}, 1).spec.k, 64u);
}

}  // namespace
}  // namespace hearth
