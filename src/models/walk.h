// The one walk over a model's blocks, and the interface that it calls. Each way of computing a
// model implements BlockBuilder: for the cores it appends ops to a graph (models/core_graph.h). The
// walk does not depend on nodes, groups, phases or devices.
#pragma once

#include <optional>

#include "graph/ops/linear.h"
#include "graph/ops/reduce.h"
#include "models/model_spec.h"

namespace hearth {

class BlockBuilder {
 public:
  virtual ~BlockBuilder() = default;
  // Makes the start of the stream and the first block's input. The input is the norm `before` of
  // the stream. If the embedding has a norm of its own, this norm is both the stream and the input.
  virtual Reduced embed(const EmbeddingBlock& embedding, const std::optional<NormRef>& before) = 0;
  // Returns the result of a block that reads the stream's norms, as partial sums.
  virtual Partials block(uint32_t layer, const Block& block, const Reduced& stream) = 0;
  // The inputs that the next block needs of a join: the norm that it reads (none: the stream
  // itself), the norm that its router reads, and the rows of both.
  struct Next {
    std::optional<NormRef> norm = {}, router = {};
    RowSet rows = RowSet::kTokens;
  };
  // Returns the stream with the block's result joined (BlockNorms in models/blocks.h), and the
  // norms that `next` asks for.
  virtual Reduced join(const Reduced& stream, const Partials& result, const Block& block,
                       const Next& next) = 0;
  // Computes the logits of the step's output rows.
  virtual void logits(const Bundle& input, WeightId head) = 0;
};

void walk_model(const ModelSpec& spec, BlockBuilder& builder);

}  // namespace hearth
