// One connection of a fetch: takes the next piece that is missing, asks for its bytes from where
// they are safe on, writes them to the part file, and tries again after what may pass. Where the
// hub led is asked again for the next piece, and the hub itself once that refuses: signatures of
// addresses expire.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "store/hub.h"
#include "store/safe_pieces.h"

namespace hearth {

// The pieces that several connections share. Any thread may call it.
class PieceQueue {
 public:
  // No piece is taken that begins `ahead` bytes behind what is hashed, once what was there before
  // is hashed: where hashing is what takes the time, it needs the cores that the connections would
  // keep from it.
  PieceQueue(SafePieces* pieces, const std::atomic<bool>& stop, uint64_t ahead)
      : pieces_(*pieces), stop_(stop), ahead_(ahead), begun_(pieces->prefix()) {}

  // Returns the next piece that is neither whole nor taken; waits until it may be taken.
  std::optional<size_t> take();
  // Notes that so many bytes of the file, from its beginning on, are hashed.
  void set_hashed(uint64_t bytes);
  SafePiece piece(size_t index);
  void set(size_t index, uint64_t done, uint64_t sum);
  SafePieces pieces();

  void fail(std::exception_ptr error);
  bool failed() const { return failed_; }
  void rethrow();
  void end() { ended_ = true; }
  const std::atomic<bool>& ended();
  bool over() const { return stop_ || failed_ || ended_; }

 private:
  std::mutex mutex_;
  SafePieces pieces_;
  const std::atomic<bool>& stop_;
  const uint64_t ahead_, begun_;  // begun_: what was there before, without a gap
  std::condition_variable hashed_more_;
  uint64_t hashed_ = 0;
  size_t next_ = 0;
  std::atomic<bool> failed_{false}, ended_{false};
  std::exception_ptr error_;
};

struct PieceSource {
  const StorePlaces& places;
  const HubName& name;
  const HubOptions& options;
  const std::string& url;
  uint64_t size;  // of the whole file
  int fd;         // of the part file
  const std::string& part;
};

// Fetches until no piece is left or the queue is over. An error that ends it for good is told to
// the queue.
void fetch_pieces(const PieceSource& source, PieceQueue* queue);

// "bytes 7-9/20": first, behind last, of how many (none: '*').
struct ContentRange {
  uint64_t begin = 0, end = 0;
  std::optional<uint64_t> size;
};
std::optional<ContentRange> read_content_range(std::string_view field);

}  // namespace hearth
