#include "formats/hf_rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace hearth {
namespace {

constexpr uint32_t kMostPositions = 1u << 24;

double growth(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

// How much longer queries and keys become, and the logits with its square. GGUF's keys say what is
// left when the usual growth is divided out.
void read_yarn(const ConfigReader& scaling, const HfRope& rope, MadeMetadata& metadata) {
  const double factor = scaling.real_or("factor", 1);
  const double all = scaling.real("mscale_all_dim").value_or(0);
  const double one = scaling.real("mscale").value_or(all != 0 ? all : 1);
  const double length =
      scaling.real_or("attention_factor",
                      all != 0 ? growth(factor, one) / growth(factor, all) : growth(factor, one));
  const std::string keys = rope.prefix + "rope.scaling.";
  metadata.set(keys + "original_context_length",
               scaling.count_or("original_max_position_embeddings", rope.context, kMostPositions));
  for (const char* key : {"beta_fast", "beta_slow"}) {
    if (auto beta = scaling.real(key)) {
      metadata.set(keys + "yarn_" + key, static_cast<float>(*beta));
    }
  }
  if (!scaling.flag_or("truncate", true)) scaling.fail_unsupported("truncate", "it runs true");
  if (rope.scaled_scores && all != 0) {
    if (length != 1) {
      scaling.fail_unsupported("mscale", "it runs an mscale that is equal to mscale_all_dim");
    }
    metadata.set(keys + "yarn_log_multiplier", static_cast<float>(0.1 * all));
  } else if (length != growth(factor, 1)) {
    metadata.set(keys + "attn_factor", static_cast<float>(length / growth(factor, 1)));
  }
}

// Long waves become `factor` times as long, short ones stay, those between are mixed:
// https://github.com/meta-llama/llama-models/blob/main/models/llama3/model.py
std::vector<float> llama3_factors(const ConfigReader& scaling, double base, const HfRope& rope) {
  const double factor = scaling.real_or("factor", 8);
  const double low = scaling.real_or("low_freq_factor", 1);
  const double high = scaling.real_or("high_freq_factor", 4);
  const double context = scaling.count_or("original_max_position_embeddings", 8192, kMostPositions);
  if (high <= low) scaling.refuse("high_freq_factor", "more than low_freq_factor");
  std::vector<float> factors;
  for (uint32_t i = 0; i < rope.length / 2; ++i) {
    const double wave = 2 * std::numbers::pi * std::pow(base, 2.0 * i / rope.length);
    const double mix = std::clamp((context / wave - low) / (high - low), 0.0, 1.0);
    factors.push_back(static_cast<float>(1 / ((1 - mix) / factor + mix)));
  }
  return factors;
}

}  // namespace

std::optional<ConfigReader> rope_object(const ConfigReader& config) {
  std::optional<ConfigReader> rope =
      config.object(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  if (!rope) return std::nullopt;
  const std::vector<std::string> kinds =
      config.texts("layer_types").value_or(std::vector<std::string>());
  const char* found = nullptr;
  for (const char* kind : {"full_attention", "sliding_attention"}) {
    if (!rope->has(kind)) continue;
    if (!kinds.empty() && std::ranges::find(kinds, kind) == kinds.end()) continue;
    if (found != nullptr && *rope->find(kind) != *rope->find(found)) {
      rope->fail_unsupported(kind, "all layers must turn positions alike");
    }
    found = kind;
  }
  return found == nullptr ? rope : rope->object(found);
}

std::vector<float> read_hf_rope(const ConfigReader& config, const HfRope& rope,
                                MadeMetadata& metadata) {
  std::optional<ConfigReader> scaling = rope_object(config);
  const std::optional<double> outer = config.real("rope_theta");
  const std::optional<double> inner = scaling ? scaling->real("rope_theta") : std::nullopt;
  if (outer && inner && *outer != *inner) {
    scaling->refuse("rope_theta", fmt::format("{}, as beside it,", *outer));
  }
  const double base = outer.value_or(inner.value_or(rope.base));
  metadata.set(rope.prefix + "rope.freq_base", static_cast<float>(base));
  if (!scaling) return {};
  const boost::json::value* beta = scaling->find("llama_4_scaling_beta");
  if (beta != nullptr && *beta != 0) {
    scaling->fail_unsupported("llama_4_scaling_beta", "the text would be wrong without it");
  }
  const char* name = scaling->has("rope_type") ? "rope_type" : "type";
  // Readers differ in what they make of a factor alone: one takes none, another ends.
  if (!scaling->has(name) && scaling->has("factor")) {
    scaling->fail_unsupported("rope_type", "with a factor it must be said");
  }
  const std::string type = scaling->text_or(name, "default");
  if (type == "default") return {};
  if (type == "llama3") return llama3_factors(*scaling, base, rope);
  if (type != "linear" && type != "yarn") {
    scaling->fail_unsupported(name, "it runs default, linear, yarn and llama3");
  }
  if (!scaling->has("factor")) scaling->refuse("factor", "a positive number");
  metadata.set(rope.prefix + "rope.scaling.type", type);
  metadata.set(rope.prefix + "rope.scaling.factor",
               static_cast<float>(scaling->real_or("factor", 1)));
  if (type == "yarn") read_yarn(*scaling, rope, metadata);
  return {};
}

}  // namespace hearth
