// What a tensor of a Hugging Face model is, by its name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

struct HfName {
  enum class Kind {
    kPlain,        // `gguf` is its name
    kQueryOrKey,   // the same, whose heads may be stored as halves
    kExpert,       // one of a layer's experts; `gguf` is the name of all of them
    kLatentPair,   // kv_b_proj: keys and values from the latent vector
    kFrequencies,  // what hyper-parameters say as well
    // Of encoders:
    kPositions,  // the table of positions, whose first rows may be of none
    kGateAndUp,  // an FFN's gate, and below it what it gates; `gguf` is the latter's name
    kUpAndGate,  // the other way round
    kLeftOut,    // of a head or a pooler that gives no vectors
    kUnknown,
  };
  Kind kind = Kind::kUnknown;
  std::string gguf;
  std::optional<uint32_t> layer;
  uint32_t expert = 0;
  bool keys = false;  // of kQueryOrKey: the keys
};

// `architecture` by GGUF's name. Names begin with "model." or, as a base model that was saved by
// itself has them, with what stands behind it.
HfName parse_hf_name(std::string_view name, std::string_view architecture);
// The same of an encoder (formats/hf_encoder_names.cc).
HfName parse_hf_encoder_name(std::string_view name);

// A number in front of a dot, without zeros before it; takes both off.
std::optional<uint32_t> take_number(std::string_view* name);
bool take_prefix(std::string_view* name, std::string_view prefix);

}  // namespace hearth
