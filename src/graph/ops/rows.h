// Ops that work row by row: the step's start (embedding, RoPE angles), norms, logits. The first
// three deal a step's rows to a group's threads in the same way, so that the thread that norms a
// row also embedded it.
#pragma once

#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/ops/linear.h"
#include "graph/step_view.h"
#include "kernels/kernels.h"
#include "kernels/rope/rope.h"
#include "tensor/weight.h"

namespace hearth {

// Row-cut tables whose rows all have the same width.
struct EmbeddingTables {
  const Weight* token;
  const Weight* position = nullptr;  // learned positions, a row for each; or null
  // Embeddings of the token's type: of the first type, and of the second; or null.
  const VectorWeight *type = nullptr, *second_type = nullptr;
  float scale = 1;  // of the token's row
};

// Fills `row` [width] with scale * token's row + position's row + type's row, added in this order;
// each operation rounds once. `shard` names the copy of a type's row to read. `scratch`: [width].
void embed_row(const EmbeddingTables& tables, const StepView& step, uint32_t r, uint32_t shard,
               const Kernels& kernels, float* row, float* scratch) noexcept;

// Appends embed_row() of each of the step's tokens: f32 [tokens][width].
Bundle embed(GraphBuilder& builder, const EmbeddingTables& tables);

// Returns f32 [tokens][n_rot]: n_rot / 2 cosines, then as many sines, of each token's position.
Bundle rope_angles(GraphBuilder& builder, const RopeTable& table);

// The two kinds of norms (kernels/norm/norm.h).
enum class NormKind : uint8_t { kRms, kLayer };

// A norm's parameters. Without a weight there is no norm: rows stay as they are.
struct NormWeight {
  NormKind kind = NormKind::kRms;
  const VectorWeight* weight = nullptr;
  const VectorWeight* bias = nullptr;  // of a layer norm, or null
  float eps = 0;
};

// Returns the norm of every row, in the formats its readers ask for.
Bundle norm(GraphBuilder& builder, std::string name, const Bundle& x, const NormWeight& by);

// Returns a copy of every row, in the formats its readers ask for.
Bundle copied(GraphBuilder& builder, std::string name, const Bundle& x, uint32_t width);

// Computes the logits of the output rows, with a head that is row-cut. Every group writes its
// columns, each to its shard's part of the step's logits. It also writes the maxima of their
// panels, while they are in the cache of the thread that computed them. With a cap above 0 they are
// capped softly first (kernels/activation/activation.h).
void logits(GraphBuilder& builder, const Bundle& x, const Weight& head, float cap = 0);

}  // namespace hearth
