// The rules of a tokenizer.json about text, as data: normalisation, splitting into pieces, and
// decoding of tokens. Words and meanings are those of Hugging Face's tokenizers; docs/tokenizers.md
// lists what is read. tokenizer/ applies these rules.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace hearth {

struct TextPattern {
  std::string text;
  // Whether the text is a regular expression in Oniguruma's syntax (tokenizer/pattern_spelling.h);
  // else it is matched literally.
  bool is_regex = true;
};

// The steps of normalisation, which follow each other.
struct NfcStep {};
struct PrependStep {
  std::string text;  // put before text that is not empty
};
struct ReplaceStep {
  TextPattern pattern;
  std::string content;
};
using NormalizeStep = std::variant<NfcStep, PrependStep, ReplaceStep>;

// The treatment of the matches of a pattern that splits text.
enum class CutBehavior : uint8_t {
  kRemoved,
  kIsolated,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,  // isolated, but neighbouring matches stay together
};

// The steps of splitting (pre-tokenisation), which follow each other.
struct SplitStep {
  TextPattern pattern;
  CutBehavior behavior = CutBehavior::kIsolated;
  bool invert = false;  // the text between matches is treated as the matches
};
struct ByteLevelStep {
  bool add_prefix_space = false;
  bool use_regex = true;  // split by GPT-2's pattern
};
enum class PrependScheme : uint8_t { kAlways, kNever, kFirst };
struct MetaspaceStep {
  std::string mark;  // the character that replaces spaces
  PrependScheme prepend = PrependScheme::kAlways;
  bool split = true;  // split before every mark
};
using CutStep = std::variant<SplitStep, ByteLevelStep, MetaspaceStep>;

// The steps of decoding. The steps before FuseStep treat each token by itself.
struct SpellBytesStep {};    // characters of the byte-level alphabet become bytes
struct ByteFallbackStep {};  // "<0x0A>" becomes a byte
struct FuseStep {};
struct StripStep {
  std::string character;
  uint32_t begin = 0, end = 0;  // the most copies that are taken off each end
};
struct SpaceMarkStep {
  std::string mark;        // is replaced by a space
  bool drop_first = true;  // except before the first word
};
using DecodeStep =
    std::variant<SpellBytesStep, ByteFallbackStep, FuseStep, StripStep, SpaceMarkStep, ReplaceStep>;

struct TextRules {
  std::vector<NormalizeStep> normalize;
  std::vector<CutStep> cut;
  std::vector<DecodeStep> decode;
  bool ignore_merges = false;  // a piece that is itself a token is not split by merges
  bool byte_fallback = false;  // a character without a token becomes the byte tokens of its bytes
  bool fuse_unk = false;       // a run of unknown characters is one unknown token
};

}  // namespace hearth
