// All attention kernels of an ISA level over Vec16 (kernels/simd/). ISA files include this after
// their Vec16, and define the kernels with HEARTH_DEFINE_ATTENTION.
#pragma once

#include "kernels/attention/attention-inl.h"
#include "kernels/attention/attention_codes-inl.h"
#include "kernels/attention/attention_floats-inl.h"
#include "kernels/attention/attention_kernels.h"
#include "kernels/attention/latent-inl.h"
#include "kernels/attention/latent_expanded-inl.h"

#define HEARTH_DEFINE_FLOAT_ATTENTION(format, name, level, places)                    \
  void attend_##name##_##level(const AttendArgs& a) {                                 \
    Attention<FloatPages<format, places>>::attend(a);                                 \
  }                                                                                   \
  void kv_store_##name##_##level(const KvStoreArgs& a) { store_position<format>(a); } \
  HEARTH_DEFINE_LATENT_ATTENTION(LatentRow<format>, name, level, places)

#define HEARTH_DEFINE_LATENT_ATTENTION(row, name, level, places) \
  void attend_latent_##name##_##level(const AttendArgs& a) {     \
    LatentAttention<row, places>::attend(a);                     \
  }                                                              \
  void expand_latent_##name##_##level(const ExpandArgs& a) {     \
    LatentExpansion<row, places>::expand(a);                     \
  }                                                              \
  void store_latent_##name##_##level(const KvStoreArgs& a) { row::store(a); }

// Defines the kernel of q8_0, which multiplies integers. Levels that add instructions for such
// products define only this kernel.
#define HEARTH_DEFINE_DOT_ATTENTION(level, places) \
  void attend_q8_0_##level(const AttendArgs& a) { Attention<CodePages<places>>::attend(a); }

// Defines all kernels of a level. `places` is the kWidth of FloatPages and CodePages.
#define HEARTH_DEFINE_ATTENTION(level, places)                                      \
  HEARTH_DEFINE_FLOAT_ATTENTION(FormatF32, f32, level, places)                      \
  HEARTH_DEFINE_FLOAT_ATTENTION(FormatF16, f16, level, places)                      \
  HEARTH_DEFINE_FLOAT_ATTENTION(FormatBF16, bf16, level, places)                    \
  HEARTH_DEFINE_DOT_ATTENTION(level, places)                                        \
  void kv_store_q8_0_##level(const KvStoreArgs& a) { store_codes(a); }              \
  HEARTH_DEFINE_LATENT_ATTENTION(LatentCodes, q8_0, level, places)                  \
  void attend_expanded_##level(const AttendArgs& a) { attend_expanded<places>(a); } \
  void merge_spans_##level(const MergeArgs& a) { merge_spans(a); }
