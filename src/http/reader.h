// HttpReader parses requests from a connection's bytes, in pieces of any size. It knows neither
// sockets nor time.
//
//   size_t taken = reader.take(bytes);  // again with the rest, until the stage is one of these:
//
// kHeadDone: look at head(), then call begin_body() or reset(). kDone: call release() to get the
// request; the next one may begin then. kRefused: answer refusal(); the bytes after it mean
// nothing.
//
// A body's memory counts, as it grows, towards the budget of all bodies, of which each client has a
// share (http/client_shares.h).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "http/chunks.h"
#include "http/client_shares.h"
#include "http/framing.h"
#include "http/options.h"

namespace hearth {

// BodyBudget: the bytes that all bodies together may take. A client's only body is never refused
// for its share. Any thread may use it.
class BodyBudget {
 public:
  explicit BodyBudget(uint64_t bytes) : shares_(bytes) {}
  // Takes `bytes` more for a body that has `already` so many; returns false and takes nothing if
  // they are too many.
  bool take(const std::string& client, uint64_t bytes, uint64_t already);
  void give(const std::string& client, uint64_t bytes);
  bool has_room(const std::string& client, uint64_t bytes, uint64_t already = 0) const;
  uint64_t used() const;

 private:
  bool fits(const std::string& client, uint64_t bytes, uint64_t already) const;

  mutable std::mutex mutex_;
  ClientShares shares_;
};

// BodyLease: the bytes that one body has taken of a budget. Its destructor gives them back.
class BodyLease {
 public:
  BodyLease() = default;
  explicit BodyLease(std::shared_ptr<BodyBudget> budget, std::string client = {})
      : budget_(std::move(budget)), client_(std::move(client)) {}
  BodyLease(BodyLease&& other) noexcept
      : budget_(std::move(other.budget_)),
        client_(std::move(other.client_)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  BodyLease& operator=(BodyLease&& other) noexcept;
  ~BodyLease() { release(); }

  bool grow_to(uint64_t bytes);
  void release();

 private:
  std::shared_ptr<BodyBudget> budget_;
  std::string client_;
  uint64_t bytes_ = 0;
};

class HttpReader {
 public:
  enum class Stage { kStart, kHead, kHeadDone, kBody, kDone, kRefused };

  HttpReader(const HttpOptions& options, std::shared_ptr<BodyBudget> budget)
      : options_(options), budget_(std::move(budget)) {}

  size_t take(std::string_view bytes);
  Stage stage() const { return stage_; }

  HttpHead& head() { return head_; }
  const ApiError& refusal() const { return refusal_; }

  // Goes from kHeadDone to kBody; to kDone where there is no body, to kRefused where it is known to
  // be too large.
  void begin_body();
  // Both go to kStart: release() from kDone, with the request; reset() from any stage.
  HttpRequest release(BodyLease& lease);
  void reset();

 private:
  size_t take_head(std::string_view bytes);
  size_t take_body(std::string_view bytes);
  size_t take_chunks(std::string_view bytes);
  void take_head_byte(char c);
  void end_head_line();
  void add_body(std::string_view data);
  void refuse(unsigned status, std::string_view code, std::string_view message);

  const HttpOptions& options_;
  std::shared_ptr<BodyBudget> budget_;
  Stage stage_ = Stage::kStart;
  std::string block_;   // the head's bytes so far
  uint32_t blank_ = 0;  // bytes of empty lines before the head
  uint32_t lines_ = 0;  // complete lines in the head
  size_t line_start_ = 0;
  HttpHead head_;
  ChunkDecoder chunks_;
  BodyLease lease_;
  ApiError refusal_;
};

}  // namespace hearth
