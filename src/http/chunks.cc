#include "http/chunks.h"

#include <algorithm>

#include "base/ascii.h"

namespace hearth {
namespace {

constexpr uint32_t kSizeDigits = 16;
constexpr uint32_t kExtensionBytes = 256, kAllExtensionBytes = 4096, kTrailerBytes = 4096;

bool is_text(char c) {
  auto byte = static_cast<unsigned char>(c);
  return c == '\t' || (byte >= 0x20 && byte != 0x7f);
}

bool is_token(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte < 0x7f &&
         std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
}

}  // namespace

size_t ChunkDecoder::take(std::string_view bytes, std::string_view& data) {
  data = {};
  for (size_t i = 0; i < bytes.size() && !fault_ && !done(); ++i) {
    if (state_ != State::kData) {
      take_control(bytes[i]);
      if (fault_ || done()) return i + 1;
      continue;
    }
    data = bytes.substr(i, static_cast<size_t>(std::min<uint64_t>(left_, bytes.size() - i)));
    left_ -= data.size();
    if (left_ == 0) state_ = State::kDataEnd;
    return i + data.size();
  }
  return fault_ || done() ? 0 : bytes.size();
}

void ChunkDecoder::expect(char c, char expected, State next) {
  if (c != expected) return set_fault("A line of the chunked body does not end with CR and LF.");
  state_ = next;
}

void ChunkDecoder::take_control(char c) {
  switch (state_) {
    case State::kSize:
      return take_size(c);
    case State::kExtension:
      if (c == '\r') {
        state_ = State::kSizeEnd;
      } else if (!is_text(c) || ++extension_bytes_ > kExtensionBytes ||
                 ++all_extension_bytes_ > kAllExtensionBytes) {
        set_fault("A chunk's extension is malformed or too long.");
      }
      return;
    case State::kSizeEnd:
      expect(c, '\n', left_ > 0 ? State::kData : State::kTrailer);
      digits_ = extension_bytes_ = 0;
      return;
    case State::kDataEnd:
      return expect(c, '\r', State::kDataLineEnd);
    case State::kDataLineEnd:
      return expect(c, '\n', State::kSize);
    default:
      return take_trailer(c);
  }
}

void ChunkDecoder::take_size(char c) {
  int value = hex_value(c);
  if (value >= 0 && digits_ < kSizeDigits) {
    ++digits_;
    left_ = left_ << 4 | static_cast<uint64_t>(value);
  } else if (c == '\r' && digits_ > 0) {
    state_ = State::kSizeEnd;
  } else if (c == ';' && digits_ > 0) {
    state_ = State::kExtension;
  } else {
    set_fault("A chunk's size is malformed.");
  }
}

void ChunkDecoder::take_trailer(char c) {
  if (++trailer_bytes_ > kTrailerBytes) return set_fault("The body's trailer is too long.");
  bool named = state_ == State::kTrailerName;
  switch (state_) {
    case State::kTrailer:
      if (c == '\r') {
        state_ = State::kLastEnd;
        return;
      }
      [[fallthrough]];
    case State::kTrailerName:
      if (is_token(c)) {
        state_ = State::kTrailerName;
      } else if (c == ':' && named) {
        state_ = State::kTrailerValue;
      } else {
        set_fault("The body's trailer is malformed.");
      }
      return;
    case State::kTrailerValue:
      if (c == '\r') {
        state_ = State::kTrailerEnd;
      } else if (!is_text(c)) {
        set_fault("The body's trailer is malformed.");
      }
      return;
    case State::kTrailerEnd:
      return expect(c, '\n', State::kTrailer);
    default:
      return expect(c, '\n', State::kDone);
  }
}

}  // namespace hearth
