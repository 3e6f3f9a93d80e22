#include "kernels/attention/attention_kernels.h"
#include "kernels/simd/vec16_avx512-inl.h"

// After Vec16, which it is written over.
#include "kernels/attention/attention-inl.h"
#include "kernels/attention/attention_codes-inl.h"
#include "kernels/attention/attention_floats-inl.h"

namespace hearth {

#define HEARTH_DEFINE(format, name)                  \
  void attend_##name##_avx512(const AttendArgs& a) { \
    Attention<FloatPages<format, 4>>::attend(a);     \
  }                                                  \
  void kv_store_##name##_avx512(const KvStoreArgs& a) { store_position<format>(a); }
HEARTH_DEFINE(FormatF32, f32)
HEARTH_DEFINE(FormatF16, f16)
HEARTH_DEFINE(FormatBF16, bf16)
#undef HEARTH_DEFINE

void attend_q8_0_avx512(const AttendArgs& a) { Attention<CodePages<4>>::attend(a); }
void kv_store_q8_0_avx512(const KvStoreArgs& a) { store_codes(a); }

void merge_spans_avx512(const MergeArgs& a) { merge_spans(a); }

}  // namespace hearth
