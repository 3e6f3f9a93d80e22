// ModelFacts: what a model's file says of it, as far as clients ask: those of ollama, which show
// models to people and choose by what they can do.
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
  // 16 hexadecimal digits that stand for the file's contents, no SHA-256. Only both ends of each
  // tensor's data count, since reading all of it would take as long as loading.
  std::string digest;
  uint64_t file_bytes = 0;
  uint64_t memory_bytes = 0;  // that it takes here; the file's where nobody counts them
  // The metadata by its keys, but for long texts; null stands for arrays. With
  // general.parameter_count.
  boost::json::object info;
};

ModelFacts make_model_facts(const ModelSource& source);

// "4.0B", "751.63M", "260K": a number of parameters as ollama writes it.
std::string short_parameters(uint64_t parameters);

// Whether who asks for `asked` means the model that is called `own`: by that name, by that name and
// any tag ("demo:latest" for demo), or, where it has a tag itself, without one or by ":latest".
// Nothing asked means every model.
bool ollama_names(std::string_view asked, std::string_view own);
// The name by which lists have it: with a tag.
std::string tagged_name(std::string_view own);

}  // namespace hearth
