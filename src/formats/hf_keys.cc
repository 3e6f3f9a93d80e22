#include "formats/hf_keys.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth {
namespace {

using Kind = HfKey::Kind;

// Returns "a", "a and b", "a, b and c".
std::string list_of(std::span<const HfChoice> choices) {
  std::string list;
  for (size_t i = 0; i < choices.size(); ++i) {
    const char* before = i == 0 ? "" : i + 1 == choices.size() ? " and " : ", ";
    list += fmt::format("{}{}", before, choices[i].text);
  }
  return list;
}

// Reads one key of config.json as its row describes.
class KeyRow {
 public:
  KeyRow(const HfKey& key, const HfReading& reading)
      : key_(key),
        reading_(reading),
        config_(reading.config),
        from_(!key.other_from.empty() && config_.has(key.other_from) ? key.other_from : key.from) {}

  void read() const {
    switch (key_.kind) {
      case Kind::kCount:
        return say_count(count());
      case Kind::kReal:
        return real();
      case Kind::kFlag:
        return flag(config_.flag_or(from_, key_.otherwise.value_or(0) != 0));
      case Kind::kChoice:
        return say_count(choice());
      case Kind::kLeadingDense:
        return say_count(dense_layers());
      case Kind::kSayCount:
        return say_count(otherwise());
      case Kind::kSayFlag:
        return flag(key_.otherwise.value_or(0) != 0);
      default:
        if (!is_run()) fail_unsupported();
    }
  }

 private:
  uint32_t otherwise() const {
    if (key_.otherwise_of == HfValue::kNone)
      return static_cast<uint32_t>(key_.otherwise.value_or(0));
    return static_cast<uint32_t>(reading_.model[key_.otherwise_of]);
  }

  void say_count(std::optional<uint32_t> number) const {
    if (!number) return;
    reading_.model.keep(key_.keep, *number);
    if (key_.to != nullptr) reading_.set(key_.to, *number);
  }
  void flag(bool flag) const {
    reading_.model.keep(key_.keep, flag ? 1 : 0);
    if (key_.to != nullptr) reading_.set(key_.to, flag);
  }
  void real() const {
    std::optional<double> number = config_.real(from_);
    if (!number) number = key_.otherwise;
    if (number) reading_.set(key_.to, static_cast<float>(*number));
  }

  uint32_t most() const {
    if (key_.most_of == HfValue::kNone) return key_.most;
    return static_cast<uint32_t>(reading_.model[key_.most_of]);
  }
  std::optional<uint32_t> count() const {
    if (key_.needed) return config_.need_count(from_, most(), key_.least);
    std::optional<uint32_t> number = config_.count(from_, most(), key_.least);
    if (number || (!key_.otherwise && key_.otherwise_of == HfValue::kNone)) return number;
    return otherwise();
  }

  std::optional<uint32_t> choice() const {
    std::optional<std::string> text = config_.text(from_);
    if (!text && key_.text == nullptr) return std::nullopt;
    const std::string said = text ? *text : key_.text;
    const auto at = std::ranges::find_if(
        key_.choices, [&](const HfChoice& choice) { return said == choice.text; });
    if (at == key_.choices.end()) {
      config_.fail_unsupported(from_, fmt::format("it supports {}", list_of(key_.choices)));
    }
    return at->number;
  }

  uint32_t dense_layers() const {
    constexpr const char* kKinds = "mlp_layer_types";
    const std::optional<std::vector<std::string>> kinds = config_.texts(kKinds);
    if (!kinds) return config_.count_or(from_, otherwise(), most(), 0);
    const auto first = std::ranges::find_if(*kinds, [](auto& kind) { return kind != "dense"; });
    const auto dense = static_cast<uint32_t>(first - kinds->begin());
    const uint64_t layers = reading_.model[HfValue::kLayers];
    if (kinds->size() < layers || dense > layers) {
      config_.refuse(kKinds, fmt::format("the kinds of {} layers", layers));
    }
    if (std::any_of(first, kinds->end(), [](auto& kind) { return kind != "sparse"; })) {
      config_.fail_unsupported(kKinds, "it supports dense layers followed by sparse ones");
    }
    return dense;
  }

  bool is_run() const {
    const boost::json::value* value = config_.find(from_);
    if (value == nullptr || key_.kind == Kind::kMustLack) return value == nullptr;
    switch (key_.kind) {
      case Kind::kMustText:
        return config_.text(from_) == key_.text;
      case Kind::kMustFlag:
        return config_.flag(from_) == (key_.otherwise.value_or(0) != 0);
      case Kind::kMustCount:
        return config_.count(from_, key_.most, key_.least) == otherwise();
      case Kind::kMustReal:
        return config_.real(from_) == key_.otherwise;
      case Kind::kMustEmpty:
        return value->is_array() && value->get_array().empty();
      default:
        return dense_layers() == 0;
    }
  }

  [[noreturn]] void fail_unsupported() const {
    if (key_.known != nullptr) config_.fail_unsupported(from_, key_.known);
    if (key_.kind == Kind::kMustText) {
      config_.fail_unsupported(from_, fmt::format("it supports {}", key_.text));
    }
    if (key_.kind == Kind::kMustFlag) {
      config_.fail_unsupported(from_,
                               fmt::format("it supports {}", key_.otherwise.value_or(0) != 0));
    }
    config_.fail_unsupported(from_, fmt::format("it supports {}", *key_.otherwise));
  }

  const HfKey& key_;
  const HfReading& reading_;
  const ConfigReader& config_;
  const std::string_view from_;
};

}  // namespace

void read_hf_keys(const HfSets<HfKey>& sets, const HfReading& reading) {
  for (std::span<const HfKey> keys : sets) {
    for (const HfKey& key : keys) KeyRow(key, reading).read();
  }
}

}  // namespace hearth
