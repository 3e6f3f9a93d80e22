// Each architecture is defined in a source of its own (models/llama.cc, ...).
#pragma once

#include "formats/hf_config.h"
#include "models/spec_builder.h"

namespace hearth {

void describe_llama(SpecBuilder& m);
void describe_qwen2(SpecBuilder& m);
void describe_qwen3(SpecBuilder& m);
void describe_qwen3moe(SpecBuilder& m);
void describe_qwen3next(SpecBuilder& m);
void describe_qwen35(SpecBuilder& m);
void describe_qwen35moe(SpecBuilder& m);
void describe_deepseek2(SpecBuilder& m);
void describe_glm4moe(SpecBuilder& m);
void describe_gpt_oss(SpecBuilder& m);
void describe_gemma3(SpecBuilder& m);
void describe_gemma4(SpecBuilder& m);
void describe_lfm2(SpecBuilder& m);
void describe_lfm2moe(SpecBuilder& m);
void describe_minimax_m2(SpecBuilder& m);
void describe_mistral3(SpecBuilder& m);
void describe_phi3(SpecBuilder& m);
void describe_seed_oss(SpecBuilder& m);
void describe_bert(SpecBuilder& m);
void describe_nomic_bert(SpecBuilder& m);
void describe_jina_bert_v2(SpecBuilder& m);

// Each family of Hugging Face folders is data (formats/hf_family.h), defined in the source of its
// architecture.
extern const HfFamily kLlamaFolder, kMixtralFolder, kQwen2Folder, kQwen3Folder, kQwen3MoeFolder,
    kDeepseek2Folder, kDeepseek3Folder, kGlm4MoeFolder, kGemma3Folder, kGemma4Folder,
    kGemma4UnifiedFolder, kMinimaxM2Folder, kGptOssFolder, kBertFolder, kRobertaFolder,
    kNomicBertFolder, kJinaBertV2Folder, kQwen35Folder, kQwen35MoeFolder, kQwen3NextFolder,
    kGlm4MoeLiteFolder, kLfm2Folder, kLfm2MoeFolder;
// Families of rerankers.
extern const HfFamily kBertRankFolder, kRobertaRankFolder, kQwen3RankFolder;

// Reads how experts in groups are chosen (topk_method, n_group, topk_group) and sets the metadata
// for it. `otherwise` has the values for keys that config.json lacks (models/deepseek2.cc).
struct ExpertGroups {
  const char* method;
  uint32_t groups, used;
};
void read_expert_groups(const HfReading& reading, const ExpertGroups& otherwise);
// Reads which layers of Qwen's hybrids keep states, from layer_types or full_attention_interval.
// Refuses forms of their heads that this program does not support (models/qwen35.cc).
void read_hybrid_layers(const HfReading& reading);

}  // namespace hearth
