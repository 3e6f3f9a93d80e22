#include "bench/matrix_shapes.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
const WeightType kF32 = weight_type(DType::kF32), kBF16 = weight_type(DType::kBF16),
                 kQ8_0 = weight_type(DType::kQ8_0), kQ4_0 = weight_type(DType::kQ4_0);

class SpecOfShapes {
 public:
  SpecOfShapes& add(const char* member, int layer, uint32_t rows, uint32_t k,
                    DType type = DType::kF32) {
    spec_.weights.push_back({"", member, layer, rows, k, WeightCut::kRows, 0, 1, type, type});
    return *this;
  }
  SpecOfShapes& add_vector(const char* member, int layer, uint32_t size) {
    add(member, layer, 1, size);
    spec_.weights.back().cut = WeightCut::kVector;
    return *this;
  }
  // Makes the weight that was added last the token table.
  SpecOfShapes& as_table() {
    spec_.embedding.token = last();
    return as_head();
  }
  SpecOfShapes& as_head() {
    spec_.head = last();
    return *this;
  }
  std::vector<MatrixShape> shapes(const std::vector<WeightType>& types = {}) const {
    return matrix_shapes(spec_, types);
  }

 private:
  WeightId last() const { return {static_cast<uint32_t>(spec_.weights.size() - 1)}; }

  ModelSpec spec_;
};

SpecOfShapes two_layers() {
  SpecOfShapes spec;
  spec.add("embedding", -1, 100, 64).as_table();
  for (int layer : {0, 1}) {
    spec.add("q", layer, 64, 64, DType::kQ4_0);
    spec.add("k", layer, 32, 64, DType::kQ4_0);
    spec.add("v", layer, 32, 64, layer == 0 ? DType::kQ8_0 : DType::kQ4_0);
    spec.add("o", layer, 64, 64, DType::kQ4_0);
    spec.add("gate", layer, 96, 64, DType::kQ4_0);
    spec.add("up", layer, 96, 64, DType::kQ4_0);
    spec.add("down", layer, 64, 96, DType::kQ8_0);
    spec.add_vector("attn_norm", layer, 64);
    spec.add_vector("bias", layer, 64);
  }
  return spec;
}

TEST(MatrixShapes, EachOnceInTheSourcesTypes) {
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

// The token table counts as the head only where no other matrix is the head.
TEST(MatrixShapes, UntiedHeadIsListed) {
  std::vector<MatrixShape> shapes = two_layers().add("head", -1, 48, 64).as_head().shapes();
  EXPECT_EQ(shapes.back(), (MatrixShape{48, 64, kF32, "head"}));
  EXPECT_EQ(shapes[shapes.size() - 2].roles, "down");
}

TEST(WeightTypes, ThoseOfFilesAndFp8OfRows) {
  std::vector<WeightType> types = weight_types();
  EXPECT_EQ(types.size(), all_dtypes().size() + 1);
  EXPECT_EQ(types[static_cast<size_t>(DType::kQ4_1)], weight_type(DType::kQ4_1));
  EXPECT_EQ(types[static_cast<size_t>(DType::kF8E4M3)].kind, PackKind::kFP8);
  EXPECT_EQ(types.back().kind, PackKind::kFP8R);
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
  // A rotation over more bytes has more copies, whether the bytes are whole panels or not.
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
