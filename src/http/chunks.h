// Decodes a chunked body (RFC 9112, 7.1), more strictly than the RFC: no white space around sizes,
// at most 16 digits; at most 256 bytes of extensions a chunk and 4 KiB a body, at most 4 KiB of
// trailers. Extensions and trailers are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hearth {

class ChunkDecoder {
 public:
  // Takes bytes up to the end of a run of data, the body's end or a fault, and returns how many it
  // took. `data` becomes the run, a part of `bytes`; empty where there is none.
  size_t take(std::string_view bytes, std::string_view& data);

  bool done() const { return state_ == State::kDone; }
  // Returns what is wrong with the body, as a sentence; null where nothing is.
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
  uint64_t left_ = 0;  // bytes left of the chunk, or its size while that is being read
  uint32_t digits_ = 0;
  uint32_t extension_bytes_ = 0, all_extension_bytes_ = 0, trailer_bytes_ = 0;
};

}  // namespace hearth
