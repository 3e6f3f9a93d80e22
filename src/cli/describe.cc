#include "cli/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/error.h"
#include "models/registry.h"

namespace hearth {
namespace {

// A value of another type than expected, as unknown architectures have, counts as missing.
template <typename T>
std::optional<T> lenient(const GgufFile& file, const std::string& key) {
  try {
    return file.metadata().get<T>(key);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<TypeTotal> total_types(const GgufFile& file) {
  std::map<uint32_t, TypeTotal> by_type;
  for (const GgufTensor& tensor : file.tensors()) {
    TypeTotal& total = by_type[tensor.gguf_type];
    total.type = gguf_tensor_type_text(tensor.gguf_type);
    ++total.tensors;
    total.elements += tensor.n_elements;
    total.bytes += tensor.n_bytes();
  }
  std::vector<TypeTotal> totals;
  for (auto& [type, total] : by_type) totals.push_back(std::move(total));
  std::stable_sort(totals.begin(), totals.end(),
                   [](const TypeTotal& a, const TypeTotal& b) { return a.bytes > b.bytes; });
  return totals;
}

std::optional<uint64_t> vocabulary_of(const GgufFile& file, const std::string& prefix) {
  const GgufValue* tokens = file.metadata().find("tokenizer.ggml.tokens");
  if (tokens != nullptr && tokens->is_array()) return tokens->count;
  return lenient<uint64_t>(file, prefix + "vocab_size");
}

}  // namespace

ModelDescription describe_model(const GgufFile& file) {
  ModelDescription model;
  model.architecture = lenient<std::string>(file, "general.architecture").value_or("");
  model.name = lenient<std::string>(file, "general.name").value_or("");
  for (const Architecture& known : all_architectures()) {
    model.runs = model.runs || model.architecture == known.name;
  }
  for (const GgufTensor& tensor : file.tensors()) model.parameters += tensor.n_elements;
  model.types = total_types(file);

  std::string prefix = model.architecture + ".";
  auto number = [&](const char* key) { return lenient<uint64_t>(file, prefix + key); };
  model.context = number("context_length");
  model.layers = number("block_count");
  model.width = number("embedding_length");
  model.ffn = number("feed_forward_length");
  model.heads = number("attention.head_count");
  model.kv_heads = number("attention.head_count_kv");
  if (!model.kv_heads) model.kv_heads = model.heads;
  model.head_dim = number("attention.key_length");
  if (!model.head_dim && model.width && model.heads.value_or(0) > 0) {
    model.head_dim = *model.width / *model.heads;
  }
  model.vocabulary = vocabulary_of(file, prefix);
  model.tokenizer = lenient<std::string>(file, "tokenizer.ggml.model").value_or("");
  model.pre = lenient<std::string>(file, "tokenizer.ggml.pre").value_or("");
  return model;
}

std::string parameters_text(uint64_t parameters) {
  auto value = static_cast<double>(parameters);
  if (value >= 1e12) return fmt::format("{:.2f} T", value / 1e12);
  if (value >= 1e9) return fmt::format("{:.2f} B", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.2f} K", value / 1e3);
  return fmt::format("{}", parameters);
}

}  // namespace hearth
