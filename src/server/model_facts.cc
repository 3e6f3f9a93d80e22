#include "server/model_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/ascii.h"
#include "base/fnv_hash.h"
#include "formats/lenient.h"

namespace hearth {
namespace {

constexpr size_t kEndBytes = 4096;
// The longest text of metadata that is kept: chat templates are longer, names and licences' names
// are not.
constexpr size_t kMaxFactBytes = 256;

// The names of general.file_type by llama.cpp's numbers; they say more than the type of most
// tensors.
constexpr std::array<std::string_view, 33> kFileTypes = {
    "F32",   "F16",     "Q4_0",   "Q4_1",   "",       "",        "",       "Q8_0",   "Q5_0",
    "Q5_1",  "Q2_K",    "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S",  "Q4_K_M", "Q5_K_S", "Q5_K_M",
    "Q6_K",  "IQ2_XXS", "IQ2_XS", "Q2_K_S", "IQ3_XS", "IQ3_XXS", "IQ1_S",  "IQ4_NL", "IQ3_S",
    "IQ3_M", "IQ2_S",   "IQ2_M",  "IQ4_XS", "IQ1_M",  "BF16"};

std::string quantization_of(const ModelSource& source) {
  const auto type = lenient<uint32_t>(source.metadata(), "general.file_type");
  if (type && *type < kFileTypes.size() && !kFileTypes[*type].empty()) {
    return std::string(kFileTypes[*type]);
  }
  std::map<std::string, uint64_t> bytes;
  for (const SourceTensor& tensor : source.tensors()) bytes[tensor.type_text] += tensor.n_bytes();
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; });
  return most == bytes.end() ? "" : ascii_upper(most->first);
}

boost::json::value info_value(const Metadata& metadata, const MetaEntry& entry) {
  switch (entry.value.type) {
    case MetaType::kArray:
      return nullptr;
    case MetaType::kBool:
      return metadata.require<bool>(entry.key);
    case MetaType::kString: {
      const std::string_view text = metadata.require<std::string_view>(entry.key);
      return boost::json::string(text.data(), text.size());
    }
    case MetaType::kFloat32:
    case MetaType::kFloat64:
      return metadata.require<double>(entry.key);
    case MetaType::kUint64:
      return metadata.require<uint64_t>(entry.key);
    default:
      return metadata.require<int64_t>(entry.key);
  }
}

std::string digest_of(const ModelSource& source) {
  FnvHash hash;
  for (const MetaEntry& entry : source.metadata().entries()) {
    hash.add(entry.key);
    hash.add(entry.value.payload);
  }
  for (const SourceTensor& tensor : source.tensors()) {
    hash.add(tensor.name);
    hash.add(tensor.type_text);
    for (uint64_t length : tensor.dims) hash.add(length);
    const size_t end = std::min(kEndBytes, tensor.data.size());
    hash.add(tensor.data.first(end));
    hash.add(tensor.data.last(end));
  }
  return fmt::format("{:016x}", hash.value());
}

// Returns the tag of `name`, the part after its last colon; empty where it has none.
std::string_view tag_of(std::string_view name) {
  const size_t colon = name.rfind(':');
  if (colon == name.npos || name.find('/', colon) != name.npos) return {};
  return name.substr(colon + 1);
}

std::string_view without_tag(std::string_view name) {
  const std::string_view tag = tag_of(name);
  return tag.empty() ? name : name.substr(0, name.size() - tag.size() - 1);
}

}  // namespace

std::string short_parameters(uint64_t parameters) {
  const auto value = static_cast<double>(parameters);
  if (value >= 1e12) return fmt::format("{:.1f}T", value / 1e12);
  if (value >= 1e9) return fmt::format("{:.1f}B", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.2f}M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.0f}K", value / 1e3);
  return fmt::format("{}", parameters);
}

ModelFacts make_model_facts(const ModelSource& source) {
  ModelFacts facts;
  const Metadata& metadata = source.metadata();
  facts.architecture = lenient<std::string>(metadata, "general.architecture").value_or("");
  facts.format = ascii_lower(source.format_name());
  uint64_t parameters = 0;
  for (const SourceTensor& tensor : source.tensors()) parameters += tensor.n_elements;
  facts.parameters = short_parameters(parameters);
  facts.quantization = quantization_of(source);
  facts.digest = digest_of(source);
  facts.file_bytes = facts.memory_bytes = source.file_bytes();
  for (const MetaEntry& entry : metadata.entries()) {
    const bool text = entry.value.type == MetaType::kString;
    if (text && entry.value.payload.size() > kMaxFactBytes) continue;
    facts.info[entry.key] = info_value(metadata, entry);
  }
  facts.info["general.parameter_count"] = parameters;
  return facts;
}

bool ollama_names(std::string_view asked, std::string_view own) {
  if (asked.empty() || asked == own) return true;
  const std::string_view tag = tag_of(asked);
  if (tag_of(own).empty()) return !tag.empty() && without_tag(asked) == own;
  return (tag.empty() || tag == "latest") && without_tag(asked) == without_tag(own);
}

std::string tagged_name(std::string_view own) {
  return std::string(own) + (tag_of(own).empty() ? ":latest" : "");
}

}  // namespace hearth
