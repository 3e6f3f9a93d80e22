#include "models/model_keys.h"

#include <cmath>

namespace hearth {

ModelKeys::ModelKeys(const ModelSource& source)
    : source_(&source),
      prefix_(source.metadata().require<std::string>("general.architecture") + "."),
      read_(std::make_shared<std::set<std::string, std::less<>>>()) {}

ModelKeys ModelKeys::of_layer(uint32_t layer) const {
  ModelKeys keys = *this;
  keys.layer_ = layer;
  return keys;
}

bool ModelKeys::is_per_layer(const char* key) const {
  const MetaValue* value = source_->metadata().find(prefix_ + key);
  return value != nullptr && value->is_array();
}

template <typename T>
std::optional<T> ModelKeys::get(const char* key) const {
  read_->insert(key);
  const Metadata& metadata = source_->metadata();
  return layer_ ? metadata.of_layer<T>(prefix_ + key, *layer_) : metadata.get<T>(prefix_ + key);
}

uint32_t ModelKeys::checked(const char* key, uint32_t value, uint32_t most) const {
  if (value == 0 || value > most) refuse(key, value, fmt::format("1 to {}", most));
  return value;
}

uint32_t ModelKeys::count(const char* key, uint32_t most) const {
  std::optional<uint32_t> value = get<uint32_t>(key);
  if (!value) value = source_->metadata().require<uint32_t>(prefix_ + key);
  return checked(key, *value, most);
}

uint32_t ModelKeys::count_or(const char* key, uint32_t otherwise, uint32_t most) const {
  return checked(key, get<uint32_t>(key).value_or(otherwise), most);
}

uint32_t ModelKeys::number_or(const char* key, uint32_t otherwise) const {
  return get<uint32_t>(key).value_or(otherwise);
}

double ModelKeys::real_or(const char* key, double otherwise) const {
  const double value = get<float>(key).value_or(static_cast<float>(otherwise));
  if (!std::isfinite(value) || value <= 0) refuse(key, value, "a positive number");
  return value;
}

double ModelKeys::need_real(const char* key) const {
  source_->metadata().require<float>(prefix_ + key);
  return real_or(key, 1);
}

double ModelKeys::non_negative_or(const char* key, double otherwise) const {
  const double value = get<float>(key).value_or(static_cast<float>(otherwise));
  if (!std::isfinite(value) || value < 0) refuse(key, value, "a number that is not negative");
  return value;
}

bool ModelKeys::flag_or(const char* key, bool otherwise) const {
  return get<bool>(key).value_or(otherwise);
}

std::string ModelKeys::text_or(const char* key, const char* otherwise) const {
  read_->insert(key);
  return source_->metadata().get<std::string>(prefix_ + key).value_or(otherwise);
}

}  // namespace hearth
