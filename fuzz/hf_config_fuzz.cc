// Fuzzes model folders with a hostile config.json. The first byte chooses: the input is the whole
// text, or it follows a valid beginning that names one of the architectures. The tensors are those
// of small models of all architectures at once. Only hearth::Error may be thrown. Rows of tensors
// that are read must lie in the files.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "formats/hf_source.h"
#include "formats/source_rows.h"
#include "formats/test_hf_folder.h"
#include "models/registry.h"
#include "tensor/code_block.h"

namespace hearth {
namespace {

constexpr std::array<const char*, 10> kArchitectures = {
    "LlamaForCausalLM",   "MistralForCausalLM",  "MixtralForCausalLM",    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",   "Qwen3MoeForCausalLM", "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM",
    "Glm4MoeForCausalLM", "GptOssForCausalLM"};

// Returns the beginning of a config with small sizes that fit the tensors. The last value of a JSON
// key counts, so the input may change any.
std::string beginning(const char* architecture) {
  return std::string(R"({"architectures": [")") + architecture + R"("],
    "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
    "head_dim": 8, "max_position_embeddings": 64, "intermediate_size": 24, "vocab_size": 9,
    "num_local_experts": 2, "num_experts": 2, "n_routed_experts": 2, "num_experts_per_tok": 1,
    "moe_intermediate_size": 24, "q_lora_rank": null, "kv_lora_rank": 12, "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4, "v_head_dim": 5, "num_nextn_predict_layers": 1)";
}

// Adds the tensors of a quantised Linear for each layout (HfLayout) that the configuration names. A
// model with tensors of a layout that the configuration does not name is refused.
template <typename Add>
void add_codes(std::string_view config, const Add& add) {
  auto says = [&](std::string_view name) { return config.find(name) != std::string_view::npos; };
  const std::string up = "model.layers.0.mlp.up_proj", down = "model.layers.0.mlp.down_proj";
  if (says("gptq")) {
    add(up + ".qweight", {4, 24}, "I32", 4);
    add(up + ".qzeros", {1, 3}, "I32", 4);
    add(up + ".scales", {1, 24}, "F16", 2);
  }
  if (says("awq")) {
    add(down + ".qweight", {32, 2}, "I32", 4);
    add(down + ".qzeros", {2, 2}, "I32", 4);
    add(down + ".scales", {2, 16}, "BF16", 2);
  }
  if (says("nvfp4-pack")) {
    add(up + ".weight_packed", {24, 16}, "U8", 1);
    add(up + ".weight_scale", {24, 2}, "F8_E4M3", 1);
    add(up + ".weight_global_scale", {1}, "F32", 4);
  }
  if (says("int-quantized")) {
    add(down + ".weight", {16, 24}, "I8", 1);
    add(down + ".weight_scale", {16, 1}, "BF16", 2);
  }
  if (says("mxfp4")) {
    add(down + "_blocks", {2, 16, 1, 16}, "U8", 1);
    add(down + "_scales", {2, 16, 1}, "U8", 1);
  }
  if (says("mxfp4")) {
    const std::string all = "model.layers.0.mlp.experts.";
    add(all + "gate_up_proj_blocks", {2, 48, 1, 16}, "U8", 1);
    add(all + "gate_up_proj_scales", {2, 48, 1}, "U8", 1);
    add(all + "gate_up_proj_bias", {2, 48}, "BF16", 2);
    add(all + "down_proj_bias", {2, 16}, "F32", 4);
  }
  if (says("mxfp8")) {
    add(up + ".weight", {24, 64}, "F8_E4M3", 1);
    add(up + ".weight_scale", {24, 2}, "U8", 1);
  }
}

std::vector<std::byte> weights(std::string_view config) {
  SafetensorsWriter writer;
  auto add = [&](const std::string& name, const std::vector<uint64_t>& shape, const char* type,
                 size_t element) {
    size_t bytes = element;
    for (uint64_t n : shape) bytes *= n;
    writer.add(name, shape, type, std::vector<std::byte>(bytes, std::byte{0x3c}));
  };
  const std::string layer = "model.layers.0.";
  add("model.embed_tokens.weight", {9, 16}, "BF16", 2);
  add("model.norm.weight", {16}, "F32", 4);
  add(layer + "self_attn.q_proj.weight", {16, 16}, "F16", 2);
  add(layer + "self_attn.q_proj.bias", {16}, "BF16", 2);
  add(layer + "self_attn.k_proj.weight", {8, 16}, "F8_E4M3", 1);
  add(layer + "self_attn.k_proj.weight_scale_inv", {1, 1}, "BF16", 2);
  add(layer + "self_attn.kv_b_proj.weight", {22, 12}, "F8_E4M3", 1);
  add(layer + "self_attn.kv_b_proj.weight_scale_inv", {1, 1}, "F32", 4);
  add(layer + "mlp.gate.e_score_correction_bias", {2}, "F32", 4);
  for (const char* expert : {"0", "1"}) {
    add(layer + "mlp.experts." + expert + ".down_proj.weight", {16, 24}, "F32", 4);
    add(layer + "block_sparse_moe.experts." + expert + ".w1.weight", {24, 16}, "BF16", 2);
  }
  add("model.layers.1.eh_proj.weight", {16, 32}, "BF16", 2);
  add_codes(config, add);
  return writer.finish();
}

// Reads every block of codes, as packing does.
void read_codes(const SourceTensor& tensor, const PackedType& type) {
  const uint64_t k = tensor.dims[0];
  for (uint64_t row = 0; row < tensor.rows(); row += kPanelRows) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(16, tensor.rows() - row));
    const CodesReader reader = panel_codes(tensor, type, row, count);
    if (k > kBlock) reader.has_scales(kBlock, k);
    for (uint32_t r = 0; r < count; ++r) {
      CodeBlock block;
      for (uint64_t b = 0; b < k / kBlock; ++b) reader.read(r, b, block);
    }
  }
}

// Reads every row of every tensor, as packing does.
void read_rows(const ModelSource& source) {
  for (const SourceTensor& tensor : source.tensors()) {
    HEARTH_CHECK(source.find_tensor(tensor.name) == &tensor, "a tensor that was listed is found");
    if (!tensor.type_known) continue;
    const PackedType type = packed_type(tensor, 0, tensor.rows(), tensor.rows());
    if (type.code_bits != 0) read_codes(tensor, type);
    const DType as = type.dtype;
    std::vector<float> values(tensor.dims[0]);
    std::vector<std::byte> scratch(scratch_bytes(tensor, as));
    std::vector<float> scales(kPanelRows * (tensor.dims[0] / 128 + 1));
    for (uint64_t row = 0; row < tensor.rows(); row += kPanelRows) {
      const auto count = static_cast<uint32_t>(std::min<uint64_t>(16, tensor.rows() - row));
      PanelRows rows;
      panel_rows(tensor, as, row, count, scratch.data(), &rows);
      if (as == DType::kF8E4M3) panel_scales(tensor, row, count, scales.data());
      for (uint32_t r = 0; r < count; ++r) {
        dequantize_row(as, rows[r], values.size(), values.data());
      }
    }
    source.release(tensor);
  }
}

void open(const std::string& config, UnknownTypes unknown) {
  const auto* bytes = reinterpret_cast<const std::byte*>(config.data());
  std::vector<MappedFile> files;
  files.push_back(MappedFile::own({bytes, bytes + config.size()}, "config.json"));
  files.push_back(MappedFile::own({bytes, bytes + config.size()}, "generation_config.json"));
  files.push_back(MappedFile::own(weights(config), "model.safetensors"));
  try {
    const ModelSource source =
        parse_hf_folder(std::move(files), "folder", all_hf_families(), unknown);
    for (const MetaEntry& entry : source.metadata().entries()) meta_value_text(entry.value);
    read_rows(source);
  } catch (const Error&) {
    // A folder that is not a model must throw this exception and no other.
  }
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t choice = data[0] % (hearth::kArchitectures.size() + 1);
  std::string config = text;
  if (choice < hearth::kArchitectures.size()) {
    config = hearth::beginning(hearth::kArchitectures[choice]) + text + "}";
  }
  hearth::open(config, hearth::UnknownTypes::kRefuse);
  hearth::open(config, hearth::UnknownTypes::kKeep);
  return 0;
}
