#include "cli/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/error.h"
#include "formats/lenient.h"
#include "models/registry.h"

namespace hearth {
namespace {

std::vector<TypeTotal> total_types(const ModelSource& file) {
  std::map<std::string, TypeTotal> by_type;
  for (const SourceTensor& tensor : file.tensors()) {
    TypeTotal& total = by_type[tensor.type_text];
    total.type = tensor.type_text;
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

std::string pooling_of(const ModelSource& file, const std::string& prefix) {
  std::optional<uint64_t> pooling = lenient<uint64_t>(file.metadata(), prefix + "pooling_type");
  if (!pooling || *pooling > static_cast<uint64_t>(PoolingType::kRank)) return {};
  return pooling_name(static_cast<PoolingType>(*pooling));
}

std::optional<uint64_t> vocabulary_of(const ModelSource& file, const std::string& prefix) {
  const MetaValue* tokens = file.metadata().find("tokenizer.ggml.tokens");
  if (tokens != nullptr && tokens->is_array()) return tokens->count;
  return lenient<uint64_t>(file.metadata(), prefix + "vocab_size");
}

std::vector<RoleTotal> total_roles(const ModelSpec& spec) {
  std::vector<RoleTotal> totals;
  for (const WeightSpec& weight : spec.weights) {
    if (!weight.is_matrix()) continue;
    const std::string_view type = weight.data->type_text;
    const char* kind = pack_kind_name(weight.packed.kind);
    auto at = std::ranges::find_if(totals, [&](const RoleTotal& total) {
      return total.role == weight.member && total.type == type && total.packed_as == kind;
    });
    if (at == totals.end()) {
      totals.push_back({.role = weight.member, .type = std::string(type), .packed_as = kind});
      at = totals.end() - 1;
    }
    const PackSpec pack = pack_spec_for(weight.packed, weight.rows, weight.k);
    const SourceTensor& data = *weight.data;
    const double share = static_cast<double>(weight.rows) / static_cast<double>(data.rows());
    ++at->matrices;
    at->elements += uint64_t{weight.rows} * weight.k;
    at->bytes += static_cast<uint64_t>(share * static_cast<double>(data.n_bytes()));
    at->packed += pack.codes_bytes() + pack.scales_bytes();
  }
  std::map<std::string, size_t> order;
  for (const RoleTotal& total : totals) order.insert({total.role, order.size()});
  std::ranges::stable_sort(totals, {}, [&](const RoleTotal& total) { return order[total.role]; });
  return totals;
}

// Fills in what the model's spec tells, which is more than the file's keys do. Does nothing if no
// spec can be made.
void read_spec(const ModelSource& file, ModelDescription* model) {
  try {
    const ModelSpec spec = make_spec(file);
    model->encoder = spec.is_encoder();
    model->reranker = spec.is_reranker();
    model->layers = spec.hyper.layers;
    model->blocks = layer_kinds(spec);
    model->notes = spec.notes;
    const bool known = std::ranges::all_of(
        spec.weights, [](const WeightSpec& weight) { return weight.data->type_known; });
    if (known) model->roles = total_roles(spec);
    if (const auto* attention = spec.first<AttentionBlock>()) {
      model->heads = attention->heads;
      model->kv_heads = attention->kv_heads;
      model->head_dim = attention->key_length;
    } else if (const auto* latent = spec.first<LatentBlock>()) {
      model->heads = latent->heads;
      model->kv_heads = 1;
      model->head_dim = latent->key_length;
    }
  } catch (const Error&) {
    // The values that were read from the keys stay.
  }
}

// Reads the common keys that the file has.
void read_keys(const ModelSource& file, ModelDescription* model) {
  auto number = [&](const char* key) {
    return lenient<uint64_t>(file.metadata(), model->architecture + "." + key);
  };
  model->context = number("context_length");
  model->layers = number("block_count");
  model->width = number("embedding_length");
  model->ffn = number("feed_forward_length");
  model->heads = number("attention.head_count");
  model->kv_heads = number("attention.head_count_kv");
  if (!model->kv_heads) model->kv_heads = model->heads;
  model->head_dim = number("attention.key_length");
  if (!model->head_dim && model->width && model->heads.value_or(0) > 0) {
    model->head_dim = *model->width / *model->heads;
  }
}

}  // namespace

ModelDescription describe_model(const ModelSource& file) {
  ModelDescription model;
  model.architecture = lenient<std::string>(file.metadata(), "general.architecture").value_or("");
  model.name = lenient<std::string>(file.metadata(), "general.name").value_or("");
  for (const Architecture& known : all_architectures()) {
    model.runs = model.runs || model.architecture == known.name;
  }
  for (const SourceTensor& tensor : file.tensors()) model.parameters += tensor.n_elements;
  model.types = total_types(file);

  model.vocabulary = vocabulary_of(file, model.architecture + ".");
  model.pooling = pooling_of(file, model.architecture + ".");
  read_keys(file, &model);
  if (model.runs) read_spec(file, &model);
  model.tokenizer = lenient<std::string>(file.metadata(), "tokenizer.ggml.model").value_or("");
  for (const char* document : {"tiktoken.model", "tokenizer.json"}) {
    if (file.find_document(document) != nullptr) model.tokenizer = document;
  }
  model.pre = lenient<std::string>(file.metadata(), "tokenizer.ggml.pre").value_or("");
  try {
    if (auto text = file.chat_template()) model.template_bytes = text->size();
  } catch (const Error&) {
    // A file that is not text is ignored.
  }
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
