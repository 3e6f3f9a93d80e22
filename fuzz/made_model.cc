#include "made_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/fp_types.h"
#include "formats/gguf_types.h"
#include "formats/gguf_writer.h"
#include "formats/test_model.h"
#include "tensor/dtype.h"

namespace hearth {
namespace {

// Bounds on the elements of all matrices together, usual and raised. A larger model is made
// smaller.
constexpr uint64_t kMaxElements = 1u << 13, kEvenMore = 1u << 18;

// The names of all architectures.
constexpr std::array<const char*, 21> kArchitectures = {
    "llama",   "qwen2",    "qwen3",     "bert",      "nomic-bert", "gpt-oss",   "jina-bert-v2",
    "gemma3",  "mistral3", "phi3",      "seed_oss",  "gemma4",     "qwen35",    "lfm2",
    "lfm2moe", "qwen3moe", "qwen35moe", "qwen3next", "minimax-m2", "deepseek2", "glm4moe"};
constexpr std::string_view kSparse[] = {"gpt-oss",   "lfm2moe",    "qwen3moe",  "qwen35moe",
                                        "qwen3next", "minimax-m2", "deepseek2", "glm4moe"};
// Architectures with layers that keep states.
constexpr std::string_view kRecurrent[] = {"qwen35", "qwen35moe", "qwen3next", "lfm2", "lfm2moe"};

bool is_one_of(std::span<const std::string_view> names, std::string_view architecture) {
  return std::ranges::find(names, architecture) != names.end();
}
// Usual numbers come first and more than once. The others include the largest and smallest
// supported.
constexpr std::array<uint32_t, 16> kHeads = {2, 1,  4,  2, 3,  4,  8,   5,
                                             6, 12, 16, 7, 32, 64, 160, 288};
constexpr std::array<uint32_t, 8> kGroups = {1, 2, 1, 4, 3, 8, 5, 16};
constexpr std::array<uint32_t, 16> kLengths = {16, 32, 64,  8,   20,  2,   40,  16,
                                               32, 48, 128, 256, 100, 511, 512, 513};
constexpr std::array<uint32_t, 16> kWidths = {32, 64, 96, 32,  64,  256, 33,  20,
                                              1,  48, 31, 128, 512, 160, 320, 288};
constexpr std::array<uint32_t, 8> kTables = {16, 17, 40, 1, 64, 5, 33, 100};
constexpr std::array<const char*, 6> kScalings = {"none", "linear", "yarn", "longrope", "", "su"};
constexpr std::array<float, 16> kReals = {1,     0.5f,  2,      10000, 8,  1e-5f, 32,       1e6f,
                                          1e-3f, 1e30f, 1e-30f, 0,     -1, NAN,   INFINITY, 4};

struct Shape {
  uint32_t layers = 1, heads = 1, kv_heads = 1, key = 16, value = 16, width = 32, ffn = 32;
  uint32_t vocabulary = 16;
  uint32_t context = 512, types = 0;
  bool table = false;  // has a table of positions
  uint32_t experts = 0, chosen = 1, shared = 0, dense = 0;
  uint32_t window = 0;  // of gpt-oss and gemma4; positions

  uint64_t elements() const {
    uint64_t attention = uint64_t{width} * (heads + kv_heads) * (key + value);
    uint64_t tables = uint64_t{2} * vocabulary + types + (table ? context : 0);
    const uint64_t matrices = 3 * (std::max(1u, experts) + shared);
    return layers * (attention + matrices * width * ffn) + tables * width;
  }
};

// Halves the largest size of the shape.
void shrink(Shape& shape) {
  uint32_t* sizes[] = {&shape.width, &shape.ffn, &shape.vocabulary, &shape.key, &shape.value};
  uint32_t* largest = *std::max_element(std::begin(sizes), std::end(sizes),
                                        [](auto* a, auto* b) { return *a < *b; });
  if (shape.kv_heads % 2 == 0 && shape.heads > *largest / 4) {
    shape.heads /= 2;
    shape.kv_heads /= 2;
  } else {
    *largest = (*largest + 1) / 2;
  }
}

// The numbers of positions in the tables that encoders add.
constexpr std::array<uint32_t, 8> kContexts = {16, 64, 17, 40, 2, 5, 1, 200};

Shape choose_shape(Choices& choices, std::string_view architecture) {
  Shape shape;
  if (architecture.ends_with("bert") || architecture.starts_with("jina")) {
    shape.context = choices.of(kContexts);
    shape.types = choices.byte() % 3;
    shape.table = architecture == "bert";
  }
  shape.layers = 1 + choices.byte() % 2;
  const bool gemma4 = architecture == "gemma4";
  if (is_one_of(kSparse, architecture) || (gemma4 && choices.once_in(2))) {
    shape.experts = 1 + choices.byte() % 8;
    shape.chosen = 1 + choices.byte() % shape.experts;
  }
  if (architecture == "deepseek2" || architecture == "glm4moe" || architecture == "lfm2moe") {
    shape.dense = choices.byte() % (shape.layers + 1);
  }
  if (shape.experts > 0 && architecture != "gpt-oss" && !gemma4) shape.shared = choices.byte() % 2;
  if (architecture == "gpt-oss" || gemma4) shape.window = 1 + choices.byte() % 80;
  if (gemma4) shape.layers = 2;
  // One of the two layers keeps states.
  if (is_one_of(kRecurrent, architecture)) shape.layers = 2;
  uint32_t group = choices.of(kGroups);
  shape.heads = choices.of(kHeads);
  shape.kv_heads = shape.heads % group == 0 ? shape.heads / group : shape.heads;
  shape.key = choices.of(kLengths);
  shape.value = choices.once_in(4) ? choices.of(kLengths) : shape.key;
  shape.width = choices.of(kWidths);
  shape.ffn = choices.of(kWidths);
  shape.vocabulary = choices.of(kTables);
  uint64_t most = choices.once_in(16) ? kEvenMore : kMaxElements;
  while (shape.elements() > most) shrink(shape);
  return shape;
}

// A random number generator whose seeding costs nothing.
class Noise {
 public:
  explicit Noise(uint32_t seed) : state_(seed | uint64_t{1} << 32) {}
  uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>(state_ >> 16);
  }
  // Returns a number from -1 to 1.
  float real() { return static_cast<float>(next()) * 0x1p-31f - 1; }

