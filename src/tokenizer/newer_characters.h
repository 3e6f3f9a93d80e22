// Characters that PCRE2's tables may not know yet: those that Unicode 15, 15.1 and 16 have beside
// those of 14, which PCRE2 10.42 has. The tokenizers that publish a model's patterns know them
// (Hugging Face's runs Oniguruma 6.9.10), so that \p{S} takes a picture of the year 2022.
//
// To a pattern a stand-in is shown in the place of such a character: one of Unicode 14 with the
// same general category, the same answer to \p{Han} and as many bytes. So matches lie where they
// would. What a stand-in does not keep: other scripts than Han, and its other case.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

// "Lo"; the names of general categories. kHan: an ideograph, which is Lo.
enum class NewerKind : uint8_t {
  kCf,
  kHan,
  kLl,
  kLm,
  kLo,
  kLu,
  kMc,
  kMn,
  kNd,
  kNo,
  kPd,
  kPo,
  kSm,
  kSo
};

struct NewerRange {
  char32_t first, last;
  NewerKind kind;
};

// Ascending, without gaps between the two ends of each.
std::span<const NewerRange> newer_characters();

// Returns `text`, well-formed UTF-8, where it has no newer character; else `made`, which becomes
// the text with stand-ins, of the same size. Takes time linear in the text.
std::string_view with_stand_ins(std::string_view text, std::string* made);

}  // namespace hearth
