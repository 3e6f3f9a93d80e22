#include "store/blob_fetch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/bytes_text.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/printable.h"
#include "store/piece_fetch.h"
#include "store/safe_pieces.h"

namespace hearth {
namespace {

// Bytes that are read at once: they stay in a core's cache while they are hashed.
constexpr size_t kReadBytes = size_t{256} << 10;
constexpr uint64_t kTurnBytes = uint64_t{16} << 20;
// How many pieces connections may be ahead of the hash, in addition to one piece each.
constexpr uint64_t kPiecesAhead = 2;
constexpr double kRecordSeconds = 1;
constexpr auto kTurn = std::chrono::milliseconds(5);

uint64_t file_bytes_of(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

// Reads [begin, end) of the file and passes it to `take` in order. Returns false once `stop` is
// set.
bool read_through(int fd, const std::string& path, uint64_t begin, uint64_t end,
                  const std::atomic<bool>& stop,
                  const std::function<void(std::span<const std::byte>)>& take) {
  std::vector<std::byte> buffer(std::min<uint64_t>(kReadBytes, end - begin));
  while (begin < end && !stop) {
    const size_t want = std::min<uint64_t>(buffer.size(), end - begin);
    const ssize_t got = pread(fd, buffer.data(), want, static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail_path(path, "read", got < 0 ? errno : EIO);
    take({buffer.data(), static_cast<size_t>(got)});
    begin += got;
  }
  return begin >= end;
}

std::string part_of(const BlobToFetch& blob) { return blob.blob + ".hearth"; }
std::string record_of(const BlobToFetch& blob) { return part_of(blob) + ".safe"; }
std::string others_part_of(const BlobToFetch& blob) { return blob.blob + ".incomplete"; }

class BlobFetch {
 public:
  BlobFetch(const StorePlaces& places, const HubName& name, const BlobToFetch& blob,
            const FetchOptions& options, const std::atomic<bool>& stop)
      : places_(places),
        name_(name),
        blob_(blob),
        options_(options),
        stop_(stop),
        part_(part_of(blob)),
        record_(record_of(blob)) {}
  ~BlobFetch() {
    if (fd_ >= 0) close(fd_);
  }
  BlobFetch(const BlobFetch&) = delete;
  BlobFetch& operator=(const BlobFetch&) = delete;

  bool run(const FetchProgress& progress) {
    open_part();
    if (!fetch_all(progress)) return false;
    if (digest_ != blob_.digest) {
      if (!throw_wrong_pieces_away()) refuse();
      if (!fetch_all(progress)) return false;
      if (digest_ != blob_.digest) refuse();
    }
    put_in_place();
    return true;
  }

 private:
  void open_part() {
    const std::string others = others_part_of(blob_);
    uint64_t prefix = 0;
    if (access(part_.c_str(), F_OK) != 0) {
      prefix = std::min(file_bytes_of(others), blob_.size);
      if (prefix > 0 && rename(others.c_str(), part_.c_str()) != 0) prefix = 0;
      unlink(record_.c_str());
    }
    fd_ = open(part_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) fail_path(part_, "written", errno);
    pieces_ = SafePieces::read(record_, blob_.size, options_.piece);
    if (prefix > 0) take_prefix(prefix);
    if (file_bytes_of(part_) < pieces_.prefix())
      pieces_ = SafePieces::of(blob_.size, options_.piece);
    reserve();
  }

  // Adopts the first `prefix` bytes, which another program left: the sums recorded are those of the
  // bytes on the disk.
  void take_prefix(uint64_t prefix) {
    pieces_.adopted = prefix;
    for (SafePiece& piece : pieces_.pieces) {
      if (piece.begin >= prefix) return;
      const uint64_t end = std::min(piece.begin + piece.size, prefix);
      const uint64_t length =
          end - piece.begin == piece.size ? piece.size : BlockSum::whole_steps(end - piece.begin);
      BlockSum sum;
      const std::atomic<bool> never{false};
      read_through(fd_, part_, piece.begin, piece.begin + length, never,
                   [&](std::span<const std::byte> bytes) { sum.add(bytes); });
      piece.done = length;
      piece.sum = sum.value();
    }
  }

  // Reserves disk space for the whole file, where the file system can do that.
  void reserve() {
    if (blob_.size == 0) return;
    const auto size = static_cast<off_t>(blob_.size);
    const int refused = fallocate(fd_, 0, 0, size) == 0 ? 0 : errno;
    if (refused == ENOSPC || refused == EFBIG || refused == EDQUOT) {
      fail(ErrorCode::kFile,
           "the disk of '{3}' is full: '{0}' takes {1}, of which {2} are missing; free space and "
           "run the command again",
           printable(blob_.path), bytes_text(blob_.size), bytes_text(blob_.size - pieces_.done()),
           part_);
    }
    if (ftruncate(fd_, size) != 0) fail_path(part_, "extended to its full size", errno);
  }

  // Fetches all missing pieces. While other threads fetch, the calling thread computes the file's
  // digest over the part that has no gap before it. Rethrows a connection's exception.
  bool fetch_all(const FetchProgress& progress) {
    PieceQueue queue(&pieces_, stop_, (options_.connections + kPiecesAhead) * pieces_.piece);
    std::vector<std::thread> threads;
    const size_t most = std::min<size_t>(options_.connections, pieces_.pieces.size());
    try {
      for (size_t i = 0; i < most; ++i) {
        threads.emplace_back([&] {
          fetch_pieces({places_, name_, options_.hub, blob_.url, blob_.size, fd_, part_}, &queue);
        });
      }
    } catch (const std::system_error&) {
      // The fetch continues with fewer connections, unless there is none.
      if (threads.empty()) fail(ErrorCode::kResource, "cannot start a thread: raise ulimit -u");
    }
    bool whole = false;
    try {
      whole = follow(&queue, progress);
    } catch (...) {
      queue.fail(std::current_exception());
    }
    queue.end();
    for (std::thread& thread : threads) thread.join();
    pieces_ = queue.pieces();
    pieces_.write(record_);
    queue.rethrow();
    return whole;
  }

  bool follow(PieceQueue* queue, const FetchProgress& progress) {
    FileDigest digest(blob_.kind, blob_.size);
    uint64_t hashed = 0;
    double next_record = steady_seconds() + kRecordSeconds;
    while (hashed < blob_.size) {
      if (stop_ || queue->failed()) return false;
      const SafePieces safe = queue->pieces();
      progress(safe.done());
      // A piece may be fetched again from its beginning. Bytes of it that were hashed before are
      // not hashed again.
      const uint64_t to = std::max(hashed, std::min(safe.prefix(), hashed + kTurnBytes));
      if (!read_through(fd_, part_, hashed, to, stop_,
                        [&](std::span<const std::byte> bytes) { digest.add(bytes); })) {
        return false;
      }
      if (hashed == to) std::this_thread::sleep_for(kTurn);
      hashed = to;
      queue->set_hashed(hashed);
      if (steady_seconds() < next_record) continue;
      safe.write(record_);
      next_record = steady_seconds() + kRecordSeconds;
    }
    progress(blob_.size);
    digest_ = digest.hex();
    return true;
  }

  // Drops the pieces that must be fetched again: pieces whose bytes on the disk no longer match
  // their sum, and pieces that another program left, which may be wrong. Returns false if there are
  // none.
  bool throw_wrong_pieces_away() {
    bool found = false;
    const std::atomic<bool> never{false};
    for (SafePiece& piece : pieces_.pieces) {
      BlockSum sum;
      read_through(fd_, part_, piece.begin, piece.begin + piece.done, never,
                   [&](std::span<const std::byte> bytes) { sum.add(bytes); });
      if (sum.value() == piece.sum && piece.begin >= pieces_.adopted) continue;
      piece = {.begin = piece.begin, .size = piece.size};
      found = true;
    }
    pieces_.adopted = 0;
    return found;
  }

  [[noreturn]] void refuse() {
    unlink(part_.c_str());
    unlink(record_.c_str());
    fail(ErrorCode::kFile,
         "'{}' was downloaded with the {} {}, but the hub says {}: the bytes were discarded; try "
         "again, and check whether a proxy or a mirror changes files",
         printable(blob_.path), blob_.kind == DigestKind::kSha256 ? "SHA-256" : "git SHA-1",
         digest_, blob_.digest);
  }

  void put_in_place() {
    if (fsync(fd_) != 0) fail_path(part_, "written to the disk", errno);
    if (rename(part_.c_str(), blob_.blob.c_str()) != 0) fail_path(blob_.blob, "made", errno);
    unlink(record_.c_str());
    const std::string folder = std::filesystem::path(blob_.blob).parent_path().string();
    const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
  }

  const StorePlaces& places_;
  const HubName& name_;
  const BlobToFetch& blob_;
  const FetchOptions& options_;
  const std::atomic<bool>& stop_;
  const std::string part_, record_;
  int fd_ = -1;
  SafePieces pieces_;
  std::string digest_;
};

}  // namespace

bool fetch_blob(const StorePlaces& places, const HubName& name, const BlobToFetch& blob,
                const FetchOptions& options, const std::atomic<bool>& stop,
                const FetchProgress& progress) {
  return BlobFetch(places, name, blob, options, stop).run(progress);
}

void drop_record(const BlobToFetch& blob) { unlink(record_of(blob).c_str()); }

uint64_t fetched_bytes(const BlobToFetch& blob) {
  if (file_bytes_of(blob.blob) == blob.size && access(blob.blob.c_str(), F_OK) == 0) {
    return blob.size;
  }
  const uint64_t own = SafePieces::read(record_of(blob), blob.size, blob.size + 1).done();
  return std::max(own, std::min(file_bytes_of(others_part_of(blob)), blob.size));
}

uint64_t missing_bytes(const BlobToFetch& blob) {
  if (fetched_bytes(blob) == blob.size) return 0;
  struct stat status {};
  uint64_t held = file_bytes_of(others_part_of(blob));
  if (stat(part_of(blob).c_str(), &status) == 0) {
    held = static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return blob.size - std::min(held, blob.size);
}

}  // namespace hearth