 private:
  uint64_t state_;
};

void put(std::vector<std::byte>& bytes, size_t at, const void* value, size_t size) {
  std::memcpy(bytes.data() + at, value, size);
}

// Returns rows of any type whose values are about `size`, with both signs.
std::vector<std::byte> make_rows(DType type, uint64_t rows, uint64_t k, float size, Noise& noise) {
  const DTypeInfo& info = dtype_info(type);
  std::vector<std::byte> bytes(rows * row_bytes(type, k));
  if (info.block_elements == 1) {
    for (size_t i = 0; i < rows * k; ++i) {
      float value = size * noise.real();
      uint16_t half = type == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
      if (type == DType::kF32) {
        put(bytes, i * 4, &value, 4);
      } else {
        put(bytes, i * 2, &half, 2);
      }
    }
    return bytes;
  }
  for (std::byte& b : bytes) b = static_cast<std::byte>(noise.next());
  for (size_t block = 0; block < bytes.size(); block += info.block_bytes) {
    // Scales are powers of two from about size / 2048, since codes and the scales of sub-blocks are
    // large.
    int exponent = std::ilogb(size) - 7 - static_cast<int>(noise.next() % 4);
    for (const BlockScale& scale : info.scales) {
      if (scale.form == ScaleForm::kE8M0) {
        bytes[block + scale.offset] = static_cast<std::byte>(127 + exponent);
      } else if (scale.form == ScaleForm::kE4M3) {
        bytes[block + scale.offset] =
            static_cast<std::byte>(std::clamp((exponent + 7) * 8, 1, 112));
      } else if (scale.form == ScaleForm::kF16) {
        f16_t half = f32_to_f16(std::ldexp(1.0f, std::max(exponent, -24)));
        put(bytes, block + scale.offset, &half, 2);
      }
    }
  }
  return bytes;
}

class Maker {
 public:
  explicit Maker(Choices& choices) : choices_(choices) {}

  MadeModel make() {
    architecture_ = choices_.of(kArchitectures);
    shape_ = choose_shape(choices_, architecture_);
    noise_ = Noise(choices_.byte());
    model_.vocabulary = shape_.vocabulary;
    model_.layers = shape_.layers;
    damage_ = choices_.once_in(8);
    wild_ = choices_.once_in(4);
    TestSource source = choose_source();
    writer_ = source.keys();
    if (encoder()) set_encoder_keys();
    if (is("gemma4")) set_gemma_keys();
    if (choices_.once_in(2)) set_others();
    if (choices_.once_in(8)) source.add("rope_freqs.weight", {std::max(1u, shape_.key / 2)});
    add_tensors(source);
    if (damage_) damage_keys();
    model_.file = writer_.finish();
    if (damage_) damage_bytes();
    // Activations that are rounded differently may choose other experts.
    const bool chooses = model_.bf16 && shape_.chosen < shape_.experts;
    model_.tame = !damage_ && !wild_ && !strange_ && !chooses;
    return std::move(model_);
  }

 private:
  std::string key(const char* name) const { return std::string(architecture_) + "." + name; }
  bool is(std::string_view architecture) const { return architecture == architecture_; }
  bool encoder() const { return is("bert") || is("nomic-bert") || is("jina-bert-v2"); }

