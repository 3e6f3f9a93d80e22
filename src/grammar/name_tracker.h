// NameTracker: the names that a JSON text's open objects have so far, followed byte by byte, so
// that none comes twice. Names are compared by value, however they are spelled.
//
// A tracker is a value: a copy is cheap and independent. It follows any bytes, but its answers are
// right only for beginnings of JSON documents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace hearth {

class NameTracker {
 public:
  // Follows the bytes. Returns false if a name ends that its object already has; then the tracker
  // cannot be used any more.
  bool step(std::string_view bytes);
  // Returns whether the text is in a name, or before a name, that could still repeat a name of its
  // object.
  bool may_repeat() const;
  bool in_string() const { return phase_ != Phase::kBetween; }
  // Returns whether the text is in a string that is not such a name.
  bool in_other_string() const { return in_string() && !may_repeat(); }
  // Returns a key of the text's place in its name: after two texts in the same object with equal
  // keys, the same names may follow.
  std::string place_in_name() const;
  // Returns whether any object has a name so far.
  bool has_names() const;

 private:
  struct Name {
    std::shared_ptr<const Name> before;
    std::string text;
  };
  struct Level {
    std::shared_ptr<const Level> outer;
    std::shared_ptr<const Name> names;
    bool object;
  };
  enum class Phase : uint8_t { kBetween, kString, kEscape, kDigits };

  bool step_between(char byte);
  bool end_string();
  void add_point(uint32_t point);
  void add_digit(char byte);
  bool is_known(std::string_view name, bool as_beginning) const;

  std::shared_ptr<const Level> level_;
  std::string text_;  // the name that is being read
  Phase phase_ = Phase::kBetween;
  bool expects_name_ = false, in_name_ = false;
  uint8_t digits_ = 0;
  uint16_t point_ = 0, high_ = 0;  // code units of an escape, and of the first half of a pair
};

}  // namespace hearth
