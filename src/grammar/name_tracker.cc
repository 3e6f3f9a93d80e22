#include "grammar/name_tracker.h"

#include <charconv>

#include "base/utf8.h"
#include "grammar/json_spelling.h"

namespace hearth {
bool NameTracker::step(std::string_view bytes) {
  for (char byte : bytes) {
    switch (phase_) {
      case Phase::kBetween:
        if (!step_between(byte)) return false;
        break;
      case Phase::kEscape:
        phase_ = byte == 'u' ? Phase::kDigits : Phase::kString;
        digits_ = 0;
        point_ = 0;
        if (byte != 'u' && in_name_) text_ += json_escape_meaning(byte);
        break;
      case Phase::kDigits:
        add_digit(byte);
        break;
      case Phase::kString:
        if (byte == '\\') {
          phase_ = Phase::kEscape;
        } else if (byte == '"') {
          if (!end_string()) return false;
        } else if (in_name_) {
          text_ += byte;
        }
    }
  }
  return true;
}

bool NameTracker::step_between(char byte) {
  switch (byte) {
    case '{':
    case '[':
      level_ = std::make_shared<const Level>(Level{level_, nullptr, byte == '{'});
      expects_name_ = byte == '{';
      break;
    case '}':
    case ']':
      if (level_) level_ = level_->outer;
      expects_name_ = false;
      break;
    case ',':
      expects_name_ = level_ && level_->object;
      break;
    case '"':
      phase_ = Phase::kString;
      in_name_ = expects_name_;
      expects_name_ = false;
      text_.clear();
      break;
    default:
      break;
  }
  return true;
}

bool NameTracker::end_string() {
  phase_ = Phase::kBetween;
  if (!in_name_) return true;
  in_name_ = false;
  if (is_known(text_, false)) return false;
  auto names = std::make_shared<const Name>(Name{level_->names, text_});
  level_ = std::make_shared<const Level>(Level{level_->outer, std::move(names), true});
  return true;
}

void NameTracker::add_digit(char byte) {
  uint16_t digit = 0;
  std::from_chars(&byte, &byte + 1, digit, 16);
  point_ = static_cast<uint16_t>(point_ << 4 | digit);
  if (++digits_ < 4) return;
  phase_ = Phase::kString;
  if (point_ >= 0xd800 && point_ < 0xdc00) {
    high_ = point_;
  } else if (point_ >= 0xdc00 && point_ < 0xe000) {
    add_point(0x10000 + ((high_ - 0xd800u) << 10) + (point_ - 0xdc00u));
  } else {
    add_point(point_);
  }
}

void NameTracker::add_point(uint32_t point) {
  if (in_name_) utf8_append(text_, point);
}

bool NameTracker::is_known(std::string_view name, bool as_beginning) const {
  for (const Name* known = level_->names.get(); known != nullptr; known = known->before.get()) {
    if (as_beginning ? known->text.starts_with(name) : known->text == name) return true;
  }
  return false;
}

bool NameTracker::may_repeat() const {
  if (phase_ == Phase::kBetween) return expects_name_ && level_->names != nullptr;
  return in_name_ && is_known(text_, true);
}

std::string NameTracker::place_in_name() const {
  std::string place = in_name_ ? text_ : "";
  for (unsigned part : {static_cast<unsigned>(phase_), unsigned{digits_}, point_ & 0xffu,
                        unsigned{point_} >> 8, high_ & 0xffu, unsigned{high_} >> 8}) {
    place += static_cast<char>(part);
  }
  return place;
}

bool NameTracker::has_names() const {
  for (const Level* level = level_.get(); level != nullptr; level = level->outer.get()) {
    if (level->names != nullptr) return true;
  }
  return false;
}

}  // namespace hearth
