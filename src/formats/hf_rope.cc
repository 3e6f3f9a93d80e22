#include "formats/hf_rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace hearth {
namespace {

double growth(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

// Reads YaRN's keys. `length` is the factor by which queries and keys grow, so that logits grow by
// its square. GGUF's attn_factor is that factor over growth(factor, 1), which YaRN applies anyway.
void read_yarn(const ConfigReader& scaling, const HfReading& reading) {
  const double factor = scaling.real_or("factor", 1);
  const double all = scaling.real("mscale_all_dim").value_or(0);
  const double one = scaling.real("mscale").value_or(all != 0 ? all : 1);
  const double length =
      scaling.real_or("attention_factor",
                      all != 0 ? growth(factor, one) / growth(factor, all) : growth(factor, one));
  const auto context = static_cast<uint32_t>(reading.model[HfValue::kContext]);
  reading.set("rope.scaling.original_context_length",
              scaling.count_or("original_max_position_embeddings", context, ModelMost::kContext));
  for (const char* key : {"beta_fast", "beta_slow"}) {
    if (auto beta = scaling.real(key)) {
      reading.set(std::string("rope.scaling.yarn_") + key, static_cast<float>(*beta));
    }
  }
  if (!scaling.flag_or("truncate", true)) reading.set("rope.scaling.yarn_truncate", false);
  if (reading.model.family->rope.scaled_scores && all != 0) {
    if (length != 1) {
      scaling.fail_unsupported("mscale", "it supports only an mscale equal to mscale_all_dim");
    }
    reading.set("rope.scaling.yarn_log_multiplier", static_cast<float>(0.1 * all));
  } else if (length != growth(factor, 1)) {
    reading.set("rope.scaling.attn_factor", static_cast<float>(length / growth(factor, 1)));
  }
}

// Returns llama3's factors: long wavelengths grow by `factor`, short ones stay, those between are
// interpolated: https://github.com/meta-llama/llama-models/blob/main/models/llama3/model.py
std::vector<float> llama3_factors(const ConfigReader& scaling, double base, uint32_t length) {
  const double factor = scaling.real_or("factor", 8);
  const double low = scaling.real_or("low_freq_factor", 1);
  const double high = scaling.real_or("high_freq_factor", 4);
  const double context =
      scaling.count_or("original_max_position_embeddings", 8192, ModelMost::kContext);
  if (high <= low) scaling.refuse("high_freq_factor", "more than low_freq_factor");
  std::vector<float> factors;
  for (uint32_t i = 0; i < length / 2; ++i) {
    const double wave = 2 * std::numbers::pi * std::pow(base, 2.0 * i / length);
    const double mix = std::clamp((context / wave - low) / (high - low), 0.0, 1.0);
    factors.push_back(static_cast<float>(1 / ((1 - mix) / factor + mix)));
  }
  return factors;
}

double proportional_part(const ConfigReader& scaling) {
  const double part = scaling.real_or("partial_rotary_factor", 1);
  if (part > 1) scaling.refuse("partial_rotary_factor", "at most 1");
  if (scaling.real_or("factor", 1) != 1) scaling.fail_unsupported("factor", "it supports 1");
  return part;
}

// Returns factors with which only the first pairs of a head rotate, a share of `part`, at the
// frequencies of the whole head.
std::vector<float> proportional_factors(double part, uint32_t length) {
  constexpr float kNever = 1e30f;
  std::vector<float> factors(length / 2, kNever);
  const auto rotated_pairs = static_cast<size_t>(part * length / 2);
  std::fill_n(factors.begin(), std::min(rotated_pairs, factors.size()), 1.0f);
  return factors;
}

bool is_proportional(const ConfigReader& settings) {
  return settings.text_or("rope_type", "default") == "proportional";
}

constexpr std::string_view kFull = "full_attention", kSliding = "sliding_attention";

std::optional<ConfigReader> rope_object(const ConfigReader& config) {
  return config.object(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
}

// Returns the object with RoPE's settings. If config.json has an object for each kind of layer,
// returns the object for full attention if layers may differ. Otherwise the objects of all kinds in
// use must be equal, and it returns one of them.
std::optional<ConfigReader> rope_settings(const ConfigReader& config, bool may_differ) {
  std::optional<ConfigReader> rope = rope_object(config);
  if (!rope) return std::nullopt;
  if (may_differ) return rope->has(kFull) ? rope->object(kFull) : rope;
  const std::vector<std::string> kinds =
      config.texts("layer_types").value_or(std::vector<std::string>());
  std::string_view found;
  for (std::string_view kind : {kFull, kSliding}) {
    if (!rope->has(kind)) continue;
    if (!kinds.empty() && std::ranges::find(kinds, kind) == kinds.end()) continue;
    if (!found.empty() && *rope->find(kind) != *rope->find(found)) {
      rope->fail_unsupported(kind, "it supports only models whose layers all use the same RoPE");
    }
    found = kind;
  }
  return found.empty() ? rope : rope->object(found);
}

// Returns how many elements of a head RoPE rotates; a number that a row has set has precedence.
uint32_t read_rope_length(const HfReading& reading, const std::optional<ConfigReader>& settings) {
  const HfRope& rules = reading.model.family->rope;
  if (uint64_t said = reading.model[HfValue::kRopeLength]) return static_cast<uint32_t>(said);
  constexpr const char* kKey = "partial_rotary_factor";
  if (settings ? is_proportional(*settings) : rules.proportional != 0) {
    return static_cast<uint32_t>(reading.model[HfValue::kHeadLength]);
  }
  std::optional<double> part = reading.config.real(kKey);
  if (!part && settings) part = settings->real(kKey);
  if (part.value_or(1) > 1) reading.config.refuse(kKey, "at most 1");
  if (!rules.part_said && part.value_or(1) != 1)
    reading.config.fail_unsupported(kKey, "it supports 1");
  const auto head = static_cast<double>(reading.model[HfValue::kHeadLength]);
  return static_cast<uint32_t>(head * part.value_or(rules.part));
}

double read_base(const HfReading& reading, const std::optional<ConfigReader>& settings) {
  const std::optional<double> outer = reading.config.real("rope_theta");
  const std::optional<double> inner = settings ? settings->real("rope_theta") : std::nullopt;
  if (outer && inner && *outer != *inner) {
    settings->refuse("rope_theta",
                     fmt::format("{}, as rope_theta outside this object says", *outer));
  }
  return outer.value_or(inner.value_or(reading.model.family->rope.base));
}

// Reads the base of layers with a window.
void read_windowed_base(const HfReading& reading) {
  const HfRope& rules = reading.model.family->rope;
  std::optional<double> base = reading.config.real(rules.windowed_key);
  const std::optional<ConfigReader> rope = rope_object(reading.config);
  if (rope && rope->has(kSliding)) {
    const ConfigReader settings = *rope->object(kSliding);
    if (!base) base = settings.real("rope_theta");
    if (settings.text_or("rope_type", "default") != "default") {
      settings.fail_unsupported("rope_type",
                                "it supports only default in layers with a sliding window");
    }
  }
  reading.set("rope.freq_base_swa", static_cast<float>(base.value_or(rules.windowed_base)));
}

void read_scaling(const HfReading& reading, const ConfigReader& settings, double base) {
  const auto n_rot = static_cast<uint32_t>(reading.model[HfValue::kRopeLength]);
  const boost::json::value* beta = settings.find("llama_4_scaling_beta");
  if (beta != nullptr && *beta != 0) {
    settings.fail_unsupported("llama_4_scaling_beta", "ignoring it would make the text wrong");
  }
  const char* name = settings.has("rope_type") ? "rope_type" : "type";
  // Other programs disagree on a factor without a type: some ignore it, some refuse it.
  if (!settings.has(name) && settings.has("factor")) {
    settings.fail_unsupported("rope_type", "with a factor it must be given");
  }
  const std::string type = settings.text_or(name, "default");
  if (type == "default") return;
  if (type == "llama3") {
    reading.model.rope_factors = llama3_factors(settings, base, n_rot);
    return;
  }
  if (type == "proportional") {
    reading.model.rope_factors = proportional_factors(proportional_part(settings), n_rot);
    return;
  }
  if (type != "linear" && type != "yarn") {
    settings.fail_unsupported(name, "it supports default, linear, yarn, llama3 and proportional");
  }
  if (!settings.has("factor")) settings.refuse("factor", "a positive number");
  reading.set("rope.scaling.type", type);
  reading.set("rope.scaling.factor", static_cast<float>(settings.real_or("factor", 1)));
  if (type == "yarn") read_yarn(settings, reading);
}

}  // namespace

void read_hf_rope(const HfReading& reading) {
  const bool may_differ = reading.model.family->rope.windowed_key != nullptr;
  const std::optional<ConfigReader> settings = rope_settings(reading.config, may_differ);
  const uint32_t n_rot = read_rope_length(reading, settings);
  reading.model.keep(HfValue::kRopeLength, n_rot);
  reading.set("rope.dimension_count", n_rot);
  const double base = read_base(reading, settings);
  reading.set("rope.freq_base", static_cast<float>(base));
  if (may_differ) read_windowed_base(reading);
  if (settings) return read_scaling(reading, *settings, base);
  const double part = reading.model.family->rope.proportional;
  if (part != 0) reading.model.rope_factors = proportional_factors(part, n_rot);
}

}  // namespace hearth
