#include "formats/hf_modules.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/printable.h"

namespace hearth {
namespace {

struct Pooling {
  std::string_view flag, name;  // the key of older files, the value of newer ones
  uint32_t type;
};
constexpr std::array<Pooling, 3> kPoolings = {
    {{"pooling_mode_mean_tokens", "mean", gguf_number(PoolingType::kMean)},
     {"pooling_mode_cls_token", "cls", gguf_number(PoolingType::kCls)},
     {"pooling_mode_lasttoken", "lasttoken", gguf_number(PoolingType::kLast)}}};
constexpr const char* kKnown = "it supports one of mean, cls and lasttoken";

uint32_t pooling_of(const ConfigReader& config) {
  constexpr std::string_view kMode = "pooling_mode";
  if (auto name = config.text(kMode)) {
    const auto at = std::ranges::find(kPoolings, std::string_view(*name), &Pooling::name);
    if (at == kPoolings.end()) config.fail_unsupported(kMode, kKnown);
    return at->type;
  }
  uint32_t type = 0;
  for (const Pooling& pooling : kPoolings) {
    if (!config.flag_or(pooling.flag, false)) continue;
    if (type != 0) config.fail_unsupported(pooling.flag, kKnown);
    type = pooling.type;
  }
  for (const char* other : {"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
                            "pooling_mode_weightedmean_tokens"}) {
    if (config.flag_or(other, false)) config.fail_unsupported(other, kKnown);
  }
  if (type == 0)
    config.refuse("pooling_mode_mean_tokens", "true, or another pooling mode must be true");
  return type;
}

}  // namespace

std::string hf_pooling_folder(const MappedFile& modules) {
  const boost::json::value json = read_json_array(modules, kMaxConfigBytes);
  std::string folder;
  for (const boost::json::value& element : json.get_array()) {
    if (!element.is_object()) {
      fail(ErrorCode::kFile, "'{}' has an entry that is not an object; download the file again",
           modules.name());
    }
    const ConfigReader step(element.get_object(), modules.name());
    const std::string type = step.text_or("type", "");
    const std::string kind = type.substr(type.rfind('.') + 1);
    if (kind == "Transformer" || kind == "Normalize") continue;
    if (kind != "Pooling" || !folder.empty()) {
      step.fail_unsupported("type", "it supports Transformer, one Pooling, and Normalize");
    }
    folder = step.text_or("path", "");
    if (folder.empty() || folder.front() == '.' ||
        folder.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      step.refuse("path", "the plain name of a folder next to it");
    }
  }
  return folder;
}

void read_hf_pooling(const MappedFile& file, HfConfig* model) {
  const boost::json::value json = read_json_file(file, kMaxConfigBytes);
  model->keep(HfValue::kPooling, pooling_of(ConfigReader(json.get_object(), file.name())));
}

void read_hf_lengths(const MappedFile& file, HfConfig* model) {
  if (!model->family->encoder) return;
  const boost::json::value json = read_json_file(file, kMaxConfigBytes);
  const ConfigReader config(json.get_object(), file.name());
  const auto context = static_cast<uint32_t>((*model)[HfValue::kContext]);
  model->keep(HfValue::kContext,
              std::min(context, config.count_or("max_seq_length", context, ModelMost::kContext)));
}

}  // namespace hearth
