#include "models/registry.h"

#include <array>

#include "base/error.h"
#include "models/architectures.h"
#include "models/dense_decoder.h"

namespace hearth {
namespace {

constexpr std::array<Architecture, 3> kArchitectures = {{
    {"llama", describe_llama, build_dense_decoder},
    {"qwen2", describe_qwen2, build_dense_decoder},
    {"qwen3", describe_qwen3, build_dense_decoder},
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
