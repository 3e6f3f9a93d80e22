// Text: a string of a chat template while it is rendered. It is UTF-8, and knows which of its bytes
// came from the request ("foreign"): every operation keeps that, byte by byte; where it is in doubt
// bytes count as foreign. TextBuilder makes one.
//
// TemplateBudget is what one rendering may take: steps, bytes of strings alive at a time, values in
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
  // `unsupported`: the template needs what this program has not, whatever the conversation.
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
  static constexpr size_t kTextBytes = size_t{16} << 20;  // of one string
  static constexpr size_t kAliveBytes = size_t{96} << 20;
  static constexpr uint64_t kElements = 4'000'000;

  // `pace`: of the rendering, which outlives the budget; null: nobody waits behind it.
  explicit TemplateBudget(Pace* pace = nullptr) : pace_(pace) {}

  void step() { spend(kTicks); }
  // Work on bytes: copied, searched, or mapped character by character.
  void copied(size_t bytes) { spend(bytes / 8); }
  void scanned(size_t bytes) { spend(bytes); }
  void mapped(size_t bytes) { spend(bytes * 16); }
  // A search through `bytes` for so many others, which are looked at first.
  void searched(size_t bytes, size_t needle) { spend(uint64_t{64} + bytes + needle); }
  // Values put into lists and mappings; none are given back before the end.
  void add_elements(uint64_t count);
  void hold(size_t bytes);
  void release(size_t bytes) { alive_ -= bytes; }

 private:
  static constexpr uint64_t kTicks = 1024;  // a step
  // Work is counted for the pace in larger amounts: a step takes about as long as two units.
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
  uint64_t paced_ = 0;  // of these ticks the pace knows
  uint64_t elements_ = 0;
  size_t alive_ = 0;
};

using ByteRange = std::pair<size_t, size_t>;  // [begin, end)

class Text {
 public:
  // Throws TemplateFault where the budget (none for a template's own literals) does not hold it.
  Text(std::string bytes, std::vector<ByteRange> foreign, bool markup, TemplateBudget* budget);
  ~Text();
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  std::string_view bytes() const { return bytes_; }
  // Sorted, disjoint, none empty, none touching the next.
  const std::vector<ByteRange>& foreign() const { return foreign_; }
  bool any_foreign() const { return !foreign_.empty(); }
  bool any_foreign(size_t begin, size_t end) const;
  // Whether the filter `safe` made the text: other text that is joined to it with `+` is escaped as
  // HTML.
  bool markup() const { return markup_; }

 private:
  std::string bytes_;
  std::vector<ByteRange> foreign_;
  bool markup_;
  TemplateBudget* budget_;
  size_t held_;
};

using TextRef = std::shared_ptr<const Text>;

class TextBuilder {
 public:
  // `most`: bytes at most; beyond it append() throws TemplateFault, naming `what`.
  explicit TextBuilder(TemplateBudget& budget, size_t most = TemplateBudget::kTextBytes,
                       const char* what = "a string");

  void append(std::string_view bytes, bool foreign);
  void append(const Text& text) { append(text, 0, text.bytes().size()); }
  void append(const Text& text, size_t begin, size_t end);
  size_t size() const { return bytes_.size(); }
  bool has_room(size_t bytes) const { return bytes <= most_ - bytes_.size(); }
  void require_room(size_t bytes) const;

  TextRef finish(bool markup = false);
  std::string& bytes() { return bytes_; }
  std::vector<ByteRange>& foreign() { return foreign_; }

 private:
  void mark(size_t begin, size_t end);

  TemplateBudget& budget_;
  size_t most_;
  const char* what_;
  std::string bytes_;
  std::vector<ByteRange> foreign_;
};

// Returns where `needle` begins in `bytes` at or behind `from`, or npos. Takes time in proportion
// to both lengths, whatever they hold, and counts it; string_view::find() takes that of their
// product.
size_t find_text(TemplateBudget& budget, std::string_view bytes, std::string_view needle,
                 size_t from = 0);

// Code points, over well-formed UTF-8.
size_t count_characters(std::string_view bytes);
// The byte at which character `index` begins; the size where there are not so many.
size_t offset_of_character(std::string_view bytes, size_t index);
size_t character_bytes(char lead);

}  // namespace hearth
