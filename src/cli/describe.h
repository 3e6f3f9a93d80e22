// Collects for `hearth inspect` what a model file states. Unexpected values count as missing, since
// the file may be of an unknown architecture or have unknown tensor types.
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
  uint64_t bytes = 0;  // 0 for a type whose size is unknown
};

// Total size of the matrices of one role ("q", "down"), type and pack kind, over all layers and
// experts.
struct RoleTotal {
  std::string role, type = {};
  uint64_t matrices = 0, elements = 0;
  uint64_t bytes = 0;          // in the file, without scales in separate tensors
  uint64_t packed = 0;         // in memory, on one memory node
  std::string packed_as = {};  // the pack kind
};

// The description of a model; values that the file does not state are empty.
struct ModelDescription {
  std::string architecture, name;  // empty where the file does not say
  bool runs = false;               // whether this version knows the architecture
  // The kind of a model that runs: an encoder gives vectors and no text, or scores if it is a
  // reranker.
  bool encoder = false, reranker = false;
  std::string pooling;  // "mean"; empty where the file does not say
  uint64_t parameters = 0;
  std::vector<TypeTotal> types;    // the type with most bytes first
  std::vector<LayerKind> blocks;   // only of a model that runs
  std::vector<RoleTotal> roles;    // only of a model that runs, in the order of its weights' roles
  std::vector<std::string> notes;  // sentences about how its weights are packed
  std::optional<uint64_t> context, layers, width, ffn, heads, kv_heads, head_dim, vocabulary;
  std::string tokenizer, pre;              // tokenizer.ggml.model and .pre
  std::optional<uint64_t> template_bytes;  // size of the chat template
};

ModelDescription describe_model(const ModelSource& file);

// Returns a number of parameters as text: "1.24 B", "260.03 K".
std::string parameters_text(uint64_t parameters);

}  // namespace hearth
