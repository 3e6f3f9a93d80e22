#include "threads/barrier.h"

#include <bit>
#include <new>

#include "base/check.h"
#include "threads/delay_point.h"

namespace hearth {
namespace {

uint32_t steps_of(uint32_t size) { return static_cast<uint32_t>(std::bit_width(size - 1)); }

}  // namespace

size_t Barrier::seat_bytes(uint32_t size) { return sizeof(Seat) + steps_of(size) * sizeof(Flag); }

Barrier::Barrier(uint32_t size) {
  size_t lines = seat_bytes(size) / sizeof(Line);
  own_ = std::make_unique<Line[]>(lines * size);
  std::vector<std::byte*> places;
  for (uint32_t i = 0; i < size; ++i) places.push_back(own_[i * lines].bytes);
  sit(places);
}

Barrier::Barrier(const std::vector<std::byte*>& seats) { sit(seats); }

void Barrier::sit(const std::vector<std::byte*>& places) {
  HEARTH_CHECK(!places.empty(), "a barrier has threads");
  auto size = static_cast<uint32_t>(places.size());
  for (std::byte* place : places) {
    HEARTH_CHECK(reinterpret_cast<uintptr_t>(place) % kLineSpacing == 0, "a seat's alignment");
    Seat* seat = seats_.emplace_back(new (place) Seat);
    for (uint32_t step = 0; step < steps_of(size); ++step) new (seat->flags() + step) Flag;
  }
}

void Barrier::arrive_and_wait(uint32_t index) noexcept {
  HEARTH_CHECK(index < size(), "a barrier's index");
  Seat& seat = *seats_[index];
  uint32_t round = ++seat.round;
  Flag* mine = seat.flags();
  uint32_t step = 0;
  for (uint32_t distance = 1; distance < size(); distance *= 2, ++step) {
    seats_[(index + distance) % size()]->flags()[step].post(round);
    delay_point();
    mine[step].wait_at_least(round);
  }
}

}  // namespace hearth
