// Tests that config.json alone tells the types and shapes that the files with weights have. From it
// the cost model also predicts the speed of two models of experts on a server with two EPYC 9355,
// whose memory gives 1,228 GB/s together.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "base/error.h"
#include "cost/cost_model.h"
#include "golden_set.h"
#include "models/model_spec.h"
#include "models/registry.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// A folder with this config.json and nothing else.
class ConfigFolder {
 public:
  explicit ConfigFolder(std::string_view json) {
    std::string name = (fs::temp_directory_path() / "hearth-shape-XXXXXX").native();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
    std::ofstream(path_ / "config.json") << json;
  }
  ConfigFolder(const ConfigFolder&) = delete;
  ConfigFolder& operator=(const ConfigFolder&) = delete;
  ~ConfigFolder() { fs::remove_all(path_); }
  std::string config() const { return (path_ / "config.json").native(); }

 private:
  fs::path path_;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

using Shapes = std::map<std::string, std::pair<std::string, std::vector<uint64_t>>>;

// Returns the shapes of the tensors, and the types of matrices. Types of vectors and routers are
// left out, since the golden folders have F32 where config.json gives only the type of matrices.
Shapes shapes_of(const ModelSource& source) {
  Shapes shapes;
  for (const SourceTensor& tensor : source.tensors()) {
    const bool small =
        tensor.dims.size() == 1 || tensor.name.find("gate_inp") != std::string_view::npos;
    shapes[std::string(tensor.name)] = {small ? "" : tensor.type_text, tensor.dims};
  }
  return shapes;
}

class FolderShape : public testing::TestWithParam<GoldenModel> {};

TEST_P(FolderShape, ConfigAloneSaysWhatTheFilesHold) {
  const ConfigFolder alone(read_file(fs::path(GetParam().path) / "config.json"));
  const ModelSource shape = open_model_shape(alone.config());
  EXPECT_EQ(shapes_of(shape), shapes_of(open_model_source(GetParam().path)));
  // Only callers that need no weights may open such a folder.
  EXPECT_THROW(open_model_source(alone.config()), Error);
}

INSTANTIATE_TEST_SUITE_P(Models, FolderShape, testing::ValuesIn(read_golden_set("hf_models")),
                         golden_test_name);

// Returns the models in codes whose tensors config.json alone describes: those of gpt-oss.
std::vector<GoldenModel> with_expert_stacks() {
  std::vector<GoldenModel> models = read_golden_set("hf_code_models");
  std::erase_if(models, [](const GoldenModel& m) { return !m.name.starts_with("hf-gpt-oss"); });
  return models;
}
INSTANTIATE_TEST_SUITE_P(Experts, FolderShape, testing::ValuesIn(with_expert_stacks()),
                         golden_test_name);

// Returns rows of docs/safetensors.md on the packing of quantised Linears: the quantiser's name,
// and the packs.
std::vector<std::pair<std::string, std::string>> documented_packs() {
  std::istringstream page(read_file(HEARTH_DOCS "/safetensors.md"));
  std::vector<std::pair<std::string, std::string>> rows;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) inside = line == "## Quantised Linears";
    if (!inside || !line.starts_with("| `") || line.find("quant_method") != line.npos) continue;
    const size_t last = line.rfind("| ", line.size() - 3);
    rows.emplace_back(line.substr(0, line.find(" | ")) + " ", line.substr(last));
  }
  return rows;
}

// Returns the first group of the pattern's first match in the text, or nothing.
std::string found_in(const std::string& text, const char* pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : "";
}

// Returns the packs that the document lists for a folder with this config.json.
std::string packs_for(const std::string& config) {
  const std::string method = found_in(config, "\"quant_method\": *\"([^\"]+)\"");
  const std::string format = found_in(config, "\"(?:format|quant_algo)\": *\"([^\"]+)\"");
  for (const auto& [names, packs] : documented_packs()) {
    const bool named = names.find("`" + method + "`") != names.npos;
    const std::regex word("[ :]" + format + "[ ,;]");
    if (named && (format.empty() || std::regex_search(names, word))) return packs;
  }
  return "";
}

TEST(FolderPacks, AreThoseOfTheDocument) {
  ASSERT_EQ(documented_packs().size(), 8u);
  int quantised = 0;
  for (const char* list : {"hf_models", "hf_code_models"}) {
    for (const GoldenModel& model : read_golden_set(list)) {
      const std::string config = read_file(fs::path(model.path) / "config.json");
      if (config.find("quant_method") == config.npos) continue;
      const std::string packs = packs_for(config);
      EXPECT_NE(packs, "") << model.name;
      const ModelSource source = open_model_source(model.path);
      const ModelSpec spec = make_spec(source);
      for (const WeightSpec& weight : spec.weights) {
        const bool linear = weight.data->has_codes() || weight.dtype == DType::kF8E4M3;
        if (!linear || weight.packed == DType::kF32) continue;  // not packed as codes
        const std::string kind = pack_kind_name(weight.packed.kind);
        EXPECT_NE(packs.find("`" + kind + "`"), packs.npos) << model.name << ": " << kind;
        ++quantised;
      }
    }
  }
  EXPECT_GT(quantised, 100);
}

