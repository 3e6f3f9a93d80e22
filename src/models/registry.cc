#include "models/registry.h"

#include <array>

#include "base/error.h"
#include "models/architectures.h"
#include "models/dense_decoder.h"
#include "models/encoder.h"

namespace hearth {
namespace {

constexpr ArchitectureKind encoder(PositionKind positions) { return {true, positions}; }

constexpr std::array<Architecture, 6> kArchitectures = {{
    {"llama", describe_llama, build_dense_decoder},
    {"qwen2", describe_qwen2, build_dense_decoder},
    {"qwen3", describe_qwen3, build_dense_decoder},
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
