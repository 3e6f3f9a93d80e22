#include "server/sampling_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.h"

namespace hearth {
namespace {

struct FileReader {
  const Metadata& metadata;
  const Listener& listener;

  // Returns the number of this name in the file; nothing where there is none in [low, high].
  std::optional<double> number(std::string_view name, double low, double high) const {
    std::string key = fmt::format("general.sampling.{}", name);
    const MetaValue* value = metadata.find(key);
    if (value == nullptr) return {};
    try {
      bool real = value->type == MetaType::kFloat32 || value->type == MetaType::kFloat64;
      double number =
          real ? *metadata.get<double>(key) : static_cast<double>(*metadata.get<int64_t>(key));
      if (number >= low && number <= high) return number;
      listener.warn(fmt::format("{} in the model file is {}, not between {} and {}, and is ignored",
                                key, number, low, high));
    } catch (const Error& error) {
      listener.warn(fmt::format("{}; it is ignored", error.what()));
    }
    return {};
  }

  void warn_of(std::string_view name) const {
    std::string key = fmt::format("general.sampling.{}", name);
    listener.warn(fmt::format(
        "{} in the model file asks for a sampler that is not supported, and is ignored", key));
  }
};

template <typename T>
void replace(T* target, std::optional<T> value) {
  if (value) *target = *value;
}

void replace(float* target, std::optional<double> value) {
  if (value) *target = static_cast<float>(*value);
}

}  // namespace

SamplingParams openai_sampling() {
  SamplingParams params;
  params.temperature = 1;
  params.top_k = 0;
  params.top_p = 1;
  params.min_p = 0;
  params.penalise_generated = true;
  return params;
}

SamplingParams file_sampling(const Metadata& metadata, const SamplingParams& otherwise,
                             const Listener& listener) {
  constexpr double kMax = std::numeric_limits<int32_t>::max();
  FileReader reader{metadata, listener};
  SamplingParams params = otherwise;
  replace(&params.temperature, reader.number("temp", 0, 100));
  replace(&params.top_p, reader.number("top_p", 0, 1));
  replace(&params.min_p, reader.number("min_p", 0, 1));
  replace(&params.repeat_penalty, reader.number("penalty_repeat", 0.01, 100));
  // A value below 1 means all tokens.
  if (auto top_k = reader.number("top_k", -1, kMax)) {
    params.top_k = static_cast<uint32_t>(std::max(*top_k, 0.0));
  }
  // The value -1 means the whole context.
  if (auto window = reader.number("penalty_last_n", -1, kMax)) {
    params.penalty_window = static_cast<uint32_t>(*window < 0 ? kMax : *window);
  }
  if (reader.number("mirostat", 0, 2).value_or(0) != 0) reader.warn_of("mirostat");
  if (reader.number("xtc_probability", 0, 1).value_or(0) > 0) reader.warn_of("xtc_probability");
  return params;
}

}  // namespace hearth
