#include "grammar/schema_multiples.h"

#include <algorithm>

namespace hearth {
namespace {

// The state of an automaton that matches multiples: the digits read so far, modulo the divisor, and
// how far the number has come.
struct Multiple {
  static constexpr uint32_t kStart = 0, kWhole = 1, kPoint = 2;

  uint64_t divisor, remainder;
  uint32_t places;  // digits of the fraction that count
  uint32_t phase;   // one of the phases above; kPoint + n: n digits of the fraction were read

  uint64_t packed() const { return divisor << 36 | remainder << 9 | uint64_t{places} << 5 | phase; }
  static Multiple unpack(uint64_t state) {
    return {state >> 36, state >> 9 & (kMaxDivisor - 1), static_cast<uint32_t>(state >> 5 & 15),
            static_cast<uint32_t>(state & 31)};
  }

  uint32_t places_left() const {
    const uint32_t read = phase < kPoint ? 0 : phase - kPoint;
    return places > read ? places - read : 0;
  }
  // Returns the least value that the remaining digits must have to make the number a multiple.
  uint64_t missing() const {
    const uint64_t shifted = remainder * (power(places_left()) % divisor) % divisor;
    return shifted == 0 ? 0 : divisor - shifted;
  }
  static uint64_t power(uint32_t exponent) {
    uint64_t result = 1;
    for (uint32_t i = 0; i < exponent; ++i) result *= 10;
    return result;
  }
};

class MultiplesMachine : public RegexMachine {
 public:
  RegexId derive(RegexSet& set, uint64_t state, uint8_t byte) const override {
    Multiple at = Multiple::unpack(state);
    if (byte == '.' && at.phase == Multiple::kWhole) {
      at.phase = Multiple::kPoint;
    } else if (byte < '0' || byte > '9') {
      return set.nothing();
    } else if (at.phase < Multiple::kPoint || at.places_left() > 0) {
      at.remainder = (at.remainder * 10 + (byte - '0')) % at.divisor;
      at.phase = at.phase < Multiple::kPoint ? Multiple::kWhole : at.phase + 1;
    } else if (byte == '0') {  // only zeros may follow the last place
      at.phase = Multiple::kPoint + std::max<uint32_t>(at.places, 1);
    } else {
      return set.nothing();
    }
    // The digits left are too few to reach a multiple.
    if (at.phase >= Multiple::kPoint && at.missing() >= Multiple::power(at.places_left())) {
      return set.nothing();
    }
    return set.machine(*this, at.packed());
  }

  bool nullable(uint64_t state) const override {
    const Multiple at = Multiple::unpack(state);
    const bool complete = at.phase == Multiple::kWhole || at.phase > Multiple::kPoint;
    return complete && at.missing() == 0;
  }

  ByteSet bytes() const override { return byte_range('0', '9') | byte_range('.', '.'); }
};

}  // namespace

RegexId multiples_of(RegexSet& set, uint64_t divisor, uint32_t places) {
  static const MultiplesMachine kMachine;
  return set.machine(kMachine, Multiple{divisor, 0, places, Multiple::kStart}.packed());
}

}  // namespace hearth
