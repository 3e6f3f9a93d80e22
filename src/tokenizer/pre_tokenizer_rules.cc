#include <algorithm>
#include <array>
#include <utility>

#include "tokenizer/pre_tokenizer.h"

namespace hearth {

namespace {

constexpr std::string_view kGpt2Words =
    R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))re";
constexpr std::string_view kDigit = R"re(\p{N})re";
constexpr std::string_view kDigits = R"re(\p{N}+)re";
constexpr std::string_view kThreeAsciiDigits = R"re([0-9][0-9][0-9])re";
constexpr std::string_view kNewline = R"re([\r\n])re";
constexpr std::string_view kHanHangul =
    R"re([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)re";

// These families make one piece of a contraction, and one of a word together with the character
// before it. They differ in how digits are grouped and in the definition of a word.
#define HEARTH_CONTRACTION R"re((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]))re"
#define HEARTH_LETTERS R"re([^\r\n\p{L}\p{N}]?\p{L}+)re"
#define HEARTH_SYMBOLS_AND_SPACE R"re( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"
constexpr std::string_view kLlama3 =
    HEARTH_CONTRACTION "|" HEARTH_LETTERS R"re(|\p{N}{1,3}|)re" HEARTH_SYMBOLS_AND_SPACE;
constexpr std::string_view kQwen2 =
    HEARTH_CONTRACTION "|" HEARTH_LETTERS R"re(|\p{N}|)re" HEARTH_SYMBOLS_AND_SPACE;
constexpr std::string_view kSeedCoder = HEARTH_CONTRACTION
    "|" HEARTH_LETTERS R"re(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kQwen35 = HEARTH_CONTRACTION
    R"re(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+)re"
    R"re(|\s+(?!\S)|\s+)re";

// A word is capitals followed by small letters, so that camelCase is split.
#define HEARTH_CAPITALS R"re([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])re"
#define HEARTH_SMALL R"re([\p{Ll}\p{Lm}\p{Lo}\p{M}])re"
#define HEARTH_CASED(suffix)                                              \
  R"re([^\r\n\p{L}\p{N}]?)re" HEARTH_CAPITALS "*" HEARTH_SMALL "+" suffix \
  R"re(|[^\r\n\p{L}\p{N}]?)re" HEARTH_CAPITALS "+" HEARTH_SMALL "*" suffix
#define HEARTH_SYMBOLS_SLASH_AND_SPACE R"re( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re"
constexpr std::string_view kTekken =
    HEARTH_CASED("") R"re(|\p{N}|)re" HEARTH_SYMBOLS_SLASH_AND_SPACE;
constexpr std::string_view kGpt4o =
    HEARTH_CASED(HEARTH_CONTRACTION "?") R"re(|\p{N}{1,3}|)re" HEARTH_SYMBOLS_SLASH_AND_SPACE;

constexpr std::string_view kDeepseekLlmWord =
    R"re(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})re"
    R"re(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})re"
    R"re(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F})re"
    R"re(\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})re"
    R"re(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})re"
    R"re(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B})re"
    R"re(\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4})re"
    R"re(\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4})re"
    R"re(\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124})re"
    R"re(\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F})re"
    R"re(\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})re"
    R"re(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})re"
    R"re(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})re"
    R"re(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3})re"
    R"re(\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF})re"
    R"re(\x{1E900}-\x{1E943}]+)re";
constexpr std::string_view kDeepseekLlmPunctuation =
    R"re(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)re";
// The published pattern is \s+$. This form goes through a long run of spaces inside a line only
// once; the published one does so from each space.
constexpr std::string_view kSpaceAtEnd = R"re((?<!\s)\s++\z)re";
constexpr std::string_view kSpaceWord = R"re(\s?\p{L}+)re";
constexpr std::string_view kSpacePunctuation = R"re(\s?\p{P}+)re";
constexpr std::string_view kThreeDigits = R"re(\p{N}{1,3})re";
constexpr std::string_view kHanKana =
    R"re([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)re";
constexpr std::string_view kDeepseekV3 =
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+)re"
    R"re(|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)re"
    R"re(|\s*[\r\n]+|\s+(?!\S)|\s+)re";

// The published pattern excludes Han from its classes: [\p{Lu}...&&[^\p{Han}]]* is followed by
// [\p{Ll}...&&[^\p{Han}]]+, and both match letters without case and marks. This form is equivalent
// and goes through no run twice: capitals and shared letters, then small ones; or, where no small
// one follows, all up to the last shared one.
#define HEARTH_NO_HAN(class) R"re((?:(?!\p{Han})[)re" class R"re(]))re"
#define HEARTH_KIMI_CAPITAL HEARTH_NO_HAN(R"re(\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M})re")
#define HEARTH_KIMI_SMALL HEARTH_NO_HAN(R"re(\p{Ll}\p{Lm}\p{Lo}\p{M})re")
#define HEARTH_KIMI_SHARED HEARTH_NO_HAN(R"re(\p{Lm}\p{Lo}\p{M})re")
#define HEARTH_KIMI_CONTRACTION R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)?)re"
constexpr std::string_view kKimiK2 =
    R"re(\p{Han}+|[^\r\n\p{L}\p{N}]?(?:)re" HEARTH_KIMI_CAPITAL "*+" HEARTH_KIMI_SMALL
    R"re(++|(?:[\p{Lu}\p{Lt}]*+)re" HEARTH_KIMI_SHARED "++)++)" HEARTH_KIMI_CONTRACTION
    R"re(|[^\r\n\p{L}\p{N}]?)re" HEARTH_KIMI_CAPITAL "++" HEARTH_KIMI_SMALL
    "*+" HEARTH_KIMI_CONTRACTION R"re(|\p{N}{1,3}|)re" HEARTH_SYMBOLS_AND_SPACE;

