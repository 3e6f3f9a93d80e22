// The GEMM kernels that tests go through.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {

// Every kernel that runs here, once: a level's kinds without those whose kernels it takes from the
// level that it stands on.
inline std::vector<std::tuple<Isa, PackKind>> own_gemm_kernels() {
  std::vector<std::tuple<Isa, PackKind>> own;
  std::vector<GemmFn> seen;
  for (Isa isa : test_levels()) {
    for (size_t kind = 0; kind < kPackKinds; ++kind) {
      bool any = false;
      for (MemoryStreams streams :
           {MemoryStreams::kOne, MemoryStreams::kOneOfFew, MemoryStreams::kSeveral}) {
        const GemmFn fn = kernels_for(isa, streams).gemm[kind];
        if (std::ranges::find(seen, fn) != seen.end()) continue;
        seen.push_back(fn);
        any = true;
      }
      if (any) own.emplace_back(isa, static_cast<PackKind>(kind));
    }
  }
  return own;
}

}  // namespace hearth
