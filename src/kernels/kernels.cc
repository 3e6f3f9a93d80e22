#include "kernels/kernels.h"

#include "kernels/attention/attention_kernels.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/kernel_tables.h"
#include "kernels/limits/limits_kernels.h"
#include "kernels/quantize/quantize_kernels.h"

namespace hearth {
namespace {

#define HEARTH_GEMM_ENTRY(kind, name, level)          \
  table.gemm[static_cast<size_t>(PackKind::kind)] = { \
      gemm_##name##_##level, &menu_##name##_##level, {}};

#define HEARTH_QUANTIZE_ENTRY(format, name, level) \
  table.quantize[static_cast<size_t>(ActFormat::format)] = quantize_##name##_##level;

#define HEARTH_ATTEND_ENTRY(type, name, level) \
  table.attend[static_cast<size_t>(KvType::type)] = attend_##name##_##level;

#define HEARTH_ATTENTION_ENTRY(type, name, level)                                          \
  HEARTH_ATTEND_ENTRY(type, name, level)                                                   \
  table.kv_store[static_cast<size_t>(KvType::type)] = kv_store_##name##_##level;           \
  table.attend_latent[static_cast<size_t>(KvType::type)] = attend_latent_##name##_##level; \
  table.store_latent[static_cast<size_t>(KvType::type)] = store_latent_##name##_##level;   \
  table.expand_latent[static_cast<size_t>(KvType::type)] = expand_latent_##name##_##level;

#define HEARTH_ELEMENTWISE_ENTRY(name, args, level) table.name = name##_##level;

#define HEARTH_UNIT_ENTRY(which, name, level) \
  table.limits.unit[static_cast<size_t>(ArithmeticUnit::which)] = ops_##name##_##level;

// Makes the table of one level from the lines of every family's table.
#define HEARTH_LEVEL(isa_value, level)                          \
  [] {                                                          \
    Kernels table{};                                            \
    table.isa = isa_value;                                      \
    HEARTH_GEMM_KERNELS(HEARTH_GEMM_ENTRY, level)               \
    HEARTH_QUANTIZE_KERNELS(HEARTH_QUANTIZE_ENTRY, level)       \
    HEARTH_ATTENTION_KERNELS(HEARTH_ATTENTION_ENTRY, level)     \
    table.attend_expanded = attend_expanded_##level;            \
    table.merge_spans = merge_spans_##level;                    \
    HEARTH_ELEMENTWISE_KERNELS(HEARTH_ELEMENTWISE_ENTRY, level) \
    HEARTH_UNIT_LOOPS(HEARTH_UNIT_ENTRY, level)                 \
    table.limits.read = read_##level;                           \
    table.attend_places = 1;                                    \
    return table;                                               \
  }()

constexpr Kernels kReference = HEARTH_LEVEL(Isa::kReference, reference);
#if defined(__x86_64__)
constexpr Kernels kAvx2 = HEARTH_LEVEL(Isa::kAvx2, avx2);
constexpr Kernels kAvxVnni = [] {
  Kernels table = kAvx2;
  table.isa = Isa::kAvxVnni;
  HEARTH_INT8_GEMM_KERNELS(HEARTH_GEMM_ENTRY, avxvnni)
  HEARTH_ATTEND_ENTRY(kQ8_0, q8_0, avxvnni)
  HEARTH_VNNI_UNIT_LOOPS(HEARTH_UNIT_ENTRY, avxvnni)
  return table;
}();
constexpr Kernels kAvx512Bw = HEARTH_LEVEL(Isa::kAvx512Bw, avx512bw);
constexpr Kernels kAvx512 = [] {
  Kernels table = kAvx512Bw;
  table.isa = Isa::kAvx512;
  HEARTH_INT8_GEMM_KERNELS(HEARTH_GEMM_ENTRY, avx512)
  HEARTH_ATTEND_ENTRY(kQ8_0, q8_0, avx512)
  HEARTH_VNNI_UNIT_LOOPS(HEARTH_UNIT_ENTRY, avx512)
  return table;
}();
constexpr Kernels kAvx512Bf16 = [] {
  Kernels table = kAvx512;
  table.isa = Isa::kAvx512Bf16;
  HEARTH_BF16_GEMM_KERNELS(HEARTH_GEMM_ENTRY, avx512bf16)
  HEARTH_BF16_UNIT_LOOPS(HEARTH_UNIT_ENTRY, avx512bf16)
  return table;
}();
constexpr Kernels kAmx = [] {
  Kernels table = kAvx512Bf16;
  table.isa = Isa::kAmx;
  HEARTH_AMX_GEMM_KERNELS(HEARTH_GEMM_ENTRY, amx)
  HEARTH_AMX_UNIT_LOOPS(HEARTH_UNIT_ENTRY, amx)
  return table;
}();
constexpr const Kernels* kLevels[] = {&kReference, &kAvx2,       &kAvxVnni, &kAvx512Bw,
                                      &kAvx512,    &kAvx512Bf16, &kAmx};
#elif defined(__aarch64__)
constexpr Kernels kNeon = HEARTH_LEVEL(Isa::kNeon, neon);
constexpr Kernels kI8mm = [] {
  Kernels table = kNeon;
  table.isa = Isa::kI8mm;
  HEARTH_INT8_GEMM_KERNELS(HEARTH_GEMM_ENTRY, i8mm)
  HEARTH_INT8_UNIT_LOOPS(HEARTH_UNIT_ENTRY, i8mm)
  return table;
}();
constexpr Kernels kI8mmBf16 = [] {
  Kernels table = kI8mm;
  table.isa = Isa::kI8mmBf16;
  HEARTH_BF16_GEMM_KERNELS(HEARTH_GEMM_ENTRY, i8mmbf16)
  HEARTH_BF16_UNIT_LOOPS(HEARTH_UNIT_ENTRY, i8mmbf16)
  return table;
}();
constexpr const Kernels* kLevels[] = {&kReference, &kNeon, &kI8mm, &kI8mmBf16};
#else
constexpr const Kernels* kLevels[] = {&kReference};
#endif

}  // namespace

std::span<const Kernels* const> built_levels() { return kLevels; }

const Kernels& kernels_for(Isa isa) {
  static const KernelTables kTables(schedules_for(processor_here()));
  return kTables.at(isa);
}

}  // namespace hearth
