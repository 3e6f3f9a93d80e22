#include "accelerator/vulkan/float_modes.h"

#include "base/check.h"

namespace hearth {

namespace {

// See SPIR-V 1.6, 2.3 and 3.42. The first word of an instruction has the number of its words and
// its opcode.
constexpr uint32_t kHeaderWords = 5;
constexpr uint32_t kEntryPoint = 15, kExecutionMode = 16, kCapability = 17;

struct ModeWords {
  uint32_t capability, mode;
};
constexpr ModeWords kDenormPreserve = {4464, 4459};
constexpr ModeWords kSignedZeroInfNanPreserve = {4466, 4461};
constexpr ModeWords kRoundingModeRte = {4467, 4462};

}  // namespace

std::vector<uint32_t> with_float_modes(std::span<const uint32_t> module, const FloatModes& modes) {
  HEARTH_CHECK(module.size() > kHeaderWords && module[0] == 0x07230203, "no SPIR-V");
  std::vector<ModeWords> wanted;
  if (modes.keep_subnormals) wanted.push_back(kDenormPreserve);
  if (modes.keep_special) wanted.push_back(kSignedZeroInfNanPreserve);
  if (modes.round_to_even) wanted.push_back(kRoundingModeRte);
  std::vector<uint32_t> out(module.begin(), module.begin() + kHeaderWords);
  for (const ModeWords& words : wanted) {
    out.insert(out.end(), {2u << 16 | kCapability, words.capability});
  }
  for (size_t at = kHeaderWords; at < module.size();) {
    const uint32_t length = module[at] >> 16, number = module[at] & 0xffff;
    HEARTH_CHECK(length > 0 && at + length <= module.size(), "SPIR-V that is cut off");
    out.insert(out.end(), module.begin() + static_cast<ptrdiff_t>(at),
               module.begin() + static_cast<ptrdiff_t>(at + length));
    if (number == kEntryPoint) {
      for (const ModeWords& words : wanted) {
        out.insert(out.end(), {4u << 16 | kExecutionMode, module[at + 2], words.mode, 32u});
      }
    }
    at += length;
  }
  return out;
}

}  // namespace hearth
