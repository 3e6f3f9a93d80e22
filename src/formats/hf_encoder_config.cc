#include "formats/hf_encoder_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hearth {
namespace {

constexpr uint32_t kMostLayers = 1024, kMostWidth = 1u << 17, kMostFfn = 1u << 20,
                   kMostHeads = 1024, kMostContext = 1u << 24, kMostVocabulary = 1u << 24;
// GGUF's number of the mean.
constexpr uint32_t kMean = 1;

enum class Family { kBert, kRoberta, kNomic, kJina };

struct Architecture {
  std::string_view name;
  const char* gguf;
  Family family;
};

constexpr std::array<Architecture, 8> kArchitectures = {
    {{"BertModel", "bert", Family::kBert},
     {"BertForMaskedLM", "bert", Family::kBert},
     {"RobertaModel", "bert", Family::kRoberta},
     {"XLMRobertaModel", "bert", Family::kRoberta},
     {"XLMRobertaForMaskedLM", "bert", Family::kRoberta},
     {"NomicBertModel", "nomic-bert", Family::kNomic},
     {"JinaBertModel", "jina-bert-v2", Family::kJina},
     {"JinaBertForMaskedLM", "jina-bert-v2", Family::kJina}}};

const Architecture* find_architecture(std::string_view name) {
  const auto at = std::ranges::find(kArchitectures, name, &Architecture::name);
  return at == kArchitectures.end() ? nullptr : at;
}

// A key, by the name that it has in BERT's files and in those of Nomic, which are named as GPT-2's.
struct Names {
  std::string_view layers, width, ffn, heads, context, epsilon, activation;
};
constexpr Names kBertNames = {
    "num_hidden_layers",       "hidden_size",    "intermediate_size", "num_attention_heads",
    "max_position_embeddings", "layer_norm_eps", "hidden_act"};
constexpr Names kNomicNames = {"n_layer",
                               "n_embd",
                               "n_inner",
                               "n_head",
                               "n_positions",
                               "layer_norm_epsilon",
                               "activation_function"};

class Reader {
 public:
  Reader(const Architecture& architecture, const ConfigReader& config, MadeMetadata& metadata)
      : config_(config),
        metadata_(metadata),
        family_(architecture.family),
        names_(family_ == Family::kNomic ? kNomicNames : kBertNames) {
    out_.architecture = architecture.gguf;
    out_.encoder = true;
    out_.tied = true;
  }

  HfConfig read() {
    metadata_.set("general.architecture", out_.architecture);
    out_.layers = config_.need_count(names_.layers, kMostLayers);
    set("block_count", out_.layers);
    const uint32_t width = config_.need_count(names_.width, kMostWidth);
    set("embedding_length", width);
    out_.ffn = config_.count_or(names_.ffn, 4 * width, kMostFfn);
    set("feed_forward_length", out_.ffn);
    out_.heads = out_.kv_heads = config_.need_count(names_.heads, kMostHeads);
    set("attention.head_count", out_.heads);
    set("vocab_size", config_.need_count("vocab_size", kMostVocabulary));
    metadata_.set(full("attention.layer_norm_epsilon"),
                  static_cast<float>(config_.real_or(names_.epsilon, 1e-12)));
    metadata_.set(full("attention.causal"), false);
    read_context();
    need_flag("is_decoder", false);
    if (family_ == Family::kNomic) {
      read_nomic();
    } else {
      need_text(names_.activation, "gelu", "gelu");
      const char* positions = family_ == Family::kJina ? "alibi" : "absolute";
      need_text("position_embedding_type", positions, positions);
    }
    if (family_ == Family::kJina) read_jina();
    if (config_.has("quantization_config")) {
      config_.fail_unsupported("quantization_config", "it runs encoders without");
    }
    return std::move(out_);
  }

 private:
  std::string full(const char* key) const { return fmt::format("{}.{}", out_.architecture, key); }
  void set(const char* key, uint32_t value) { metadata_.set(full(key), value); }

  void need_text(std::string_view key, const char* otherwise, const std::string& wanted) const {
    if (config_.text_or(key, otherwise) != wanted) {
      config_.fail_unsupported(key, fmt::format("it runs {}", wanted));
    }
  }
  void need_flag(std::string_view key, bool wanted) const {
    if (config_.flag_or(key, wanted) != wanted) {
      config_.fail_unsupported(key, fmt::format("it runs {}", wanted));
    }
  }

  void read_context() {
    out_.context = config_.need_count(names_.context, kMostContext);
    if (family_ != Family::kRoberta) return;
    out_.positions_first = config_.count_or("pad_token_id", 1, kMostVocabulary, 0) + 1;
    if (out_.positions_first >= out_.context) {
      config_.refuse(names_.context, "more than pad_token_id + 1");
    }
    out_.context -= out_.positions_first;
  }

  // Beyond the length that it was trained with, the model turns positions by other frequencies.
  void read_nomic() {
    need_text(names_.activation, "swiglu", "swiglu");
    for (const char* key :
         {"prenorm", "parallel_block", "use_rms_norm", "causal", "rotary_emb_interleaved"}) {
      need_flag(key, false);
    }
    if (config_.real_or("rotary_emb_fraction", 1) != 1) {
      config_.fail_unsupported("rotary_emb_fraction", "it runs 1");
    }
    if (config_.has("rotary_emb_scale_base")) {
      config_.fail_unsupported("rotary_emb_scale_base", "it runs none");
    }
    if (config_.count_or("moe_every_n_layers", 0, kMostLayers, 0) != 0) {
      config_.fail_unsupported("moe_every_n_layers", "it runs layers without experts");
    }
    out_.context =
        std::min(out_.context, config_.count_or("max_trained_positions", 2048, kMostContext));
    metadata_.set(full("rope.freq_base"),
                  static_cast<float>(config_.real_or("rotary_emb_base", 10000)));
  }

  // `original` is BERT's FFN, whose tensors have its names.
  void read_jina() {
    const std::string ffn = config_.text_or("feed_forward_type", "original");
    if (ffn != "original" && ffn != "geglu") {
      config_.fail_unsupported("feed_forward_type", "it runs original and geglu");
    }
    if (config_.text_or("emb_pooler", "") == "mean") out_.pooling = kMean;
  }

  const ConfigReader& config_;
  MadeMetadata& metadata_;
  Family family_;
  const Names& names_;
  HfConfig out_;
};

}  // namespace

bool is_hf_encoder(std::string_view architecture) {
  return find_architecture(architecture) != nullptr;
}

std::string hf_encoder_names() {
  std::string names;
  for (const Architecture& architecture : kArchitectures) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", architecture.name);
  }
  return names;
}

HfConfig read_hf_encoder_config(std::string_view architecture, const ConfigReader& config,
                                MadeMetadata& metadata) {
  return Reader(*find_architecture(architecture), config, metadata).read();
}

}  // namespace hearth
