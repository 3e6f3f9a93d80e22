// Writes the seed corpus of the GGUF fuzzer into a folder. The seeds are small valid files that
// together have every type of value and of tensor, and a split model.
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_types.h"
#include "formats/gguf_writer.h"

namespace {

using hearth::DType;
using hearth::GgufWriter;

GgufWriter all_values() {
  GgufWriter writer;
  writer.set("u8", uint8_t{200});
  writer.set("i8", int8_t{-2});
  writer.set("u16", uint16_t{60000});
  writer.set("i16", int16_t{-3});
  writer.set("u32", 4000000000u);
  writer.set("i32", -4);
  writer.set("u64", std::numeric_limits<uint64_t>::max());
  writer.set("i64", std::numeric_limits<int64_t>::min());
  writer.set("f32", 1e-5f);
  writer.set("f64", 1e300);
  writer.set("bool", true);
  writer.set("string", "h\xc3\xa4user \x1b[0m");
  writer.set("bools", std::vector<bool>{true, false});
  writer.set("u8s", std::vector<uint8_t>{1, 2, 3});
  writer.set("i64s", std::vector<int64_t>{-1, 1});
  writer.set("f64s", std::vector<double>{0.5});
  writer.set("strings", std::vector<std::string>{"", "a", "bc"});
  return writer;
}

GgufWriter tiny_model() {
  GgufWriter writer;
  writer.set("general.architecture", "llama");
  writer.set("general.alignment", 64u);
  writer.set("llama.block_count", 1u);
  writer.set("llama.attention.head_count", 2u);
  writer.set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  writer.set("tokenizer.ggml.model", "llama");
  writer.set("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "</s>", "a"});
  writer.set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -1});
  writer.set("tokenizer.ggml.token_type", std::vector<int32_t>{2, 3, 3, 1});
  std::vector<float> values(32, 0.25f);
  writer.add_tensor("token_embd.weight", {8, 4}, values);
  writer.add_tensor("output_norm.weight", {8}, std::span(values).first(8));
  return writer;
}

GgufWriter all_types() {
  GgufWriter writer(2);
  for (hearth::DType dtype : hearth::gguf_dtypes()) {
    const hearth::DTypeInfo& info = hearth::dtype_info(dtype);
    std::vector<std::byte> bytes(info.block_bytes, std::byte{0x21});
    writer.add_tensor(info.name, {info.block_elements, 1}, dtype, bytes);
  }
  return writer;
}

std::vector<std::byte> split_model() {
  std::vector<std::byte> all;
  for (uint16_t i = 0; i < 2; ++i) {
    GgufWriter writer;
    writer.set("split.no", i);
    writer.set("split.count", uint16_t{2});
    writer.set("split.tensors.count", 2);
    std::vector<float> values(4, i);
    writer.add_tensor(i == 0 ? "a" : "b", {2, 1, 1, 2}, values);
    std::vector<std::byte> part = writer.finish();
    if (i > 0) {
      for (char c : std::string_view("=PART=")) all.push_back(static_cast<std::byte>(c));
    }
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

void save(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: gguf_seeds <folder>\n", stderr);
    return 2;
  }
  std::string folder = argv[1];
  save(folder + "/empty.gguf", GgufWriter().finish());
  save(folder + "/values.gguf", all_values().finish());
  save(folder + "/model.gguf", tiny_model().finish());
  save(folder + "/types.gguf", all_types().finish());
  save(folder + "/split.gguf", split_model());
  return 0;
}
