// Stand-ins for characters that PCRE2's tables may not know yet: the characters that Unicode 15,
// 15.1 and 16 add to Unicode 14, which PCRE2 10.42 has. The tokenizers with which models' patterns
// are published know them (Hugging Face's has Oniguruma 6.9.10), so that for example \p{S} matches
// an emoji of 2022.
//
// A pattern sees a stand-in in place of such a character: one of Unicode 14 with the same general
// category, the same answer to \p{Han} and as many bytes. So matches lie at the same places. A
// stand-in may differ in scripts other than Han, and in its upper or lower case.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

// The general categories of newer characters: kLo is "Lo". kHan: an ideograph, which is Lo, too.
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

// Returns all newer characters as ranges, ascending.
std::span<const NewerRange> newer_characters();

// Returns `text`, which is well-formed UTF-8, where it has no newer character; else sets `made` to
// the text with stand-ins, of the same size, and returns that. Takes time linear in the text.
std::string_view with_stand_ins(std::string_view text, std::string* made);

}  // namespace hearth
