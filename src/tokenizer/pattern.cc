#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/pattern.h"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>

#include "base/error.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "tokenizer/pattern_spelling.h"

namespace hearth {

namespace {

// The limits of one search: how often it may backtrack, and the KiB it may use for that.
constexpr uint32_t kMaxSteps = 10'000'000;
constexpr uint32_t kMaxKib = 256 << 10;
constexpr size_t kMaxPatternBytes = 1 << 16;
// A pattern of DeepSeek's models, and one with the same matches that goes through a long run of
// spaces inside a line only once; the published one does so from each space.
constexpr std::string_view kTrailingSpace = R"(\s+$)", kTrailingSpaceOnce = R"((?<!\s)\s+$)";

}  // namespace

struct MatchMemory::Made {
  Made() : data(pcre2_match_data_create(1, nullptr)), context(pcre2_match_context_create(nullptr)) {
    if (data == nullptr || context == nullptr) {
      pcre2_match_data_free(data);
      pcre2_match_context_free(context);
      throw std::bad_alloc();
    }
    pcre2_set_match_limit(context, kMaxSteps);
    pcre2_set_heap_limit(context, kMaxKib);
  }
  ~Made() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  pcre2_match_data* data;
  pcre2_match_context* context;
};

MatchMemory::MatchMemory(Pace* pace) : made_(std::make_unique<Made>()), pace_(pace) {}
MatchMemory::~MatchMemory() = default;

struct Pattern::Code {
  explicit Code(pcre2_code* made) : code(made) {}
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  pcre2_code* code;
};

Pattern::Pattern(const TextPattern& pattern, std::string_view file)
    : shown_(printable(pattern.text)) {
  auto refuse = [&](std::string_view why) {
    fail(ErrorCode::kFile,
         "{}: the tokenizer's pattern '{}' cannot be used: {}; get or convert the model again",
         file, shown_, why);
  };
  if (pattern.text.size() > kMaxPatternBytes) refuse("it is too long");
  std::string spelled = pattern.text;
  uint32_t options = PCRE2_UTF | PCRE2_LITERAL;
  if (pattern.is_regex) {
    try {
      const bool slow = pattern.text == kTrailingSpace;
      spelled = spell_for_pcre2(slow ? kTrailingSpaceOnce : std::string_view(pattern.text));
    } catch (const Error& error) {
      refuse(error.what());
    }
    // Oniguruma's ^ and $ match at the ends of lines.
    options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  }
  std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  if (context == nullptr) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_ = std::make_unique<Code>(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()),
                                               spelled.size(), options, &error, &offset,
                                               context.get()));
  if (code_->code == nullptr) {
    if (error == PCRE2_ERROR_HEAP_FAILED) throw std::bad_alloc();
    std::array<char, 128> said{};
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(said.data()), said.size());
    refuse(said.data());
  }
  // PCRE2's interpreter does the same, more slowly, if machine code cannot be made at run time.
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);
}

Pattern::Pattern(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

bool Pattern::next(std::string_view text, Cursor* cursor, MatchMemory& memory) const {
  auto search = [&](uint32_t options) {
    return pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                       cursor->from, PCRE2_NO_UTF_CHECK | options, memory.made_->data,
                       memory.made_->context);
  };
  if (memory.pace_ != nullptr) memory.pace_->did(1);
  while (cursor->from <= text.size()) {
    int found = search(0);
    // Machine code has a small stack; the interpreter uses the heap.
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = search(PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH) return false;
    if (found == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(memory.made_->data);
    if (found < 0 || span[0] > span[1] || span[0] < cursor->from) {
      fail(ErrorCode::kRequest,
           "the tokenizer's pattern '{}' takes too long on a text of {} bytes (PCRE2 error {}): "
           "shorten the text, or use another model",
           shown_, text.size(), found);
    }
    if (span[0] == span[1] && cursor->last_end == span[1]) {
      cursor->from += std::max<size_t>(utf8_sequence(text.substr(cursor->from)), 1);
      continue;
    }
    cursor->begin = span[0];
    cursor->end = cursor->from = span[1];
    cursor->last_end = span[1];
    return true;
  }
  return false;
}

}  // namespace hearth
