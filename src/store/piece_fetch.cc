#include "store/piece_fetch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "store/cache_repo.h"

namespace hearth {
namespace {

// Bytes buffered between libcurl and the file: they stay in a core's cache.
constexpr size_t kBufferBytes = size_t{256} << 10;
// Bytes after which writing to the disk is started.
constexpr uint64_t kWriteBytes = uint64_t{8} << 20;
// Interval at which waiting threads check whether the queue has ended.
constexpr auto kLook = std::chrono::milliseconds(50);

std::optional<uint64_t> take_number(std::string_view* text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{}) return {};
  text->remove_prefix(end - text->data());
  return value;
}

bool take_char(std::string_view* text, char c) {
  if (!text->starts_with(c)) return false;
  text->remove_prefix(1);
  return true;
}

class PieceFetch {
 public:
  PieceFetch(const PieceSource& source, PieceQueue* queue)
      : source_(source),
        queue_(*queue),
        http_(source.places, source.options.stall, queue->ended()),
        patience_(source.options, queue->ended()) {
    buffer_.reserve(kBufferBytes);
  }

  void run() {
    while (!queue_.over()) {
      const std::optional<size_t> index = queue_.take();
      if (!index) return;
      index_ = *index;
      fetch();
    }
  }

 private:
  // Fetches the piece. The bytes received are kept, even if it throws.
  void fetch() {
    piece_ = queue_.piece(index_);
    disk_ = piece_.done;
    buffer_.clear();
    try {
      fetch_rest();
    } catch (const Error&) {
      flush(true);
      throw;
    }
    flush(true);
  }

  void fetch_rest() {
    while (piece_.done + buffer_.size() < piece_.size && !queue_.over()) {
      const uint64_t had = piece_.done + buffer_.size();
      const HubReply reply = ask();
      if (piece_.done + buffer_.size() > had) patience_.progressed();
      if (piece_.done + buffer_.size() == piece_.size || queue_.over()) break;
      recover(reply);
    }
  }

  // Decides what follows a reply that ended too early: the hub's address instead of the redirect's,
  // a pause, or an error.
  void recover(const HubReply& reply) {
    const bool led = !direct_.empty() && direct_ != source_.url;
    direct_.clear();
    if (wrong_.empty() && led && reply.problem.empty() && reply.status >= 400 &&
        reply.status < 500) {
      // The redirect's address refuses: its signature has expired. The hub is asked again, and
      // patience_ counts this like a failure of the server.
      HubReply again = reply;
      again.status = 500;
      if (patience_.wait(again)) return;
    }
    HubReply reported = reply;
    if (!wrong_.empty()) reported.problem = wrong_;
    if (reported.whole()) reported.problem = "it ended before the last byte";
    if (!patience_.wait(reported) && !queue_.over())
      fail_reply(source_.places, source_.name, reported);
  }

  HubReply ask() {
    const uint64_t begin = piece_.begin + piece_.done + buffer_.size();
    const uint64_t end = piece_.begin + piece_.size;
    bool checked = false;
    wrong_.clear();
    auto sink = [&](const HubReply& head, std::span<const std::byte> bytes) {
      if (!checked && !check_head(head, begin, end)) return false;
      checked = true;
      return take(bytes);
    };
    HubReply reply = http_.get(direct_.empty() ? source_.url : direct_, {begin, end}, sink);
    if (reply.status >= 200 && reply.status < 300 && wrong_.empty()) direct_ = reply.url;
    return reply;
  }

  // Whether the reply's bytes are the ones that were asked for.
  bool check_head(const HubReply& head, uint64_t begin, uint64_t end) {
    if (!head.field("content-encoding").empty() && head.field("content-encoding") != "identity") {
      wrong_ = "it compressed a file that was requested uncompressed";
      return false;
    }
    if (head.status == 206) {
      const std::optional<ContentRange> range = read_content_range(head.field("content-range"));
      const bool right = range && range->begin == begin && range->end <= end &&
                         range->size.value_or(source_.size) == source_.size;
      if (right) return true;
      wrong_ = fmt::format(
          "it sent the range '{}' when asked for bytes {} to {} of {}: the file was changed, or a "
          "proxy alters replies",
          printable(head.field("content-range")), begin, end - 1, source_.size);
      return false;
    }
    // The reply is the whole file instead of a range. That is accepted where the file is a single
    // piece.
    if (head.status == 200 && piece_.begin == 0 && piece_.size == source_.size) {
      buffer_.clear();
      piece_.done = disk_ = 0;
      piece_.sum = BlockSum().value();
      return true;
    }
    wrong_ = fmt::format("it answered {} with the whole file instead of a range", head.status);
    return false;
  }

