// Vocab: a model's vocabulary as plain data, with the rules that its file states, or the defaults
// of the vocabulary's kind. Made from a model's source (ModelSource::vocabulary()) or filled in by
// a caller; check_vocab() checks that a tokenizer can be made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/text_rules.h"

namespace hearth {

enum class VocabKind {
  kBpe,        // byte-level BPE ("gpt2")
  kSpm,        // SentencePiece: scores, merged greedily ("llama")
  kWordPiece,  // ("bert")
  kUnigram,    // SentencePiece: log-probabilities, the likeliest tokens ("t5")
};

// The values are the numbers of tokenizer.ggml.token_type.
enum class TokenType : uint8_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // found in text only if special tokens are parsed; not rendered by default
  kUserDefined = 4,  // always found in text
  kUnused = 5,
  kByte = 6,  // "<0x0A>"
};

// Two neighbours that become one token. The pair with the lowest rank merges first, of equal ranks
// the leftmost.
struct MergeRule {
  int32_t left;
  int32_t right;
  int32_t merged;
  uint32_t rank;
};

// How a special token is found in text, beyond its spelling.
struct AddedRule {
  int32_t id = 0;
  bool single_word = false;  // only if it is a word by itself, with no letter beside it
  bool strip_left = false;   // takes the white space before it
  bool strip_right = false;  // takes the white space behind it
  bool normalized = false;   // is found in normalised text, by its normalised form
  bool outside = false;      // merges cannot make it
};

struct Vocab {
  static constexpr int32_t kNone = -1;

  std::string source;                                  // the file, for messages
  std::string tokens_field = "tokenizer.ggml.tokens";  // the file's key of tokens, for messages
  VocabKind kind = VocabKind::kBpe;
  std::string pre;  // kBpe: the pre-tokenizer's name

  std::vector<std::string> tokens;  // by id, as the file spells them
  bool raw_bytes = false;         // kBpe: normal tokens are raw bytes, not the byte-level alphabet
  std::vector<TokenType> types;   // by id
  std::vector<float> scores;      // kSpm, kUnigram: by id; empty otherwise
  std::vector<MergeRule> merges;  // kBpe
  std::string charsmap;  // kUnigram: the bytes of SentencePiece's map (tokenizer/character_map.h)

  int32_t bos = kNone;  // [CLS] of a WordPiece vocabulary
  int32_t eos = kNone;  // [SEP] of a WordPiece vocabulary
  int32_t eot = kNone;
  int32_t eom = kNone;
  int32_t unk = kNone;
  int32_t sep = kNone;
  int32_t pad = kNone;
  int32_t mask = kNone;
  std::vector<int32_t> eog;  // ids that end a generation, ascending

  std::optional<bool> add_bos = std::nullopt;  // kBpe; none: the pre-tokenizer's default
  bool add_eos = false;
  bool add_space_prefix = false;          // kSpm, kUnigram
  bool remove_extra_whitespaces = false;  // kUnigram
  bool lowercase = true;                  // kWordPiece
  bool strip_accents = true;              // kWordPiece
  // Ids put before and behind a text if BOS and EOS are to be added; empty: only BOS and EOS.
  std::vector<int32_t> before, behind;
  // Ids put between the two texts of a pair that an encoder reads.
  std::vector<int32_t> between;
  std::vector<AddedRule> added;    // special tokens with rules, by ascending ids
  std::optional<TextRules> rules;  // kBpe: the rules of tokenizer.json, instead of `pre`

  // Sentences about harmless oddities in the file, for the log.
  std::vector<std::string> warnings;
};

// A metadata key of an id, and the field that it sets.
struct VocabIdKey {
  std::string_view key;
  int32_t Vocab::*id;
};
inline constexpr VocabIdKey kVocabIdKeys[] = {
    {"tokenizer.ggml.bos_token_id", &Vocab::bos},
    {"tokenizer.ggml.eos_token_id", &Vocab::eos},
    {"tokenizer.ggml.eot_token_id", &Vocab::eot},
    {"tokenizer.ggml.eom_token_id", &Vocab::eom},
    {"tokenizer.ggml.unknown_token_id", &Vocab::unk},
    {"tokenizer.ggml.seperator_token_id", &Vocab::sep},  // spelled so by the format
    {"tokenizer.ggml.padding_token_id", &Vocab::pad},
    {"tokenizer.ggml.mask_token_id", &Vocab::mask},
};

// Adds tokens that end a turn or a generation to vocab.eog: eos, eot, eom, `ends` (ids that the
// source calls ends), and tokens with well-known names, whatever the file's ids say. All of them
// become control tokens, even if the file gives them another type: converters get that wrong, and a
// chat would show them and never end.
void find_end_tokens(Vocab& vocab, std::vector<int32_t> ends = {});

// Returns the rule of the special token, or nullptr.
const AddedRule* find_added_rule(const Vocab& vocab, int32_t id);

// Throws (kFile, naming the field) if sizes do not fit the number of tokens, an id lies outside the
// vocabulary or a score is not a number. Each kind's encoder checks the rest.
void check_vocab(const Vocab& vocab);

}  // namespace hearth
