// Fuzzes importance matrices with hostile bytes, in both forms. Only hearth::Error may be thrown.
// If an entry fits a tensor, rows can be quantised with its weights.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "formats/importance.h"

namespace hearth {
namespace {

// Uses the entry as if it belonged to `matrices` matrices with 3 rows.
void use(const ImportanceEntry& entry, uint64_t matrices) {
  SourceTensor tensor = {};
  tensor.dims = {entry.values() / matrices, 3, matrices};
  tensor.n_elements = tensor.dims[0] * 3 * matrices;
  if (tensor.n_elements == 0 || !entry.fits(tensor)) return;
  std::vector<float> weights(tensor.dims[0]);
  for (uint64_t row = 0; row < tensor.rows(); ++row) {
    entry.write_weights(tensor, row, weights.data());
    for (const float weight : weights) {
      HEARTH_CHECK(weight > 0 && weight <= 2 * static_cast<float>(weights.size()),
                   "columns count in proportion to their mean");
    }
  }
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  try {
    // The bytes get memory of their own, so that the sanitizers see a read beyond their end.
    const hearth::Importance importance(hearth::MappedFile::own({bytes, bytes + size}, "i"));
    for (const hearth::ImportanceEntry& entry : importance.entries()) {
      HEARTH_CHECK(importance.find(entry.name) == &entry, "an entry that was listed is found");
      for (const uint64_t matrices : {uint64_t{1}, uint64_t{2}, entry.counts.size()}) {
        hearth::use(entry, matrices);
      }
    }
  } catch (const hearth::Error&) {
    // Bytes that are not an importance matrix must throw this exception and no other.
  }
  return 0;
}
