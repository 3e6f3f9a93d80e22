#include "tokenizer/newer_characters.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/utf8.h"

namespace hearth {

namespace {

using enum NewerKind;

// The characters of Unicode 16.0's UnicodeData.txt that are not in that of 14.0.
constexpr NewerRange kRanges[] = {
    {0x897, 0x897, kMn},      {0xCF3, 0xCF3, kMc},      {0xECE, 0xECE, kMn},
    {0x1B4E, 0x1B4F, kPo},    {0x1B7F, 0x1B7F, kPo},    {0x1C89, 0x1C89, kLu},
    {0x1C8A, 0x1C8A, kLl},    {0x2427, 0x2429, kSo},    {0x2FFC, 0x2FFF, kSo},
    {0x31E4, 0x31E5, kSo},    {0x31EF, 0x31EF, kSo},    {0xA7CB, 0xA7CC, kLu},
    {0xA7CD, 0xA7CD, kLl},    {0xA7DA, 0xA7DA, kLu},    {0xA7DB, 0xA7DB, kLl},
    {0xA7DC, 0xA7DC, kLu},    {0x105C0, 0x105F3, kLo},  {0x10D40, 0x10D49, kNd},
    {0x10D4A, 0x10D4D, kLo},  {0x10D4E, 0x10D4E, kLm},  {0x10D4F, 0x10D4F, kLo},
    {0x10D50, 0x10D65, kLu},  {0x10D69, 0x10D6D, kMn},  {0x10D6E, 0x10D6E, kPd},
    {0x10D6F, 0x10D6F, kLm},  {0x10D70, 0x10D85, kLl},  {0x10D8E, 0x10D8F, kSm},
    {0x10EC2, 0x10EC4, kLo},  {0x1123F, 0x11240, kLo},  {0x11241, 0x11241, kMn},
    {0x11380, 0x11389, kLo},  {0x1138B, 0x1138B, kLo},  {0x1138E, 0x1138E, kLo},
    {0x11390, 0x113B5, kLo},  {0x113B7, 0x113B7, kLo},  {0x113B8, 0x113BA, kMc},
    {0x113BB, 0x113C0, kMn},  {0x113C2, 0x113C2, kMc},  {0x113C5, 0x113C5, kMc},
    {0x113C7, 0x113CA, kMc},  {0x113CC, 0x113CD, kMc},  {0x113CE, 0x113CE, kMn},
    {0x113CF, 0x113CF, kMc},  {0x113D0, 0x113D0, kMn},  {0x113D1, 0x113D1, kLo},
    {0x113D2, 0x113D2, kMn},  {0x113D3, 0x113D3, kLo},  {0x113D4, 0x113D5, kPo},
    {0x113D7, 0x113D8, kPo},  {0x113E1, 0x113E2, kMn},  {0x116D0, 0x116E3, kNd},
    {0x11B00, 0x11B09, kPo},  {0x11BC0, 0x11BE0, kLo},  {0x11BE1, 0x11BE1, kPo},
    {0x11BF0, 0x11BF9, kNd},  {0x11F00, 0x11F01, kMn},  {0x11F02, 0x11F02, kLo},
    {0x11F03, 0x11F03, kMc},  {0x11F04, 0x11F10, kLo},  {0x11F12, 0x11F33, kLo},
    {0x11F34, 0x11F35, kMc},  {0x11F36, 0x11F3A, kMn},  {0x11F3E, 0x11F3F, kMc},
    {0x11F40, 0x11F40, kMn},  {0x11F41, 0x11F41, kMc},  {0x11F42, 0x11F42, kMn},
    {0x11F43, 0x11F4F, kPo},  {0x11F50, 0x11F59, kNd},  {0x11F5A, 0x11F5A, kMn},
    {0x1342F, 0x1342F, kLo},  {0x13439, 0x1343F, kCf},  {0x13440, 0x13440, kMn},
    {0x13441, 0x13446, kLo},  {0x13447, 0x13455, kMn},  {0x13460, 0x143FA, kLo},
    {0x16100, 0x1611D, kLo},  {0x1611E, 0x16129, kMn},  {0x1612A, 0x1612C, kMc},
    {0x1612D, 0x1612F, kMn},  {0x16130, 0x16139, kNd},  {0x16D40, 0x16D42, kLm},
    {0x16D43, 0x16D6A, kLo},  {0x16D6B, 0x16D6C, kLm},  {0x16D6D, 0x16D6F, kPo},
    {0x16D70, 0x16D79, kNd},  {0x18CFF, 0x18CFF, kLo},  {0x1B132, 0x1B132, kLo},
    {0x1B155, 0x1B155, kLo},  {0x1CC00, 0x1CCEF, kSo},  {0x1CCF0, 0x1CCF9, kNd},
    {0x1CD00, 0x1CEB3, kSo},  {0x1D2C0, 0x1D2D3, kNo},  {0x1DF25, 0x1DF2A, kLl},
    {0x1E030, 0x1E06D, kLm},  {0x1E08F, 0x1E08F, kMn},  {0x1E4D0, 0x1E4EA, kLo},
    {0x1E4EB, 0x1E4EB, kLm},  {0x1E4EC, 0x1E4EF, kMn},  {0x1E4F0, 0x1E4F9, kNd},
    {0x1E5D0, 0x1E5ED, kLo},  {0x1E5EE, 0x1E5EF, kMn},  {0x1E5F0, 0x1E5F0, kLo},
    {0x1E5F1, 0x1E5FA, kNd},  {0x1E5FF, 0x1E5FF, kPo},  {0x1F6DC, 0x1F6DC, kSo},
    {0x1F774, 0x1F77F, kSo},  {0x1F7D9, 0x1F7D9, kSo},  {0x1F8B2, 0x1F8BB, kSo},
    {0x1F8C0, 0x1F8C1, kSo},  {0x1FA75, 0x1FA77, kSo},  {0x1FA87, 0x1FA8A, kSo},
    {0x1FAAD, 0x1FAAF, kSo},  {0x1FABB, 0x1FABF, kSo},  {0x1FAC6, 0x1FAC6, kSo},
    {0x1FADA, 0x1FADC, kSo},  {0x1FADF, 0x1FADF, kSo},  {0x1FAE8, 0x1FAEA, kSo},
    {0x1FAF7, 0x1FAF8, kSo},  {0x1FBCB, 0x1FBEF, kSo},  {0x2B739, 0x2B73F, kHan},
    {0x2EBF0, 0x2EE5D, kHan}, {0x31350, 0x33479, kHan},
};

constexpr size_t kBlockBits = 8;
constexpr size_t kBlocks = (std::end(kRanges)[-1].last >> kBlockBits) + 1;

// Whether each block of 256 characters has a newer one; most texts have no character of such a
// block.
constexpr std::array<bool, kBlocks> kBlockHas = [] {
  std::array<bool, kBlocks> has{};
  for (const NewerRange& range : kRanges) {
    for (char32_t block = range.first >> kBlockBits; block <= range.last >> kBlockBits; ++block) {
      has[block] = true;
    }
  }
  return has;
}();

const NewerRange* find_newer(char32_t character) {
  const size_t block = character >> kBlockBits;
  if (block >= kBlocks || !kBlockHas[block]) return nullptr;
  const auto* found = std::ranges::lower_bound(kRanges, character, {}, &NewerRange::last);
  return found != std::end(kRanges) && found->first <= character ? found : nullptr;
}

// The stand-ins of a kind with three and with four bytes; 0: the kind needs none.
struct StandIns {
  NewerKind kind;
  char32_t three, four;
};
constexpr StandIns kStandIns[] = {
    {kCf, 0, 0x1D173}, {kHan, 0, 0x20000},     {kLl, 0x1E01, 0x10428}, {kLm, 0, 0x16B40},
    {kLo, 0, 0x10300}, {kLu, 0x1E00, 0x10400}, {kMc, 0x903, 0x1D165},  {kMn, 0x20D0, 0x1D167},
    {kNd, 0, 0x1D7CE}, {kNo, 0, 0x10107},      {kPd, 0, 0x10EAD},      {kPo, 0x2016, 0x10100},
    {kSm, 0, 0x1D6C1}, {kSo, 0x2100, 0x1F300},
};

char32_t stand_in(NewerKind kind, size_t bytes) {
  const StandIns& both = kStandIns[static_cast<size_t>(kind)];
  const char32_t character = bytes == 3 ? both.three : both.four;
  HEARTH_CHECK(both.kind == kind && character != 0, "every newer character has a stand-in");
  return character;
}

// Returns whether a lead byte begins three bytes or four, as all newer characters have.
bool is_long(char lead) { return static_cast<uint8_t>(lead) >= 0xE0; }

}  // namespace

std::span<const NewerRange> newer_characters() { return kRanges; }

std::string_view with_stand_ins(std::string_view text, std::string* made) {
  bool any = false;
  for (size_t at = 0, length = 0; at < text.size(); at += length) {
    length = 1;
    if (!is_long(text[at])) continue;
    length = static_cast<uint8_t>(text[at]) >= 0xF0 ? 4 : 3;
    const NewerRange* found = find_newer(utf8_decode(text.substr(at, length)));
    if (found == nullptr) continue;
    if (!any) made->assign(text);
    any = true;
    std::string shown;
    utf8_append(shown, stand_in(found->kind, length));
    made->replace(at, length, shown);
  }
  return any ? std::string_view(*made) : text;
}

}  // namespace hearth
