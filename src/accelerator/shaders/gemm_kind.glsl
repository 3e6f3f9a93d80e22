// The properties of a pack kind and its form (tensor/pack_kind.h), which pipelines set as
// specialisation constants.

// The kinds of weights: integers, or floats in the format of the pack.
const uint kInt8 = 0, kF32 = 1, kF16 = 2, kBF16 = 3, kFP8 = 4, kFP8R = 5;
layout(constant_id = 0) const uint kWeights = kInt8;
layout(constant_id = 1) const uint kCodeWords = 128;  // of a block of a panel

// Codes lie in two planes: one of kLowBits bits each, then one of kHighBits (tensor/pack_codes.h).
// A code stands for kStep * code - kOffset. Where kStep is 0, it stands for an entry of the table
// instead.
layout(constant_id = 2) const uint kLowBits = 8;
layout(constant_id = 3) const uint kHighBits = 0;
layout(constant_id = 4) const uint kStep = 1;
layout(constant_id = 5) const uint kOffset = 128;
layout(constant_id = 6) const uint kTable0 = 0;
layout(constant_id = 7) const uint kTable1 = 0;
layout(constant_id = 8) const uint kTable2 = 0;
layout(constant_id = 9) const uint kTable3 = 0;

// The layout of scales, and the formulas of a scale and a minimum:
//   kGroups   group: scale[16], min[16] if any                            scale; min
//   kSupers   super: f16 d[16]; block: i8 sc[kParts][16]                  d sc
//   kShifted  super: f16 d[16]; block: i8 sc[16]                          d |sc|; d sc / 8
//   kPairs    super: f16 d[16], dmin[16]; block: u8 sc[16], m[16]         d sc; -(dmin m)
//   kNibbles  super: f16 d[16], dmin[16]; block: u8 [2][16], sc + 16 m    d sc; -(dmin m)
//   kLaneE4M3 f32 row[16]; block: E4M3 sc[2][16]                          row sc
// where scale, d and row are multiplied by the table's factor.
const uint kGroups = 0, kSupers = 1, kShifted = 2, kPairs = 3, kNibbles = 4, kLaneE4M3 = 5;
layout(constant_id = 10) const uint kScales = kGroups;
layout(constant_id = 11) const uint kSuperBytes = 32;  // of a super-block or group
layout(constant_id = 12) const uint kBlockBytes = 0;   // of a block
layout(constant_id = 13) const float kFactor = 1.0;
// The forms of groups' scales, as ScaleForm.
const uint kFormF16 = 1, kFormBF16 = 2, kFormF32 = 3, kFormE8M0 = 4;
layout(constant_id = 14) const uint kScaleForm = kFormF16;
// The forms of minima: numbers in f16, or zero points, which are negated and multiplied by the
// scale.
const uint kMinF16 = 0, kZeroPoint = 1, kSignedZeroPoint = 2;
layout(constant_id = 15) const uint kMinForm = kMinF16;
layout(constant_id = 16) const bool kMinima = false;
layout(constant_id = 17) const uint kParts = 1;  // dot products of a block; each has a scale

const bool kIsFp8 = kWeights == kFP8 || kWeights == kFP8R;
const bool kIsBf16 = kWeights == kBF16 || kIsFp8;  // activations are bf16