  // Chooses the place of the gate: in a matrix of its own, above the up matrix, or nowhere.
  LayerForm choose_form() {
    constexpr std::array<UpForm, 3> kForms = {UpForm::kOwnGate, UpForm::kGateAbove,
                                              UpForm::kNoGate};
    if (!is("jina-bert-v2")) return {};
    return {choices_.of(kForms), choices_.once_in(3)};
  }

  ModelDelta choose_delta() {
    ModelDelta delta{.keys = 1u + choices_.byte() % 4, .interval = 2};
    delta.values = delta.keys * (1 + choices_.byte() % 3);
    delta.length = std::min(choices_.of(kLengths), 64u);
    delta.taps = 1 + choices_.byte() % 16;
    return delta;
  }

  // Chooses the sizes of a latent model's heads and cache, all small.
  ModelLatents choose_latents() {
    return {.q_lora_rank = choices_.byte() % 41u,
            .kv_lora_rank = std::min(choices_.of(kLengths), 64u),
            .nope_length = std::min(choices_.of(kLengths), 64u),
            .rope_length = 2u + 2 * (choices_.byte() % 16)};
  }

  TestSource choose_source() {
    const bool tied = !choices_.once_in(2), biases = choices_.once_in(3);
    const bool fused = encoder() && choices_.once_in(2);
    std::vector<LayerForm> forms(shape_.layers);
    for (LayerForm& form : forms) form = choose_form();
    const uint32_t per_layer = is("gemma4") && choices_.once_in(2) ? 1 + choices_.byte() % 70 : 0;
    const ModelDelta delta = is_one_of(kRecurrent, architecture_) ? choose_delta() : ModelDelta{};
    const ModelLatents latents = is("deepseek2") ? choose_latents() : ModelLatents{};
    return made_source({.architecture = architecture_,
                        .layers = shape_.layers,
                        .width = shape_.width,
                        .heads = shape_.heads,
                        .kv_heads = shape_.kv_heads,
                        .key_length = shape_.key,
                        .value_length = shape_.value,
                        .ffn = shape_.ffn,
                        .vocabulary = shape_.vocabulary,
                        .context = shape_.context,
                        .window = shape_.window,
                        .tied = tied,
                        .latents = latents,
                        .experts = {.count = shape_.experts,
                                    .chosen = shape_.chosen,
                                    .ffn = shape_.ffn,
                                    .shared = shape_.shared,
                                    .dense = shape_.dense},
                        .delta = delta,
                        .per_layer = per_layer,
                        .token_types = shape_.types,
                        .fused = fused,
                        .biases = biases ? Biases::kAll : Biases::kNone,
                        .forms = forms});
  }

  // Sets the keys that are fixed for encoders.
  void set_encoder_keys() {
    writer_.set(key("attention.head_count_kv"), shape_.kv_heads);
    writer_.set(key("attention.key_length"), shape_.key);
    writer_.set(key("attention.value_length"), shape_.value);
    if (!choices_.once_in(2)) writer_.erase("tokenizer.ggml.token_type_count");
  }

  // Chooses the kinds of the two layers. Both have one kind, and then the second may read the
  // first's keys; or they have two kinds.
  void set_gemma_keys() {
    const bool alike = choices_.once_in(2), windowed = choices_.once_in(2);
    writer_.set(key("attention.sliding_window_pattern"),
                std::vector<bool>{windowed, alike == windowed});
    if (alike && choices_.once_in(2)) writer_.set(key("attention.shared_kv_layers"), 1u);
    if (choices_.once_in(2)) writer_.set(key("final_logit_softcapping"), 30.0f);
  }

  void set_real(const char* name) {
    if (!choices_.once_in(4)) return;
    strange_ = true;
    writer_.set(key(name), choices_.of(kReals));
  }

