// ModelFacts: facts about a model from its file, for ollama's clients, which show them and choose
// models by what they can do.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/model_source.h"

namespace hearth {

struct ModelFacts {
  std::string architecture;  // "qwen3"; empty where the file does not say
  std::string format;        // "gguf"
  std::string parameters;    // "4.0B"
  std::string quantization;  // "Q4_K_M", or the type of most of its bytes
  // 16 hexadecimal digits that identify the file's contents (no SHA-256): a hash of its metadata
  // and of each tensor's name, type, shape and both ends of its data, as reading all data would
  // take as long as loading.
  std::string digest;
  uint64_t file_bytes = 0;
  uint64_t memory_bytes = 0;  // memory used once loaded; if unknown, the file's size
  // The file's metadata by key, with null for arrays and without long texts. It has
  // general.parameter_count.
  boost::json::object info;
};

ModelFacts make_model_facts(const ModelSource& source);

// Returns a number of parameters as ollama writes it: "4.0B", "751.63M", "260K".
std::string short_parameters(uint64_t parameters);

// Whether the name `asked` means the model `own`: by the same name, by that name with any tag
// ("demo:latest" for demo), or, where `own` has a tag, without it or with ":latest". An empty
// `asked` means every model.
bool ollama_names(std::string_view asked, std::string_view own);
// Returns a model's name as ollama's lists have it, always with a tag.
std::string tagged_name(std::string_view own);

}  // namespace hearth
