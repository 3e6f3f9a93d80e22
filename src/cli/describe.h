// Tells for `hearth inspect` what a model file says about itself: read leniently, since it may be
// of an architecture or with tensor types that this version does not know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/model_source.h"
#include "models/layer_text.h"

namespace hearth {

struct TypeTotal {
  std::string type;  // "q4_0"
  uint64_t tensors = 0, elements = 0;
  uint64_t bytes = 0;  // 0 for a type whose size this version does not know
};

// The matrices of one role ("q", "down"), type and pack kind, of all layers and experts.
struct RoleTotal {
  std::string role, type = {};
  uint64_t matrices = 0, elements = 0;
  uint64_t bytes = 0;          // in the file, without scales that are tensors of their own
  uint64_t packed = 0;         // in memory, on one memory node
  std::string packed_as = {};  // the pack kind
};

// A value that the file does not give is none here.
struct ModelDescription {
  std::string architecture, name;  // empty where the file does not say
  bool runs = false;               // whether this version knows the architecture
  // The kind of a model that runs: an encoder gives vectors and no text, or, as a reranker, scores.
  bool encoder = false, reranker = false;
  std::string pooling;  // "mean"; empty where the file does not say
  uint64_t parameters = 0;
  std::vector<TypeTotal> types;    // most bytes first
  std::vector<LayerKind> blocks;   // of one that runs
  std::vector<RoleTotal> roles;    // of one that runs, by role as weights are declared
  std::vector<std::string> notes;  // sentences on how its weights are packed
  std::optional<uint64_t> context, layers, width, ffn, heads, kv_heads, head_dim, vocabulary;
  std::string tokenizer, pre;              // tokenizer.ggml.model and .pre
  std::optional<uint64_t> template_bytes;  // of the chat template
};

ModelDescription describe_model(const ModelSource& file);

// "1.24 B", "260.03 K": a number of parameters for people.
std::string parameters_text(uint64_t parameters);

}  // namespace hearth
