#include "template/template_text.h"

#include <algorithm>
#include <cstring>

namespace hearth {

void TemplateBudget::out_of_steps() {
  fault("it takes more than {} steps: the conversation is too long, or the template loops for ever",
        kSteps);
}

void TemplateBudget::keep_pace() {
  constexpr uint64_t kUnitsOfStep = 2;
  uint64_t units = (ticks_ - paced_) / kTicks * kUnitsOfStep;
  paced_ = ticks_;
  if (pace_ != nullptr) pace_->did(units);
}

void TemplateBudget::add_elements(uint64_t count) {
  if (count > kElements || (elements_ += count) > kElements) {
    fault("it makes lists and mappings of more than {} values", kElements);
  }
  spend(count * 16);
}

void TemplateBudget::hold(size_t bytes) {
  if (bytes > kAliveBytes - alive_) {
    fault("its strings take more than {} MiB of memory", kAliveBytes >> 20);
  }
  alive_ += bytes;
}

Text::Text(std::string bytes, std::vector<ByteRange> untrusted, bool markup, TemplateBudget* budget)
    : bytes_(std::move(bytes)),
      untrusted_(std::move(untrusted)),
      markup_(markup),
      budget_(budget),
      held_(sizeof(Text) + bytes_.capacity() + untrusted_.capacity() * sizeof(ByteRange)) {
  if (budget_ != nullptr) budget_->hold(held_);
}

Text::~Text() {
  if (budget_ != nullptr) budget_->release(held_);
}

bool Text::any_untrusted(size_t begin, size_t end) const {
  auto after = std::ranges::upper_bound(untrusted_, begin, {}, &ByteRange::second);
  return after != untrusted_.end() && after->first < end;
}

TextBuilder::TextBuilder(TemplateBudget& budget, size_t most, const char* what)
    : budget_(budget), most_(most), what_(what) {}

void TextBuilder::require_room(size_t bytes) const {
  if (!has_room(bytes)) {
    fault("{} would be longer than {} MiB", what_, most_ >> 20);
  }
}

void TextBuilder::mark(size_t begin, size_t end) {
  if (begin == end) return;
  if (!untrusted_.empty() && untrusted_.back().second == begin) {
    untrusted_.back().second = end;
  } else {
    untrusted_.emplace_back(begin, end);
  }
}

void TextBuilder::append(std::string_view bytes, bool untrusted) {
  require_room(bytes.size());
  budget_.copied(bytes.size());
  if (untrusted) mark(bytes_.size(), bytes_.size() + bytes.size());
  bytes_ += bytes;
}

void TextBuilder::append(const Text& text, size_t begin, size_t end) {
  const std::vector<ByteRange>& ranges = text.untrusted();
  size_t to = bytes_.size();
  append(text.bytes().substr(begin, end - begin), false);
  auto range = std::ranges::upper_bound(ranges, begin, {}, &ByteRange::second);
  for (; range != ranges.end() && range->first < end; ++range) {
    budget_.copied(sizeof(ByteRange));
    mark(to + std::max(range->first, begin) - begin, to + std::min(range->second, end) - begin);
  }
}

TextRef TextBuilder::finish(bool markup) {
  return std::make_shared<const Text>(std::move(bytes_), std::move(untrusted_), markup, &budget_);
}

size_t find_text(TemplateBudget& budget, std::string_view bytes, std::string_view needle,
                 size_t from) {
  if (from > bytes.size()) return std::string_view::npos;
  std::string_view rest = bytes.substr(from);
  const void* found = nullptr;
  // memmem() takes linear time, except for short needles, whose length limits the time.
  if (needle.size() <= rest.size()) {
    found = memmem(rest.data(), rest.size(), needle.data(), needle.size());
  }
  size_t at = found == nullptr
                  ? bytes.size()
                  : static_cast<size_t>(static_cast<const char*>(found) - bytes.data());
  budget.searched(at - from, needle.size());
  return found == nullptr ? std::string_view::npos : at;
}

size_t character_bytes(char lead) {
  auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

size_t count_characters(std::string_view bytes) {
  return static_cast<size_t>(
      std::ranges::count_if(bytes, [](char c) { return (c & 0xC0) != 0x80; }));
}

size_t offset_of_character(std::string_view bytes, size_t index) {
  size_t at = 0;
  for (; index > 0 && at < bytes.size(); --index) at += character_bytes(bytes[at]);
  return at;
}

}  // namespace hearth
