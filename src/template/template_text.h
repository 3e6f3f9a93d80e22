// Text: a string of a chat template while it is rendered. It is UTF-8, and records which of its
// bytes are untrusted, since they came from the request. Every operation passes that on for each
// byte. In doubt, bytes count as untrusted. TextBuilder makes a Text.
//
// TemplateBudget limits one rendering: steps, bytes of strings alive at a time, values in
// containers. TemplateFault is the error of everything below the evaluator, which adds the line.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/pace.h"

namespace hearth {

class TemplateFault : public std::runtime_error {
 public:
  // `unsupported`: the template needs something that this program lacks, whatever the conversation.
  explicit TemplateFault(const std::string& message, bool unsupported = false)
      : std::runtime_error(message), unsupported_(unsupported) {}
  bool unsupported() const { return unsupported_; }

 private:
  bool unsupported_;
};

template <typename... Args>
[[noreturn]] void fault(fmt::format_string<Args...> format, Args&&... args) {
  throw TemplateFault(fmt::format(format, std::forward<Args>(args)...));
}

class TemplateBudget {
 public:
  static constexpr uint64_t kSteps = 1'000'000;
  static constexpr size_t kTextBytes = size_t{16} << 20;  // the most bytes of one string
  static constexpr size_t kAliveBytes = size_t{96} << 20;
  static constexpr uint64_t kElements = 4'000'000;

  // `pace` is the rendering's, which outlives the budget; null where no other work waits for this
  // thread.
  explicit TemplateBudget(Pace* pace = nullptr) : pace_(pace) {}

  void step() { spend(kTicks); }
  // Count work on bytes: copied, searched, or mapped character by character.
  void copied(size_t bytes) { spend(bytes / 8); }
  void scanned(size_t bytes) { spend(bytes); }
  void mapped(size_t bytes) { spend(bytes * 16); }
  // Counts a search through `bytes` bytes for `needle` bytes, which the search first goes through.
  void searched(size_t bytes, size_t needle) { spend(uint64_t{64} + bytes + needle); }
  // Counts values put into lists and mappings; they stay counted until the rendering ends.
  void add_elements(uint64_t count);
  void hold(size_t bytes);
  void release(size_t bytes) { alive_ -= bytes; }

 private:
  static constexpr uint64_t kTicks = 1024;  // ticks of one step
  // Work is reported to the pace in larger amounts. A step takes about as long as two of the pace's
  // units.
  static constexpr uint64_t kTicksOfPace = uint64_t{256} * kTicks;
  void spend(uint64_t ticks) {
    ticks_ += ticks;
    if (ticks_ > kSteps * kTicks) out_of_steps();
    if (ticks_ - paced_ >= kTicksOfPace) keep_pace();
  }
  void keep_pace();
  [[noreturn]] static void out_of_steps();

  Pace* pace_;
  uint64_t ticks_ = 0;
  uint64_t paced_ = 0;  // ticks reported to the pace
  uint64_t elements_ = 0;
  size_t alive_ = 0;
};

using ByteRange = std::pair<size_t, size_t>;  // [begin, end)

class Text {
 public:
  // Throws TemplateFault where the bytes exceed the budget, which is null for a template's own
  // literals.
  Text(std::string bytes, std::vector<ByteRange> untrusted, bool markup, TemplateBudget* budget);
  ~Text();
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  std::string_view bytes() const { return bytes_; }
  // Returns the untrusted ranges: sorted, disjoint, not empty, with gaps between them.
  const std::vector<ByteRange>& untrusted() const { return untrusted_; }
  bool any_untrusted() const { return !untrusted_.empty(); }
  bool any_untrusted(size_t begin, size_t end) const;
  // Returns whether the filter `safe` made the text: other text that is joined to it with `+` is
  // escaped as HTML.
  bool markup() const { return markup_; }

 private:
  std::string bytes_;
  std::vector<ByteRange> untrusted_;
  bool markup_;
  TemplateBudget* budget_;
  size_t held_;
};

using TextRef = std::shared_ptr<const Text>;

class TextBuilder {
 public:
  // `most` is a limit in bytes, beyond which append() throws TemplateFault, naming `what`.
  explicit TextBuilder(TemplateBudget& budget, size_t most = TemplateBudget::kTextBytes,
                       const char* what = "a string");

  void append(std::string_view bytes, bool untrusted);
  void append(const Text& text) { append(text, 0, text.bytes().size()); }
  void append(const Text& text, size_t begin, size_t end);
  size_t size() const { return bytes_.size(); }
  bool has_room(size_t bytes) const { return bytes <= most_ - bytes_.size(); }
  void require_room(size_t bytes) const;

  TextRef finish(bool markup = false);
  std::string& bytes() { return bytes_; }
  std::vector<ByteRange>& untrusted() { return untrusted_; }

 private:
  void mark(size_t begin, size_t end);

  TemplateBudget& budget_;
  size_t most_;
  const char* what_;
  std::string bytes_;
  std::vector<ByteRange> untrusted_;
};

// Returns the position of `needle` in `bytes` at or after `from`, or npos. Takes time in proportion
// to the sum of both lengths, whatever they hold, and counts it; string_view::find() may take their
// product.
size_t find_text(TemplateBudget& budget, std::string_view bytes, std::string_view needle,
                 size_t from = 0);

// Returns the number of code points of well-formed UTF-8.
size_t count_characters(std::string_view bytes);
// Returns the byte at which character `index` begins; the size where there are fewer characters.
size_t offset_of_character(std::string_view bytes, size_t index);
size_t character_bytes(char lead);

}  // namespace hearth
