// Fuzzes the tokenizers of model folders. The first byte chooses the meaning of the input: a
// tokenizer.json; the rest of one after a valid beginning, so that the input's steps win;
// tiktoken.model; or tokenizer_config.json and generation_config.json beside a valid tokenizer.
// Only hearth::Error may be thrown, and a tokenizer's ids lie in its vocabulary.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "formats/hf_source.h"
#include "formats/test_hf_folder.h"
#include "tokenizer/tokenizer.h"

namespace hearth {
namespace {

constexpr std::string_view kConfig = R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4,
    "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 4,
    "max_position_embeddings": 64, "intermediate_size": 4, "vocab_size": 600})";

constexpr std::string_view kAdded = R"("added_tokens": [
    {"id": 12, "content": "<s>", "special": true}, {"id": 13, "content": "ab c", "lstrip": true},
    {"id": 14, "content": "b", "single_word": true, "normalized": true, "special": false}])";

// Returns a valid beginning. The last value of a JSON key counts, so the input may change any.
std::string beginning() {
  return R"({"model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "vocab": {
    "<unk>": 0, "a": 1, "b": 2, "ab": 3, "\u2581": 4, "\u2581a": 5, "<0x0A>": 6, "1": 7, "A": 8,
    " ": 9, "\u00e9": 10, " a": 11}, "merges": ["a b", ["\u2581", "a"], [" ", "a"]]}, )" +
         std::string(kAdded);
}

MappedFile file(std::string_view text, const char* name) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return MappedFile::own({bytes, bytes + text.size()}, name);
}

std::vector<std::byte> weights() {
  SafetensorsWriter writer;
  writer.add("model.norm.weight", {4}, "F32", std::vector<std::byte>(16));
  return writer.finish();
}

void use(const Tokenizer& tokenizer, std::string_view input) {
  constexpr std::array<std::string_view, 4> kTexts = {"aab  A1b\n", "<s> ab c b a\xCC\x81",
                                                      "\xE2\x96\x81"
                                                      "a\xFF\xC3",
                                                      ""};
  for (std::string_view text : {input, kTexts[0], kTexts[1], kTexts[2], kTexts[3]}) {
    try {
      const std::vector<std::pair<size_t, size_t>> untrusted = {{text.size() / 2, text.size()}};
      for (bool trusted : {false, true}) {
        EncodeOptions options{.parse_special = true};
        if (!trusted) options.untrusted = untrusted;
        const std::vector<int32_t> ids = tokenizer.encode(text, options);
        for (int32_t id : ids) {
          HEARTH_CHECK(id >= 0 && static_cast<size_t>(id) < tokenizer.size(), "an id is a token");
        }
        tokenizer.decode(ids);
        tokenizer.decode(ids, true);
      }
    } catch (const Error&) {
      // A text may have characters without a token, and a pattern may exceed its limit.
    }
  }
}

void open(std::vector<MappedFile> files, std::string_view input) {
  files.push_back(file(kConfig, "config.json"));
  files.push_back(MappedFile::own(weights(), "model.safetensors"));
  try {
    const ModelSource source = parse_hf_folder(std::move(files), "folder", test_hf_families());
    use(*Tokenizer::from_source(source), input.substr(0, 512));
  } catch (const Error&) {
    // A text that is not a tokenizer must throw this exception and no other.
  }
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<hearth::MappedFile> files;
  switch (data[0] % 4) {
    case 0:
      files.push_back(hearth::file(text, "tokenizer.json"));
      break;
    case 1:
      files.push_back(hearth::file(text, "tiktoken.model"));
      break;
    case 2:
      files.push_back(hearth::file(hearth::beginning() + "}", "tokenizer.json"));
      files.push_back(hearth::file(text, "tokenizer_config.json"));
      files.push_back(hearth::file(text, "generation_config.json"));
      break;
    default:
      files.push_back(
          hearth::file(hearth::beginning() + ", " + std::string(text) + "}", "tokenizer.json"));
  }
  hearth::open(std::move(files), text);
  return 0;
}
