// The rules of a tokenizer.json about text, as data: how it is normalised, cut into pieces, and
// made again from tokens. Words and meanings are those of Hugging Face's tokenizers;
// docs/tokenizers.md lists what is read. tokenizer/ does what these rules say.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace hearth {

struct TextPattern {
  std::string text;
  // A pattern in Oniguruma's syntax (tokenizer/pattern_spelling.h); else the text itself.
  bool is_regex = true;
};

// Normalising, a step after the other.
struct NfcStep {};
struct PrependStep {
  std::string text;  // put before text that is not empty
};
struct ReplaceStep {
  TextPattern pattern;
  std::string content;
};
using NormalizeStep = std::variant<NfcStep, PrependStep, ReplaceStep>;

// The fate of the matches of a pattern that cuts.
enum class CutBehavior : uint8_t {
  kRemoved,
  kIsolated,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,  // isolated, but neighbouring matches together
};

// Cutting, a step after the other.
struct SplitStep {
  TextPattern pattern;
  CutBehavior behavior = CutBehavior::kIsolated;
  bool invert = false;  // what lies between the matches counts as the matches
};
struct ByteLevelStep {
  bool add_prefix_space = false;
  bool use_regex = true;  // cut as GPT-2
};
enum class PrependScheme : uint8_t { kAlways, kNever, kFirst };
struct MetaspaceStep {
  std::string mark;  // a character, put in place of spaces
  PrependScheme prepend = PrependScheme::kAlways;
  bool split = true;  // before every mark
};
using CutStep = std::variant<SplitStep, ByteLevelStep, MetaspaceStep>;

// Making text of tokens. Up to FuseStep each of them stands alone.
struct SpellBytesStep {};    // the byte-level alphabet's characters become bytes
struct ByteFallbackStep {};  // "<0x0A>" becomes a byte
struct FuseStep {};
struct StripStep {
  std::string character;
  uint32_t begin = 0, end = 0;  // so many are taken away, at most
};
struct SpaceMarkStep {
  std::string mark;        // becomes a space
  bool drop_first = true;  // but not before the first word
};
using DecodeStep =
    std::variant<SpellBytesStep, ByteFallbackStep, FuseStep, StripStep, SpaceMarkStep, ReplaceStep>;

struct TextRules {
  std::vector<NormalizeStep> normalize;
  std::vector<CutStep> cut;
  std::vector<DecodeStep> decode;
  bool ignore_merges = false;  // a piece that is a token as a whole becomes that token
  bool byte_fallback = false;  // a character without a token becomes the byte tokens of its bytes
  bool fuse_unk = false;       // a run of unknown characters is one unknown token
};

}  // namespace hearth
