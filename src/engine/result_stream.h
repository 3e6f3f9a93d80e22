// A ResultStream is a bounded queue of results between the engine and one client, who may have any
// number of requests on it. A client that does not read delays only its own requests: the engine
// computes for a request only while there is room for its results.
//
// The client pops from any one thread, waiting in pop() or told by on_results, and may close the
// stream at any time, which cancels its requests. The engine's side (reserve, push, notify_results)
// is used by the engine's thread alone.
//
// A step may give a result of every choice of a request at once, so a stream needs room for all of
// them. With result_room() the client may be a few steps behind before its requests are delayed.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/request.h"

namespace hearth {

// Returns how many results a stream should have room for, for one request of `choices` choices.
constexpr uint32_t result_room(uint32_t choices) {
  constexpr uint32_t kMinRoom = 64, kEach = 8;
  return std::max(kMinRoom, kEach * std::min(choices, UINT32_MAX / kEach));
}

// How much of their prompts has been computed, over a stream's requests that ask for it
// (Request::report_read).
struct PromptRead {
  uint64_t tokens = 0;  // tokens that were read or were in the prefix cache
  uint64_t cached = 0;
  double seconds = 0;  // since the first of these requests was admitted

  bool operator==(const PromptRead&) const = default;
};

class ResultStream {
 public:
  explicit ResultStream(uint32_t capacity = result_room(1)) : capacity_(capacity) {}

  uint32_t capacity() const { return capacity_; }

  // Returns the next result; waits until there is one or the stream is closed, at most `timeout`.
  std::optional<Result> pop(std::chrono::milliseconds timeout);
  std::optional<Result> try_pop() { return pop(std::chrono::milliseconds(0)); }
  PromptRead read() const;
  // Says that the client has left and wants no more results. Releases on_results, which may still
  // be running. Needs no memory.
  void close();
  // The engine's thread calls `on_results` when results came, or read() has changed: at most once a
  // step, after all results of the step are there, and once more if a request ends between two
  // steps. It may pop, close, submit and cancel. It must be quick, since the next step waits for
  // it, and must not throw. Set it before the first request. An object that it keeps alive and that
  // keeps the stream alive forms a circle until the stream is closed.
  void set_on_results(std::function<void()> on_results);

  bool closed() const;
  // Sets aside room for `count` results. Returns false if there is not enough; the function given
  // to set_on_room() is then called once there is more.
  bool reserve(uint32_t count);
  // Returns whether reserve() would succeed. If not, on_room is called as after a failed reserve().
  bool has_room(uint32_t count);
  // Gives back room that was set aside and not used.
  void unreserve(uint32_t count);
  // Delivers a result into room set aside for it. If that throws, the room stays set aside.
  void push_reserved(Result result);
  // Delivers the end of a choice, whether or not there is room or memory.
  void push_final(std::list<Result> end) noexcept;
  // Adds to how many tokens of the prompts were read; `more.seconds` replaces a smaller value.
  void add_read(const PromptRead& more);
  // Calls on_results if results came, or more was read, since the last call.
  void notify_results() noexcept;
  // The client's thread calls `on_room` when it made room that was asked for, or closed the stream.
  void set_on_room(std::function<void()> on_room);

 private:
  bool fits(uint32_t count);

  const uint32_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::list<Result> results_;
  uint32_t reserved_ = 0;
  bool room_wanted_ = false;
  bool unnotified_ = false;  // results came or read_ changed since the last call of on_results
  PromptRead read_;
  bool closed_ = false;
  // Shared, since they may be called while they are replaced, and a copy would need memory.
  std::shared_ptr<const std::function<void()>> on_room_, on_results_;
};

}  // namespace hearth
