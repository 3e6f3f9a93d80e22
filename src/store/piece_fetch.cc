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

// Stays in the cache of a core between libcurl, which fills it, and the file.
constexpr size_t kBufferBytes = size_t{256} << 10;
// The disk begins to write after so many bytes.
constexpr uint64_t kWriteBytes = uint64_t{8} << 20;
// Waiting threads look this often whether the queue is over.
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
  // Fetches the piece; the bytes that came are kept, whether it ends well or throws.
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

  // Goes on after a reply that ended too early: with another address, after a pause, or with an
  // error.
  void recover(const HubReply& reply) {
    const bool led = !direct_.empty() && direct_ != source_.url;
    direct_.clear();
    if (wrong_.empty() && led && reply.problem.empty() && reply.status >= 400 &&
        reply.status < 500) {
      // The address that the hub gave has expired; the hub has its own say.
      HubReply again = reply;
      again.status = 500;
      if (patience_.wait(again)) return;
    }
    HubReply told = reply;
    if (!wrong_.empty()) told.problem = wrong_;
    if (told.whole()) told.problem = "ended before the last byte";
    if (!patience_.wait(told) && !queue_.over()) fail_reply(source_.places, source_.name, told);
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

  // Whether the bytes that follow are those that were asked for.
  bool check_head(const HubReply& head, uint64_t begin, uint64_t end) {
    if (!head.field("content-encoding").empty() && head.field("content-encoding") != "identity") {
      wrong_ = "compressed a file that was requested uncompressed";
      return false;
    }
    if (head.status == 206) {
      const std::optional<ContentRange> range = read_content_range(head.field("content-range"));
      const bool right = range && range->begin == begin && range->end <= end &&
                         range->size.value_or(source_.size) == source_.size;
      if (right) return true;
      wrong_ = fmt::format(
          "answers with the range '{}' to one of bytes {} to {} of {}: the file was changed, or "
          "something between alters replies",
          printable(head.field("content-range")), begin, end - 1, source_.size);
      return false;
    }
    // The whole file. It will do where it is one piece, from its beginning on.
    if (head.status == 200 && piece_.begin == 0 && piece_.size == source_.size) {
      buffer_.clear();
      piece_.done = disk_ = 0;
      piece_.sum = BlockSum().value();
      return true;
    }
    wrong_ = fmt::format("answered {} with the whole file instead of a range", head.status);
    return false;
  }

  bool take(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const uint64_t left = piece_.size - piece_.done - buffer_.size();
      if (left == 0) {
        wrong_ = "sends more than was asked for";
        return false;
      }
      const size_t length = std::min<uint64_t>({bytes.size(), kBufferBytes - buffer_.size(), left});
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
      bytes = bytes.subspan(length);
      if (buffer_.size() == kBufferBytes) flush(false);
    }
    return !queue_.over();
  }

  // Writes all of the buffer, or at the end what a record can hold of it.
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

  // Else the disk would begin when memory is full of what it has to write, or with fsync() at the
  // end, and stand idle until then. File systems that cannot do that do it later.
  void start_disk() {
    sync_file_range(source_.fd, static_cast<off_t>(piece_.begin + disk_),
                    static_cast<off_t>(piece_.done - disk_), SYNC_FILE_RANGE_WRITE);
    disk_ = piece_.done;
  }

  const PieceSource& source_;
  PieceQueue& queue_;
  HubHttp http_;
  HubPatience patience_;
  std::string direct_;  // where the hub led; empty: ask the hub
  std::string wrong_;   // what the reply's head had that it should not have
  size_t index_ = 0;
  SafePiece piece_;
  uint64_t disk_ = 0;  // so many of its bytes are on their way to the disk
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
