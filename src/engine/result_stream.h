// A ResultStream is a bounded queue of results between the engine and one client, who may have any
// number of requests on it. A client that does not read holds up its own requests, nobody else's:
// the engine computes for a request only while there is room for its results.
//
// The client pops from any one thread and may close the stream at any time, which cancels its
// requests. The engine's side (reserve, push) is used by the engine's thread alone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <optional>

#include "engine/request.h"

namespace hearth {

class ResultStream {
 public:
  explicit ResultStream(uint32_t capacity = 64) : capacity_(capacity) {}

  uint32_t capacity() const { return capacity_; }

  // Returns the next result; waits until there is one or the stream is closed, at most `timeout`.
  std::optional<Result> pop(std::chrono::milliseconds timeout);
  std::optional<Result> try_pop() { return pop(std::chrono::milliseconds(0)); }
  // Says that the client is gone and wants nothing more.
  void close();

  bool closed() const;
  // Sets aside room for `count` results. Returns false where there is not enough; then the function
  // given to set_on_room() is called once there is more.
  bool reserve(uint32_t count);
  // Tells whether reserve() would succeed; where not, on_room is called as after a failed
  // reserve().
  bool has_room(uint32_t count);
  // Gives back room that was set aside and not used.
  void unreserve(uint32_t count);
  // Delivers a result into room set aside for it; the room stays set aside where that throws.
  void push_reserved(Result result);
  // Delivers the end of a choice, whether or not there is room or memory.
  void push_final(std::list<Result> end) noexcept;
  // `on_room` is called from the client's thread when it made room that was asked for, or closed
  // the stream.
  void set_on_room(std::function<void()> on_room);

 private:
  bool fits(uint32_t count);

  const uint32_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::list<Result> results_;
  uint32_t reserved_ = 0;
  bool room_wanted_ = false;
  bool closed_ = false;
  std::function<void()> on_room_;
};

}  // namespace hearth
