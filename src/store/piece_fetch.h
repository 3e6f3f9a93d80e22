// One connection of a fetch: takes the next missing piece, requests the bytes of it that are not
// safe yet, writes them to the part file, and tries again after failures that may pass. The address
// that the hub redirected to is used for the next pieces as well. Such an address has a signature
// that expires; when it refuses, the hub is asked again.
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

// PieceQueue: the pieces that several connections share. Any thread may call it.
class PieceQueue {
 public:
  // `ahead`: a piece is not taken while it begins more than `ahead` bytes behind the part that is
  // hashed, since connections would then only take cores from hashing. This limit holds once all
  // bytes are hashed that were there at the start.
  PieceQueue(SafePieces* pieces, const std::atomic<bool>& stop, uint64_t ahead)
      : pieces_(*pieces), stop_(stop), ahead_(ahead), begun_(pieces->prefix()) {}

  // Returns the next piece that is neither complete nor taken, after waiting until it may be taken;
  // nothing where there is none.
  std::optional<size_t> take();
  // Notes that the file's first `bytes` bytes are hashed.
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
  const uint64_t ahead_, begun_;  // begun_: bytes without a gap that were there at the start
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

// Fetches pieces until none is left or the queue is over. A final error goes to the queue's fail().
void fetch_pieces(const PieceSource& source, PieceQueue* queue);

// ContentRange: a parsed Content-Range. "bytes 7-9/20" has begin 7, end 10 (after the last byte)
// and size 20; without a size for "/*".
struct ContentRange {
  uint64_t begin = 0, end = 0;
  std::optional<uint64_t> size;
};
std::optional<ContentRange> read_content_range(std::string_view field);

}  // namespace hearth
