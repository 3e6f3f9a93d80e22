// Lists the pack kinds: the layouts of a panel of weights in memory for the kernels
// (tensor/pack_spec.h gives the bytes). Each kind has a PackKindInfo, which stands beside its
// packing and unpacking in tensor/pack_*.cc, and one line in a list of HEARTH_PACK_KINDS.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hearth {

inline constexpr uint32_t kPanelRows = 16;
inline constexpr uint32_t kBlock = 32;
inline constexpr uint32_t kSuperBlocks = 8;

// X(enumerator, name, more) for each kind, whose PackKindInfo is kind_<name>; `more` is passed on
// to X. These kinds are multiplied as integers:
#define HEARTH_INT8_PACK_KINDS(X, more) \
  X(kQ8_0, q8_0, more)                  \
  X(kQ4_0, q4_0, more)                  \
  X(kQ4_K, q4_k, more)                  \
  X(kQ5_K, q5_k, more)                  \
  X(kQ6_K, q6_k, more)                  \
  X(kQ2_K, q2_k, more)                  \
  X(kIQ1_S, iq1_s, more)                \
  X(kL4, l4, more)                      \
  X(kL4M, l4m, more)                    \
  X(kL4K, l4k, more)                    \
  X(kL4H, l4h, more)                    \
  X(kL5, l5, more)                      \
  X(kL5M, l5m, more)                    \
  X(kL8, l8, more)                      \
  X(kL8M, l8m, more)                    \
  X(kL3K, l3k, more)                    \
  X(kL3H, l3h, more)                    \
  X(kL2, l2, more)                      \
  X(kL1, l1, more)

// These kinds hold FP8 codes:
#define HEARTH_FP8_PACK_KINDS(X, more) \
  X(kFP8, fp8, more)                   \
  X(kFP8R, fp8_rows, more)

#define HEARTH_PACK_KINDS(X, more) \
  X(kF32, f32, more)               \
  X(kF16, f16, more)               \
  X(kBF16, bf16, more)             \
  HEARTH_INT8_PACK_KINDS(X, more)  \
  HEARTH_FP8_PACK_KINDS(X, more)

#define HEARTH_ENUMERATOR(kind, name, more) kind,
enum class PackKind : uint8_t { HEARTH_PACK_KINDS(HEARTH_ENUMERATOR, ) };
#undef HEARTH_ENUMERATOR

#define HEARTH_ONE(kind, name, more) +1
inline constexpr size_t kPackKinds = HEARTH_PACK_KINDS(HEARTH_ONE, );
#undef HEARTH_ONE

struct CodeBlock;
struct PackSpec;
struct PanelSource;

// How a scale is stored in a block of a file or in a pack. kInteger is 8 bits, of any value.
enum class ScaleForm : uint8_t { kNone, kF16, kBF16, kF32, kE8M0, kE4M3, kInteger };

// The values of a type's codes: code c stands for values[c] times factor, which is a power of two.
struct CodeTable {
  std::array<int8_t, 16> values;
  float factor;
};

// The part of a pack's layout that its kind leaves open and the type of the weights decides.
struct PackForm {
  const CodeTable* table = nullptr;   // of the kinds that look codes up
  ScaleForm scale = ScaleForm::kF16;  // of the kinds with groups: kF16, kBF16, kF32 or kE8M0
  // The form of minima in the kinds with groups and minima: kF16, or kInteger. The latter is a zero
  // point, a byte z with min = -z * scale. In kL8M z is signed: the zero point less 128.
  ScaleForm min = ScaleForm::kF16;
  uint32_t group_blocks = 1;  // blocks of 32 that share a scale, a power of two
  bool operator==(const PackForm&) const = default;
};

// Points to one row of one packed panel.
struct PackedLane {
  const std::byte* codes;   // of the panel
  const std::byte* scales;  // of the panel
  size_t r;                 // the row in the panel
  uint32_t super_offset, supers;
  const PackForm* form;
};

// Describes a kind. A block of a panel has 16 rows, and a super-block has several blocks.
struct PackKindInfo {
  const char* name;        // "q4_0"
  size_t code_bytes;       // of one block of a panel
  size_t scale_bytes = 0;  // of one block
  size_t super_bytes = 0;  // of one super-block
  size_t head_bytes = 0;   // of a panel, before its super-blocks
  uint32_t super_blocks = kSuperBlocks;
  bool grouped = false;  // whether super-blocks are PackForm's groups and hold all scales
  ScaleForm block_scale = ScaleForm::kNone, super_scale = ScaleForm::kNone;
  uint32_t scale_elements = kBlock;  // elements of one integer dot product: kBlock or half
  bool minima = false;               // whether values are scale * code + minimum
  // Packs one panel; null for kinds of FP8, since their rows do not hold the scales
  // (tensor/pack_fp8.h).
  void (*pack)(const PackSpec& spec, const PanelSource& source, std::byte* codes,
               std::byte* scales) = nullptr;
  // Read block `block` of a row to out[32]. Kinds that are multiplied as integers have
  // unpack_codes, the others have unpack_values.
  void (*unpack_codes)(const PackedLane& lane, uint32_t block, CodeBlock& out) = nullptr;
  void (*unpack_values)(const PackedLane& lane, uint32_t block, float* out) = nullptr;
};

const PackKindInfo& pack_kind_info(PackKind kind);
inline const char* pack_kind_name(PackKind kind) { return pack_kind_info(kind).name; }

#define HEARTH_DECLARE_KIND(kind, name, more) extern const PackKindInfo kind_##name;
HEARTH_PACK_KINDS(HEARTH_DECLARE_KIND, )
#undef HEARTH_DECLARE_KIND

}  // namespace hearth
