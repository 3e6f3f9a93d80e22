#include "formats/hf_windows.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth {
namespace {

constexpr const char* kLayerTypes = "layer_types";
constexpr const char* kAllOrNone = "it supports a sliding window only in all layers or in none";

std::optional<std::vector<bool>> named_windows(const HfReading& reading) {
  return layers_of_kind(reading, "sliding_attention", "full_attention",
                        "it supports full_attention and sliding_attention");
}

std::optional<uint32_t> window_length(const HfReading& reading) {
  const HfWindows& rules = reading.model.family->windows;
  if (rules.kind == HfWindows::Kind::kNone) return std::nullopt;
  if (rules.use != nullptr && !reading.config.flag_or(rules.use, false)) return std::nullopt;
  std::optional<uint32_t> length = reading.config.count("sliding_window", ModelMost::kContext);
  if (!length && rules.length != 0) length = rules.length;
  return length;
}

// Reads a file that names layers' kinds, for a family in which all layers have a window or none
// has. If the family has no flag for windows, and a window's length is known, all layers must have
// one.
void read_named(const HfReading& reading, const std::vector<bool>& sliding,
                std::optional<uint32_t> length) {
  const HfWindows& rules = reading.model.family->windows;
  const bool some = std::ranges::find(sliding, true) != sliding.end();
  const bool others = std::ranges::find(sliding, false) != sliding.end();
  const bool none_known = rules.kind == HfWindows::Kind::kNone;
  if (some && others && (length || none_known)) {
    reading.config.fail_unsupported(kLayerTypes, kAllOrNone);
  }
  if ((length && rules.use == nullptr && others) || (none_known && some)) {
    reading.config.fail_unsupported(kLayerTypes,
                                    "it contradicts the architecture's sliding windows");
  }
  if (length && some) reading.set("attention.sliding_window", *length);
}

void read_mixed(const HfReading& reading, std::vector<bool> sliding, uint32_t length) {
  if (std::ranges::find(sliding, true) == sliding.end()) return;
  reading.set("attention.sliding_window", length);
  reading.set("attention.sliding_window_pattern", sliding);
}

// Returns which layers have a window by the period, for files that do not name layers' kinds.
std::vector<bool> periodic_windows(const HfReading& reading) {
  const HfWindows& rules = reading.model.family->windows;
  uint32_t period = rules.period;
  if (rules.period_key != nullptr) {
    period = reading.config.count_or(rules.period_key, period, ModelMost::kLayers);
  }
  std::vector<bool> sliding(reading.model[HfValue::kLayers]);
  for (size_t i = 0; i < sliding.size(); ++i) sliding[i] = period == 0 || (i + 1) % period != 0;
  return sliding;
}

}  // namespace

std::optional<std::vector<bool>> layers_of_kind(const HfReading& reading, std::string_view kind,
                                                std::string_view other, const char* runs) {
  const std::optional<std::vector<std::string>> kinds = reading.config.texts(kLayerTypes);
  if (!kinds) return std::nullopt;
  const uint64_t layers = reading.model[HfValue::kLayers];
  if (kinds->size() < layers) {
    reading.config.refuse(kLayerTypes, fmt::format("the kinds of {} layers", layers));
  }
  std::vector<bool> found;
  for (uint64_t layer = 0; layer < layers; ++layer) {
    const std::string& own = (*kinds)[layer];
    found.push_back(own == kind);
    if (!found.back() && own != other) reading.config.fail_unsupported(kLayerTypes, runs);
  }
  return found;
}

std::vector<bool> sliding_layers(const HfReading& reading) {
  std::optional<std::vector<bool>> named = named_windows(reading);
  std::vector<bool> sliding = named ? *std::move(named) : periodic_windows(reading);
  if (reading.model.family->windows.last_full) sliding.back() = false;
  return sliding;
}

void read_hf_windows(const HfReading& reading) {
  const HfWindows& rules = reading.model.family->windows;
  if (rules.kind == HfWindows::Kind::kOwn) return;
  const std::optional<uint32_t> length = window_length(reading);
  if (rules.kind == HfWindows::Kind::kSome) {
    if (length) read_mixed(reading, sliding_layers(reading), *length);
    return;
  }
  const std::optional<std::vector<bool>> named = named_windows(reading);
  if (named) return read_named(reading, *named, length);
  if (!length) return;
  uint32_t first = 0;
  if (rules.first_key != nullptr) {
    first = reading.config.count_or(rules.first_key, rules.first, ModelMost::kLayers, 0);
  }
  if (first >= reading.model[HfValue::kLayers]) return;
  if (first != 0) reading.config.fail_unsupported(rules.first_key, kAllOrNone);
  reading.set("attention.sliding_window", *length);
}

}  // namespace hearth