  void set_others() {
    if (choices_.once_in(4)) {
      writer_.set(key("rope.dimension_count"), choices_.byte() % (shape_.key + 3));
    }
    if (choices_.once_in(4)) {
      writer_.set(key("attention.sliding_window"), uint32_t{choices_.byte()} % 4);
    }
    set_real("attention.scale");
    if (choices_.once_in(8)) writer_.set(key("attention.causal"), choices_.once_in(2));
    if (choices_.once_in(8)) writer_.set(key("pooling_type"), uint32_t{choices_.byte()} % 6);
    set_real(encoder() ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon");
    if (is("jina-bert-v2")) set_real("attention.max_alibi_bias");
    set_real("rope.freq_base");
    if (!choices_.once_in(3)) return;
    strange_ = true;
    writer_.set(key("rope.scaling.type"), choices_.of(kScalings));
    for (const char* name :
         {"rope.scaling.factor", "rope.scaling.attn_factor", "rope.scaling.yarn_ext_factor",
          "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_beta_fast",
          "rope.scaling.yarn_beta_slow", "rope.scale_linear"}) {
      set_real(name);
    }
    if (choices_.once_in(2)) {
      writer_.set(key("rope.scaling.original_context_length"), uint32_t{choices_.byte()});
    }
  }

  void add_tensors(const TestSource& source) {
    // Either all tensors have one type, or each has its own.
    mixed_ = choices_.once_in(4);
    type_ = choose_type();
    for (const TestTensor& tensor : source.tensors()) {
      if (tensor.name.ends_with(".bias") || tensor.dims.size() == 1) {
        vector(tensor.name, tensor.dims);
      } else {
        matrix(tensor.name, tensor.dims);
      }
    }
  }

  DType choose_type() { return choices_.of(gguf_dtypes()); }

  void matrix(const std::string& name, const std::vector<uint64_t>& dims) {
    const uint64_t k = dims[0], rows = dims[1] * (dims.size() > 2 ? dims[2] : 1);
    DType type = mixed_ ? choose_type() : type_;
    if (k % dtype_info(type).block_elements != 0) type = k % 2 == 0 ? DType::kF32 : DType::kF16;
    if (k % 32 == 0 && k % dtype_info(type).block_elements != 0) type = DType::kQ8_0;
    model_.bf16 |= type == DType::kBF16;
    add(name, dims, type, make_rows(type, rows, k, 2 / std::sqrt(static_cast<float>(k)), noise_));
  }

  // Biases are around 0, factors on frequencies around 2, rates of states around -1, and norms
  // around 1.
  void vector(const std::string& name, const std::vector<uint64_t>& dims) {
    const uint64_t n = dims[0] * (dims.size() > 1 ? dims[1] : 1);
    float mean = name.ends_with(".bias") ? 0 : name.starts_with("rope_freqs") ? 2 : 1;
    if (name.ends_with("ssm_a")) mean = -1;
    std::vector<float> values(n);
    for (float& v : values) v = mean + 0.2f * noise_.real();
    auto bytes = std::as_bytes(std::span(values));
    add(name, dims, DType::kF32, {bytes.begin(), bytes.end()});
  }

  void add(const std::string& name, std::vector<uint64_t> dims, DType type,
           std::vector<std::byte> bytes) {
    if (wild_ && choices_.once_in(4)) overwrite(bytes);
    if (damage_ && choices_.once_in(32)) {
      // The tensor gets another shape with as many elements, or is left out.
      if (choices_.once_in(2)) return;
      if (dims.size() == 2 && dims[1] % dtype_info(type).block_elements == 0) {
        std::swap(dims[0], dims[1]);
      }
    }
    writer_.add_tensor(name, std::move(dims), type, bytes);
  }

  // Overwrites some bytes, or all of them, with bytes of the input.
  void overwrite(std::vector<std::byte>& bytes) {
    size_t at = choices_.word() % bytes.size(), step = 1 + choices_.byte();
    auto value = static_cast<std::byte>(choices_.byte());
    for (; at < bytes.size(); at += step) bytes[at] = value;
  }

  // Changes keys to numbers that the tensors were not made for.
  void damage_keys() {
    constexpr std::array<const char*, 8> kNames = {
        "block_count",          "context_length",        "embedding_length",
        "feed_forward_length",  "attention.head_count",  "attention.head_count_kv",
        "attention.key_length", "attention.value_length"};
    for (int i = choices_.byte() % 3; i > 0; --i) {
      const char* name = choices_.of(kNames);
      switch (choices_.byte() % 4) {
        case 0:
          writer_.set(key(name), uint32_t{choices_.byte()});
          break;
        case 1:
          writer_.set(key(name), choices_.word());
          break;
        case 2:
          writer_.set(key(name), static_cast<int64_t>(choices_.word()) << 32);
          break;
        default:
          writer_.set(key(name), choices_.of(kReals));
      }
    }
    if (choices_.once_in(4)) vector("blk.0.another.weight", {8});
  }

  void damage_bytes() {
    std::vector<std::byte>& file = model_.file;
    for (int i = choices_.byte() % 4; i > 0; --i) {
      // Three of four times damages the first 2,000 bytes, which have most of a file's meaning.
      size_t at = choices_.word() % (choices_.once_in(4) ? file.size() : 2000);
      if (at < file.size()) file[at] = static_cast<std::byte>(choices_.byte());
    }
    if (choices_.once_in(8)) file.resize(choices_.word() % file.size());
  }

  Choices& choices_;
  GgufWriter writer_;
  MadeModel model_;
  const char* architecture_ = "";
  Shape shape_;
  Noise noise_{0};
  DType type_ = DType::kF32;
  bool mixed_ = false, damage_ = false, wild_ = false, strange_ = false;
};

}  // namespace

MadeModel make_model(Choices& choices) { return Maker(choices).make(); }

}  // namespace hearth