// The released configurations (DeepSeek-AI 2024; Qwen3 technical report 2025).
constexpr const char* kDeepseekV3 = R"({"architectures": ["DeepseekV3ForCausalLM"],
  "first_k_dense_replace": 3, "hidden_size": 7168, "intermediate_size": 18432,
  "kv_lora_rank": 512, "max_position_embeddings": 163840, "moe_intermediate_size": 2048,
  "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1,
  "norm_topk_prob": true, "num_attention_heads": 128, "num_experts_per_tok": 8,
  "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
  "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
                          "weight_block_size": [128, 128]},
  "rms_norm_eps": 1e-06, "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40,
    "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096,
    "type": "yarn"}, "rope_theta": 10000, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid",
  "tie_word_embeddings": false, "topk_group": 4, "topk_method": "noaux_tc",
  "torch_dtype": "bfloat16", "v_head_dim": 128, "vocab_size": 129280})";
constexpr const char* kQwen235 = R"({"architectures": ["Qwen3MoeForCausalLM"], "head_dim": 128,
  "hidden_size": 4096, "intermediate_size": 12288, "max_position_embeddings": 40960,
  "moe_intermediate_size": 1536, "norm_topk_prob": true, "num_attention_heads": 64,
  "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 94, "num_key_value_heads": 4,
  "quantization_config": {"fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]},
  "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "tie_word_embeddings": false,
  "torch_dtype": "bfloat16", "vocab_size": 151936})";

class Epyc9355 : public testing::Test {
 protected:
  // Returns the cost of decoding one token after 512, on both sockets or on the first.
  StepCost cost(const char* config, ExpertCut experts, uint32_t nodes = 2) const {
    const ConfigFolder folder(config);
    const ModelSource source = open_model_shape(folder.config());
    const ModelSpec spec = make_spec(source);
    PlacedPlan plan;
    const uint32_t threads = nodes * 32;
    plan.placement = place_threads(machine_, {.threads = threads});
    for (uint32_t node = 0; node < nodes; ++node) plan.shard_nodes.push_back(node);
    plan.shares.assign(nodes, 1);
    plan.experts = experts;
    plan.plan = even_plan(Phase::kDecode, 16, nodes, nodes, threads);
    return predict_step(machine_, table_, spec, plan, {1, 512});
  }

  static BandwidthTable table_of(const Machine& machine) {
    BandwidthTable table = assumed_bandwidth(machine);
    table.read = {{614e9, 200e9}, {200e9, 614e9}};
    return table;
  }

  const Machine machine_ = Machine::from_synthetic("pack:2 numa:1 l3:8(size=33554432) core:4 pu:1");
  const BandwidthTable table_ = table_of(machine_);
};

// A token reads 37.9 and 22.3 GB, which 1,228 GB/s can deliver 32 and 55 times a second. Routers
// are packed as f32, which adds 0.2 and 0.1 GB. A second node has copies of routers and of the
// matrices that make latents: 0.9 + 0.4 GB and 0.2 GB more.
TEST_F(Epyc9355, ReadsWhatTheModelsCallFor) {
  EXPECT_NEAR(cost(kDeepseekV3, ExpertCut::kCut, 1).weight_bytes, 38.1e9, 0.1e9);
  EXPECT_NEAR(cost(kQwen235, ExpertCut::kCut, 1).weight_bytes, 22.4e9, 0.1e9);
  EXPECT_NEAR(cost(kDeepseekV3, ExpertCut::kCut).weight_bytes, 39.4e9, 0.1e9);
  EXPECT_NEAR(cost(kQwen235, ExpertCut::kCut).weight_bytes, 22.6e9, 0.1e9);
}

// Predicted rates are below the memory's limit, and above the rate that the OSDI'26 system reached
// with attention on a GPU (21.5).
TEST_F(Epyc9355, RatesStayBelowMemory) {
  struct Case {
    const char* config;
    double most, least;
  };
  for (const Case& c : {Case{kDeepseekV3, 32.4, 21.5}, Case{kQwen235, 55.1, 35}}) {
    const double cut = cost(c.config, ExpertCut::kCut).tokens_per_second;
    const double spread = cost(c.config, ExpertCut::kSpread).tokens_per_second;
    EXPECT_LT(cut, c.most);
    EXPECT_GT(cut, c.least);
    // The fuller of two nodes has 5.09 of 8 experts on average.
    EXPECT_LT(spread, cut);
    EXPECT_GT(spread, 0.75 * cut);
  }
}

}  // namespace
}  // namespace hearth
