// The table of attention kernels, one line a KV type. Every ISA level has all of them. A line makes
// the declarations below, the dispatch (kernels.cc), the tests and the benchmark.
#pragma once

#include "kernels/attention/latent.h"

// X(KvType, name, level) for the kernels attend_<name>_<level>, kv_store_<name>_<level>, and over
// latents attend_latent_<name>_<level>, store_latent_<name>_<level>, expand_latent_<name>_<level>.
#define HEARTH_ATTENTION_KERNELS(X, level) \
  X(kF32, f32, level)                      \
  X(kF16, f16, level)                      \
  X(kBF16, bf16, level)                    \
  X(kQ8_0, q8_0, level)

namespace hearth {

#define HEARTH_DECLARE_ATTENTION(type, name, level)         \
  void attend_##name##_##level(const AttendArgs& a);        \
  void kv_store_##name##_##level(const KvStoreArgs& a);     \
  void attend_latent_##name##_##level(const AttendArgs& a); \
  void store_latent_##name##_##level(const KvStoreArgs& a); \
  void expand_latent_##name##_##level(const ExpandArgs& a);
HEARTH_ATTENTION_KERNELS(HEARTH_DECLARE_ATTENTION, reference)
HEARTH_ATTENTION_KERNELS(HEARTH_DECLARE_ATTENTION, avx2)
HEARTH_ATTENTION_KERNELS(HEARTH_DECLARE_ATTENTION, avx512bw)
HEARTH_ATTENTION_KERNELS(HEARTH_DECLARE_ATTENTION, neon)
#undef HEARTH_DECLARE_ATTENTION

// These levels have an attention kernel of their own only for q8_0. It uses their instructions for
// products of integers.
void attend_q8_0_avxvnni(const AttendArgs& a);
void attend_q8_0_avx512(const AttendArgs& a);

void attend_expanded_reference(const AttendArgs& a);
void attend_expanded_avx2(const AttendArgs& a);
void attend_expanded_avx512bw(const AttendArgs& a);
void attend_expanded_neon(const AttendArgs& a);

void merge_spans_reference(const MergeArgs& a);
void merge_spans_avx2(const MergeArgs& a);
void merge_spans_avx512bw(const MergeArgs& a);
void merge_spans_neon(const MergeArgs& a);

}  // namespace hearth
