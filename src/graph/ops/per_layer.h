// The embeddings that each layer gets for every token beside the residual (Gemma 4): `length`
// elements for each layer l. They are made of a token's row y of products and its row t of a table;
// y and t hold the layers' parts side by side:
//
//   P_l = (rms_norm(y_l * scale) + sqrt(length) t_l) / sqrt(2)
//
// Each operation rounds once. The table stays in its file (formats/file_rows.h), on one node, and a
// row of it is read for each token of a step.
#pragma once

#include <memory>
#include <string>

#include "formats/file_rows.h"
#include "graph/ops/linear.h"
#include "graph/ops/rows.h"

namespace hearth {

// The most elements of a layer's part, and of all layers' parts.
inline constexpr uint32_t kMaxPerLayer = 8192, kMaxPerLayerRow = kOpTileBytes / sizeof(float);

struct PerLayerShape {
  uint32_t layers, length;
  float scale;
  NormWeight norm;  // [length]
};

// Makes the embeddings in place on `products`, whose only part has [layers * length] outputs that
// every group computes. The table may be null in a graph that is never run. Parallel.
void per_layer_inputs(GraphBuilder& builder, std::string name, const LinearOut& products,
                      const PerLayerShape& shape, const std::shared_ptr<const FileRows>& table);

// The columns of a layer in the result of per_layer_inputs(), by group.
struct LayerColumns {
  Bundle bundle;
  std::vector<uint32_t> first;
};
LayerColumns columns_of_layer(const LinearOut& products, uint32_t layer, uint32_t length);

}  // namespace hearth
