// The values of KvType, and the layout of a half of a page as kernels/attention/attention.h has it.
const uint kF32 = 0, kF16 = 1, kBF16 = 2, kQ8_0 = 3;
const uint kInfinity = 0x7f800000u;
const uint kMinMagnitude = 0x0d800000u;  // 2^-100

uint padded_length(uint length) { return (length + 15) / 16 * 16; }
// Returns the place of the first scale in a half of q8_0, counted in numbers of 16 bits.
uint scales_at(uint length) { return 32 * padded_length(length); }
