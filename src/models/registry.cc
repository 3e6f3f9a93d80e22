#include "models/registry.h"

#include <array>

#include "base/error.h"
#include "models/architectures.h"
#include "models/decoder.h"
#include "models/encoder.h"

namespace hearth {
namespace {

constexpr ArchitectureKind encoder(PositionKind positions) { return {true, positions}; }

constexpr ArchitectureKind with_experts(Gating gating, bool normalised) {
  return {.experts = true, .gating = gating, .normalised = normalised};
}

constexpr ArchitectureKind kLatentExperts{
    .experts = true, .gating = Gating::kSoftmax, .normalised = false, .latent = true};

constexpr std::array<Architecture, 9> kArchitectures = {{
    {"llama", describe_llama, build_decoder, with_experts(Gating::kSoftmax, true)},
    {"qwen2", describe_qwen2, build_decoder},
    {"qwen3", describe_qwen3, build_decoder},
    {"qwen3moe", describe_qwen3moe, build_decoder, with_experts(Gating::kSoftmax, true)},
    {"deepseek2", describe_deepseek2, build_decoder, kLatentExperts},
    {"glm4moe", describe_glm4moe, build_decoder, with_experts(Gating::kSigmoid, false)},
    {"bert", describe_bert, build_encoder, encoder(PositionKind::kTable)},
    {"nomic-bert", describe_nomic_bert, build_encoder, encoder(PositionKind::kRope)},
    {"jina-bert-v2", describe_jina_bert_v2, build_encoder, encoder(PositionKind::kAlibi)},
}};

}  // namespace

std::span<const Architecture> all_architectures() { return kArchitectures; }

const Architecture& architecture_for(const ModelSource& source) {
  auto name = source.metadata().require<std::string>("general.architecture");
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (name == architecture.name) return architecture;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", architecture.name);
  }
  fail(ErrorCode::kUnsupported,
       "'{}' is of architecture '{}', which this version cannot run; it runs {}", source.name(),
       name, known);
}

}  // namespace hearth
