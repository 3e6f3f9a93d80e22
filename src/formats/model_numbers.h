// Limits on the numbers that a model may state, which the readers of all formats share, and the
// numbers that values of GGUF's keys stand for.
#pragma once

#include <cstdint>

namespace hearth {

struct ModelMost {
  static constexpr uint32_t kLayers = 1024, kWidth = 1u << 17, kFfn = 1u << 20, kHeads = 1024,
                            kLength = 1u << 14, kContext = 1u << 24, kVocabulary = 1u << 24,
                            kExperts = 1u << 14;
};

// Values of expert_gating_func: how scores of experts become weights.
struct GgufGating {
  static constexpr uint32_t kSoftmax = 1, kSigmoid = 2, kSoftmaxOfChosen = 3;
};

// Values of pooling_type, how a text's hidden states become one vector: not stated, their mean, the
// first one, the last one, or a score of how well two texts fit (of rerankers).
enum class PoolingType : uint8_t { kNone, kMean, kCls, kLast, kRank };
constexpr uint32_t gguf_number(PoolingType pooling) { return static_cast<uint32_t>(pooling); }

}  // namespace hearth
