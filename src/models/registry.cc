#include "models/registry.h"

#include <array>

#include "base/error.h"
#include "models/architectures.h"

namespace hearth {
namespace {

constexpr std::array<Architecture, 3> kArchitectures = {{
    {"llama", configure_llama, dense_decoder},
    {"qwen2", configure_qwen2, dense_decoder},
    {"qwen3", configure_qwen3, dense_decoder},
}};

}  // namespace

std::span<const Architecture> all_architectures() { return kArchitectures; }

const Architecture& architecture_for(const GgufFile& file) {
  auto name = file.metadata().require<std::string>("general.architecture");
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (name == architecture.name) return architecture;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", architecture.name);
  }
  fail(ErrorCode::kUnsupported,
       "'{}' is of architecture '{}', which this version cannot run; it runs {}", file.name(), name,
       known);
}

}  // namespace hearth
