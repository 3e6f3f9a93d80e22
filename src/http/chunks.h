// Decodes a body that came in chunks (RFC 9112, 7.1), more strictly than that: no white space
// beside sizes, at most 16 digits; of extensions at most 256 bytes a chunk and 4 KiB a body, of
// trailers at most 4 KiB. Extensions and trailers are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hearth {

class ChunkDecoder {
 public:
  // Takes bytes up to the end of a run of data, of the body, or a fault, and returns how many;
  // `data` becomes the run, a part of `bytes`.
  size_t take(std::string_view bytes, std::string_view& data);

  bool done() const { return state_ == State::kDone; }
  // A sentence; null where nothing is wrong.
  const char* fault() const { return fault_; }

 private:
  enum class State {
    kSize,
    kExtension,
    kSizeEnd,
    kData,
    kDataEnd,
    kDataLineEnd,
    kTrailer,
    kTrailerName,
    kTrailerValue,
    kTrailerEnd,
    kLastEnd,
    kDone,
  };

  void take_control(char c);
  void take_size(char c);
  void take_trailer(char c);
  void set_fault(const char* fault) { fault_ = fault; }
  void expect(char c, char expected, State next);

  State state_ = State::kSize;
  const char* fault_ = nullptr;
  uint64_t left_ = 0;  // of the chunk; its size while that is read
  uint32_t digits_ = 0;
  uint32_t extension_bytes_ = 0, all_extension_bytes_ = 0, trailer_bytes_ = 0;
};

}  // namespace hearth
