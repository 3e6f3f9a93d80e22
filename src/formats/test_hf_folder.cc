#include "formats/test_hf_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <fstream>
#include <utility>

#include "base/check.h"
#include "formats/hf_rows.h"
#include "formats/hf_source.h"
#include "formats/source_rows.h"

namespace hearth {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

size_t type_bytes(std::string_view type) {
  if (type.starts_with("F8") || type.ends_with('8')) return 1;
  if (type.ends_with("16")) return 2;
  return type.ends_with("64") ? 8 : 4;
}

constexpr HfKey kTestKeys[] = {
    hf::need("num_hidden_layers", "block_count", hf::kLayers, ModelMost::kLayers),
    hf::need("hidden_size", "embedding_length", hf::kWidth, ModelMost::kWidth),
    hf::need("vocab_size", "vocab_size", hf::kVocabulary, ModelMost::kVocabulary)};
constexpr HfTensor kTestTensors[] = {
    hf::of_model("embed_tokens", "token_embd", hf::kVocabulary, hf::kWidth)};
constexpr HfFamily kTestFamily = {
    .names = {"LlamaForCausalLM"}, .gguf = "llama", .keys = {kTestKeys}, .tensors = {kTestTensors}};
constexpr const HfFamily* kTestFamilies[] = {&kTestFamily};

}  // namespace

HfFamilies test_hf_families() { return kTestFamilies; }

void SafetensorsWriter::add(std::string_view name, const std::vector<uint64_t>& shape,
                            std::string_view type, std::span<const std::byte> bytes) {
  header_ += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                         header_.empty() ? "" : ",", name, type, fmt::join(shape, ","),
                         data_.size(), data_.size() + bytes.size());
  data_.insert(data_.end(), bytes.begin(), bytes.end());
}

std::vector<std::byte> SafetensorsWriter::finish() const {
  std::vector<std::byte> out = file("{" + header_ + "}", 0);
  out.insert(out.end(), data_.begin(), data_.end());
  return out;
}

std::vector<std::byte> SafetensorsWriter::file(std::string_view header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::vector<std::byte> out(sizeof length);
  std::memcpy(out.data(), &length, sizeof length);
  std::vector<std::byte> text = bytes_of(header);
  out.insert(out.end(), text.begin(), text.end());
  out.resize(out.size() + data_bytes);
  return out;
}

void HfFolderWriter::add(std::string_view name, const std::vector<uint64_t>& shape,
                         std::string_view type, std::span<const std::byte> bytes, size_t part) {
  if (parts_.size() <= part) parts_.resize(part + 1);
  parts_[part].add(name, shape, type, bytes);
  index_.emplace_back(name, part);
}

void HfFolderWriter::add_zeros(std::string_view name, const std::vector<uint64_t>& shape,
                               std::string_view type, size_t part) {
  size_t bytes = type_bytes(type);
  for (uint64_t n : shape) bytes *= n;
  add(name, shape, type, std::vector<std::byte>(bytes), part);
}

std::map<std::string, std::vector<std::byte>> HfFolderWriter::files() const {
  std::map<std::string, std::vector<std::byte>> files;
  std::string config;
  for (const auto& [key, value] : config_) {
    config += fmt::format("{}\"{}\": {}", config.empty() ? "" : ",\n", key, value);
  }
  files["config.json"] = bytes_of("{" + config + "}");
  auto name_of = [&](size_t part) {
    if (parts_.size() == 1) return std::string("model.safetensors");
    return fmt::format("model-{:05}-of-{:05}.safetensors", part + 1, parts_.size());
  };
  for (size_t part = 0; part < parts_.size(); ++part) files[name_of(part)] = parts_[part].finish();
  if (parts_.size() > 1) {
    std::string map;
    for (const auto& [tensor, part] : index_) {
      map += fmt::format("{}\"{}\": \"{}\"", map.empty() ? "" : ", ", tensor, name_of(part));
    }
    files["model.safetensors.index.json"] = bytes_of("{\"weight_map\": {" + map + "}}");
  }
  for (const auto& [name, text] : documents_) files[name] = bytes_of(text);
  return files;
}

ModelSource HfFolderWriter::source(UnknownTypes unknown) const {
  std::vector<MappedFile> mapped;
  for (auto& [name, bytes] : files()) mapped.push_back(MappedFile::own(bytes, "folder/" + name));
  return parse_hf_folder(std::move(mapped), "folder", families_, unknown);
}

void HfFolderWriter::save(const std::string& folder) const {
  for (const auto& [name, bytes] : files()) {
    std::ofstream out(folder + "/" + name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    HEARTH_CHECK(out.good(), "the folder can be written to");
  }
}

HfFolderWriter folder_of_vocabulary(uint32_t tokens) {
  HfFolderWriter writer;
  writer.set("architectures", "[\"LlamaForCausalLM\"]");
  for (const auto& [key, value] :
       {std::pair{"hidden_size", 4u}, std::pair{"num_hidden_layers", 1u},
        std::pair{"num_attention_heads", 1u}, std::pair{"num_key_value_heads", 1u},
        std::pair{"head_dim", 4u}, std::pair{"max_position_embeddings", 64u},
        std::pair{"intermediate_size", 4u}, std::pair{"vocab_size", tokens}}) {
    writer.set(key, std::to_string(value));
  }
  writer.add_zeros("model.embed_tokens.weight", {tokens, 4}, "F32");
  return writer;
}

std::vector<float> row_of(const SourceTensor& tensor, uint64_t row) {
  std::vector<std::byte> scratch(scratch_bytes(tensor, DType::kF32) + 16 * 4 * tensor.dims[0]);
  PanelRows rows;
  HEARTH_CHECK(panel_rows(tensor, DType::kF32, row, 1, scratch.data(), &rows), "rows of floats");
  std::vector<float> values(tensor.dims[0]);
  std::memcpy(values.data(), rows[0], values.size() * sizeof(float));
  return values;
}

}  // namespace hearth
