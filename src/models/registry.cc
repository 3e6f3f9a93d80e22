#include "models/registry.h"

#include <array>

#include "base/error.h"
#include "models/architectures.h"

namespace hearth {
namespace {

constexpr std::array<Architecture, 21> kArchitectures = {{
    {"llama", describe_llama},
    {"qwen2", describe_qwen2},
    {"qwen3", describe_qwen3},
    {"qwen3moe", describe_qwen3moe},
    {"qwen3next", describe_qwen3next},
    {"qwen35", describe_qwen35},
    {"qwen35moe", describe_qwen35moe},
    {"deepseek2", describe_deepseek2},
    {"glm4moe", describe_glm4moe},
    {"gpt-oss", describe_gpt_oss},
    {"gemma3", describe_gemma3},
    {"gemma4", describe_gemma4},
    {"lfm2", describe_lfm2},
    {"lfm2moe", describe_lfm2moe},
    {"minimax-m2", describe_minimax_m2},
    {"mistral3", describe_mistral3},
    {"phi3", describe_phi3},
    {"seed_oss", describe_seed_oss},
    {"bert", describe_bert},
    {"nomic-bert", describe_nomic_bert},
    {"jina-bert-v2", describe_jina_bert_v2},
}};

}  // namespace

std::span<const Architecture> all_architectures() { return kArchitectures; }

const Architecture& architecture_for(const ModelSource& source) {
  auto name = source.metadata().require<std::string>("general.architecture");
  if (name == "clip") {
    fail(ErrorCode::kUnsupported,
         "'{}' is a projector for images or audio (mmproj), and this version supports only text; "
         "name the file of the model itself",
         source.name());
  }
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (name == architecture.name) return architecture;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", architecture.name);
  }
  fail(ErrorCode::kUnsupported,
       "'{}' has the architecture '{}', which this version cannot run; it runs {}", source.name(),
       name, known);
}

namespace {

constexpr const HfFamily* kFamilies[] = {
    &kLlamaFolder,       &kMixtralFolder,   &kQwen2Folder,         &kQwen3Folder,
    &kQwen3MoeFolder,    &kQwen3NextFolder, &kQwen35Folder,        &kQwen35MoeFolder,
    &kDeepseek2Folder,   &kDeepseek3Folder, &kGlm4MoeFolder,       &kGlm4MoeLiteFolder,
    &kGemma3Folder,      &kGemma4Folder,    &kGemma4UnifiedFolder, &kLfm2Folder,
    &kLfm2MoeFolder,     &kMinimaxM2Folder, &kGptOssFolder,        &kBertFolder,
    &kRobertaFolder,     &kNomicBertFolder, &kJinaBertV2Folder,    &kBertRankFolder,
    &kRobertaRankFolder, &kQwen3RankFolder};

}  // namespace

HfFamilies all_hf_families() { return kFamilies; }

ModelSource open_model_source(const std::string& path, UnknownTypes unknown) {
  return ModelSource::open(path, all_hf_families(), unknown);
}

ModelSource open_model_shape(const std::string& path) {
  return ModelSource::open_shape(path, all_hf_families());
}

}  // namespace hearth