  bool take(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const uint64_t left = piece_.size - piece_.done - buffer_.size();
      if (left == 0) {
        wrong_ = "it sent more than was asked for";
        return false;
      }
      const size_t length = std::min<uint64_t>({bytes.size(), kBufferBytes - buffer_.size(), left});
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
      bytes = bytes.subspan(length);
      if (buffer_.size() == kBufferBytes) flush(false);
    }
    return !queue_.over();
  }

  // Writes the buffer. If `last` is set and the piece is not complete, writes only whole steps of
  // the BlockSum, since the record can state no others.
  void flush(bool last) {
    size_t length = buffer_.size();
    if (last && piece_.done + length < piece_.size) length = BlockSum::whole_steps(length);
    const std::span<const std::byte> bytes(buffer_.data(), length);
    for (size_t at = 0; at < length;) {
      const ssize_t wrote = pwrite(source_.fd, bytes.data() + at, length - at,
                                   static_cast<off_t>(piece_.begin + piece_.done + at));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) fail_path(source_.part, "written", wrote < 0 ? errno : ENOSPC);
      at += wrote;
    }
    BlockSum sum(piece_.sum);
    sum.add(bytes);
    piece_.sum = sum.value();
    piece_.done += length;
    buffer_.clear();
    queue_.set(index_, piece_.done, piece_.sum);
    if (piece_.done - disk_ >= (last ? 1 : kWriteBytes)) start_disk();
  }

  // Starts writing to the disk. Without this the disk would be idle until memory is full of
  // unwritten pages, or until fsync() at the end. It is no error where a file system cannot do
  // that.
  void start_disk() {
    sync_file_range(source_.fd, static_cast<off_t>(piece_.begin + disk_),
                    static_cast<off_t>(piece_.done - disk_), SYNC_FILE_RANGE_WRITE);
    disk_ = piece_.done;
  }

  const PieceSource& source_;
  PieceQueue& queue_;
  HubHttp http_;
  HubPatience patience_;
  std::string direct_;  // the address that the hub redirected to; empty: ask the hub
  std::string wrong_;   // what is wrong with the reply's head
  size_t index_ = 0;
  SafePiece piece_;
  uint64_t disk_ = 0;  // bytes of the piece whose writing was started
  std::vector<std::byte> buffer_;
};

}  // namespace

std::optional<size_t> PieceQueue::take() {
  std::unique_lock lock(mutex_);
  while (!over()) {
    while (next_ < pieces_.pieces.size() && pieces_.pieces[next_].whole()) ++next_;
    if (next_ == pieces_.pieces.size()) break;
    const bool goes_on = hashed_ < begun_ || pieces_.pieces[next_].begin < hashed_ + ahead_;
    if (goes_on) return next_++;
    hashed_more_.wait_for(lock, kLook);
  }
  return {};
}

void PieceQueue::set_hashed(uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  hashed_ = bytes;
  hashed_more_.notify_all();
}

SafePiece PieceQueue::piece(size_t index) {
  const std::scoped_lock lock(mutex_);
  return pieces_.pieces[index];
}

void PieceQueue::set(size_t index, uint64_t done, uint64_t sum) {
  const std::scoped_lock lock(mutex_);
  pieces_.pieces[index].done = done;
  pieces_.pieces[index].sum = sum;
}

SafePieces PieceQueue::pieces() {
  const std::scoped_lock lock(mutex_);
  return pieces_;
}

void PieceQueue::fail(std::exception_ptr error) {
  const std::scoped_lock lock(mutex_);
  if (!error_) error_ = std::move(error);
  failed_ = true;
  ended_ = true;
}

void PieceQueue::rethrow() {
  const std::scoped_lock lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

const std::atomic<bool>& PieceQueue::ended() { return ended_; }

void fetch_pieces(const PieceSource& source, PieceQueue* queue) {
  try {
    PieceFetch(source, queue).run();
  } catch (...) {
    queue->fail(std::current_exception());
  }
}

std::optional<ContentRange> read_content_range(std::string_view field) {
  ContentRange range;
  if (!field.starts_with("bytes ")) return {};
  field.remove_prefix(6);
  const std::optional<uint64_t> begin = take_number(&field);
  if (!begin || !take_char(&field, '-')) return {};
  const std::optional<uint64_t> last = take_number(&field);
  if (!last || *last < *begin || *last == UINT64_MAX || !take_char(&field, '/')) return {};
  range.begin = *begin;
  range.end = *last + 1;
  if (field == "*") return range;
  range.size = take_number(&field);
  if (!range.size || !field.empty()) return {};
  return range;
}

}  // namespace hearth