constexpr std::array kKimiK2Patterns = {kKimiK2};
constexpr std::array kGpt2Patterns = {kGpt2Words};
constexpr std::array kLlama3Patterns = {kLlama3};
constexpr std::array kQwen2Patterns = {kQwen2};
constexpr std::array kQwen35Patterns = {kQwen35};
constexpr std::array kSeedCoderPatterns = {kSeedCoder};
constexpr std::array kTekkenPatterns = {kTekken};
constexpr std::array kGpt4oPatterns = {kGpt4o};
constexpr std::array kStarcoderPatterns = {kDigit, kGpt2Words};
constexpr std::array<std::string_view, 3> kFalconPatterns = {R"re([\p{P}\$\+<=>\^~\|`]+)re",
                                                             kGpt2Words, kThreeAsciiDigits};
constexpr std::array<std::string_view, 4> kDefaultPatterns = {
    R"re([\p{P}\$\+<=>\^~\|]+)re", kGpt2Words, kDigits, kThreeAsciiDigits};
constexpr std::array kDeepseekLlmPatterns = {kNewline,    kDeepseekLlmWord, kDeepseekLlmPunctuation,
                                             kSpaceAtEnd, kHanHangul,       kDigits};
constexpr std::array kDeepseekCoderPatterns = {kNewline, kSpaceWord, kSpacePunctuation, kHanHangul,
                                               kDigit};
constexpr std::array kDeepseekV3Patterns = {kThreeDigits, kHanKana, kDeepseekV3};

constexpr PreTokenizerRule kLlama3Rule = {kLlama3Patterns, true, true};
constexpr PreTokenizerRule kLlama3MergesRule = {kLlama3Patterns, false, false};
constexpr PreTokenizerRule kGpt2Rule = {kGpt2Patterns, false, false};
constexpr PreTokenizerRule kStarcoderRule = {kStarcoderPatterns, false, false};
constexpr PreTokenizerRule kGpt2NfcRule = {kGpt2Patterns, false, false, true};
constexpr PreTokenizerRule kQwen2Rule = {kQwen2Patterns, false, false};
constexpr PreTokenizerRule kQwen2NfcRule = {kQwen2Patterns, false, false, true};
constexpr PreTokenizerRule kGpt4oRule = {kGpt4oPatterns, false, false};
constexpr PreTokenizerRule kDeepseekV3Rule = {kDeepseekV3Patterns, false, false};

struct Named {
  std::string_view name;
  PreTokenizerRule rule;
};

// The rules are sorted by name.
constexpr Named kRules[] = {
    {"chatglm-bpe", kLlama3MergesRule},
    {"codeshell", kStarcoderRule},
    {"command-r", {kStarcoderPatterns, false, false, true}},
    {"dbrx", kLlama3MergesRule},
    {"deepseek-coder", {kDeepseekCoderPatterns, false, false}},
    {"deepseek-llm", {kDeepseekLlmPatterns, false, false}},
    {"deepseek-r1-qwen", kQwen2NfcRule},
    {"deepseek-v3", kDeepseekV3Rule},
    {"default", {kDefaultPatterns, false, false}},
    {"exaone", kStarcoderRule},
    {"exaone4", kGpt2Rule},
    {"falcon", {kFalconPatterns, false, false}},
    {"falcon-h1", kLlama3Rule},
    {"falcon3", kLlama3Rule},
    {"gigachat", kGpt2Rule},
    {"glm4", kLlama3MergesRule},
    {"gpt-2", kGpt2Rule},
    {"gpt-4o", kGpt4oRule},
    {"granite-docling", kGpt2Rule},
    {"hunyuan", kQwen2Rule},
    {"hunyuan-dense", kDeepseekV3Rule},
    {"jina-v2-code", kGpt2Rule},
    {"jina-v2-de", kGpt2Rule},
    {"jina-v2-es", kGpt2Rule},
    {"joyai-llm", kDeepseekV3Rule},
    {"kimi-k2", {kKimiK2Patterns, true, false}},
    {"lfm2", kLlama3Rule},
    {"llama-bpe", kLlama3Rule},
    {"llama-v3", kLlama3Rule},
    {"llama3", kLlama3Rule},
    {"llama4", kGpt4oRule},
    {"megrez", kQwen2Rule},
    {"minerva-7b", kStarcoderRule},
    {"minimax-m2", kGpt4oRule},
    {"mpt", kGpt2NfcRule},
    {"olmo", kGpt2NfcRule},
    {"phi-2", kGpt2Rule},
    {"pixtral", kLlama3Rule},
    {"qwen2", kQwen2NfcRule},
    {"qwen35", {kQwen35Patterns, false, false, true}},
    {"refact", kStarcoderRule},
    {"roberta-bpe", kGpt2Rule},
    {"seed-coder", {kSeedCoderPatterns, false, false}},
    {"smaug-bpe", kLlama3MergesRule},
    {"smollm", kStarcoderRule},
    {"stablelm2", kQwen2NfcRule},
    {"starcoder", kStarcoderRule},
    {"tekken", {kTekkenPatterns, true, true}},
};

}  // namespace

const PreTokenizerRule* find_pre_tokenizer(std::string_view name) {
  const auto* found = std::lower_bound(
      std::begin(kRules), std::end(kRules), name,
      [](const Named& rule, std::string_view wanted) { return rule.name < wanted; });
  return found != std::end(kRules) && found->name == name ? &found->rule : nullptr;
}

std::string pre_tokenizer_names() {
  std::string names;
  for (const Named& rule : kRules) {
    if (!names.empty()) names += ", ";
    names += rule.name;
  }
  return names;
}

}  // namespace hearth
