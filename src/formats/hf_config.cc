#include "formats/hf_config.h"

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "formats/hf_keys.h"
#include "formats/hf_rope.h"
#include "formats/hf_unread.h"
#include "formats/hf_windows.h"

namespace hearth {
namespace {

constexpr std::string_view kCausal = "ForCausalLM", kBaseModel = "Model";

bool is_named(std::string_view known, std::string_view name) {
  if (name == known) return true;
  if (!known.ends_with(kCausal)) return false;
  const std::string_view stem = known.substr(0, known.size() - kCausal.size());
  return name.size() == stem.size() + kBaseModel.size() && name.starts_with(stem) &&
         name.ends_with(kBaseModel);
}

// Returns the family of the one name in `architectures`.
const HfFamily& family_of(const ConfigReader& config, HfFamilies families) {
  const std::vector<std::string> names =
      config.texts("architectures").value_or(std::vector<std::string>());
  if (names.size() != 1) config.refuse("architectures", "an array of one name");
  std::string known;
  for (const HfFamily* family : families) {
    for (std::string_view name : family->names) {
      if (is_named(name, names[0])) return *family;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
  }
  fail(ErrorCode::kUnsupported,
       "'{}' has the architecture '{}', which this version cannot run from a folder; it runs {}",
       config.file(), printable(names[0]), known);
}

}  // namespace

uint64_t HfConfig::operator[](HfValue value) const {
  const HfConfig& of = *this;
  switch (value) {
    case HfValue::kOne:
      return 1;
    case HfValue::kEvenHead:
      return std::max<uint64_t>(1,
                                of[HfValue::kWidth] / std::max<uint64_t>(1, of[HfValue::kHeads]));
    case HfValue::kFourWidths:
      return 4 * of[HfValue::kWidth];
    case HfValue::kHead:
      return of[HfValue::kTied] == 0;
    case HfValue::kQueryRows:
      return of[HfValue::kHeads] * of[HfValue::kHeadLength];
    case HfValue::kKeyRows:
      return of[HfValue::kKvHeads] * of[HfValue::kHeadLength];
    case HfValue::kNoQueryRank:
      return of[HfValue::kQLoraRank] == 0;
    case HfValue::kLatentKey:
      return of[HfValue::kKvLoraRank] + of[HfValue::kRopeLength];
    case HfValue::kLatentHead:
      return of[HfValue::kNopeLength] + of[HfValue::kRopeLength];
    case HfValue::kLatentPairRows:
      return of[HfValue::kHeads] * (of[HfValue::kNopeLength] + of[HfValue::kValueLength]);
    case HfValue::kLatentValueRows:
      return of[HfValue::kHeads] * of[HfValue::kValueLength];
    case HfValue::kRoutingBias:
      return of[HfValue::kGating] == GgufGating::kSigmoid;
    case HfValue::kSharedFfn:
      return of[HfValue::kSharedExperts] * of[HfValue::kExpertFfn];
    case HfValue::kGatedQueryRows:
      return 2 * of[HfValue::kQueryRows];
    case HfValue::kDeltaMixedRows:
      return (2 * of[HfValue::kDeltaKeys] + of[HfValue::kDeltaValues]) * of[HfValue::kDeltaLength];
    case HfValue::kDeltaValueRows:
      return of[HfValue::kDeltaValues] * of[HfValue::kDeltaLength];
    case HfValue::kDeltaJoinedRows:
      return of[HfValue::kDeltaMixedRows] + of[HfValue::kDeltaValueRows];
    case HfValue::kDeltaGateRows:
      return 2 * of[HfValue::kDeltaValues];
    case HfValue::kThreeWidths:
      return 3 * of[HfValue::kWidth];
    case HfValue::kAllPerLayer:
      return of[HfValue::kLayers] * of[HfValue::kPerLayer];
    case HfValue::kTwoExpertFfns:
      return 2 * of[HfValue::kExpertFfn];
    default:
      return kept[static_cast<size_t>(value)];
  }
}

void HfConfig::keep(HfValue value, uint32_t number) {
  if (value != HfValue::kNone && value != HfValue::kOne) kept[static_cast<size_t>(value)] = number;
}

void HfConfig::keep_layer(uint32_t layer) {
  for (const auto& [value, numbers] : by_layer) keep(value, numbers[layer]);
}

std::string HfConfig::key(std::string_view name) const {
  return fmt::format("{}.{}", family->gguf, name);
}

ConfigReader hf_text_part(const ConfigReader& config, const HfFamily& family) {
  constexpr std::string_view kKey = "text_config";
  return family.text_config && config.has(kKey) ? config.inside(kKey) : config;
}

HfConfig read_hf_config(const ConfigReader& config, HfFamilies families, MadeMetadata& metadata) {
  const HfFamily& family = family_of(config, families);
  const ConfigReader part = hf_text_part(config, family);
  HfConfig model{&family};
  metadata.set("general.architecture", family.gguf);
  // Families of encoders have rows that check these settings.
  if (!family.encoder) {
    model.quant = read_hf_quant(part);
    refuse_unread_keys(part, family);
  }
  const HfReading reading{part, metadata, model};
  read_hf_keys(family.keys, reading);
  if (!family.encoder) {
    read_hf_rope(reading);
    read_hf_windows(reading);
  }
  read_hf_keys(family.more_keys, reading);
  if (family.read != nullptr) family.read(reading);
  return model;
}

void read_generation_config(const ConfigReader& config, MadeMetadata& metadata) {
  struct Key {
    const char* from;
    const char* to;
  };
  constexpr std::array<Key, 4> kReals = {
      {{"temperature", "general.sampling.temp"},
       {"top_p", "general.sampling.top_p"},
       {"min_p", "general.sampling.min_p"},
       {"repetition_penalty", "general.sampling.penalty_repeat"}}};
  // The file's sampling settings are in use only with do_sample.
  const boost::json::value* sampled = config.find("do_sample");
  if (sampled == nullptr || !sampled->is_bool() || !sampled->get_bool()) return;
  for (const Key& key : kReals) {
    const boost::json::value* value = config.find(key.from);
    if (value == nullptr || !value->is_number()) continue;
    metadata.set(key.to, static_cast<float>(value->to_number<double>()));
  }
  const boost::json::value* top_k = config.find("top_k");
  if (top_k != nullptr && top_k->is_int64() && top_k->get_int64() >= 0 &&
      top_k->get_int64() <= ModelMost::kVocabulary) {
    metadata.set("general.sampling.top_k", static_cast<uint32_t>(top_k->get_int64()));
  }
}

}  // namespace hearth
