#include "base/utf8_stream.h"

#include <algorithm>

#include "base/utf8.h"

namespace hearth {

std::string Utf8Stream::push(std::string_view bytes) {
  std::string joined;
  if (!held_.empty()) {
    joined = std::move(held_);
    joined += bytes;
    held_.clear();
    bytes = joined;
  }
  std::string text;
  while (!bytes.empty()) {
    if (size_t length = utf8_sequence(bytes)) {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
      continue;
    }
    size_t partial = utf8_partial(bytes);
    if (partial == bytes.size()) {
      held_ = bytes;
      break;
    }
    text += kReplacementCharacter;
    bytes.remove_prefix(std::max<size_t>(partial, 1));
  }
  return text;
}

std::string Utf8Stream::flush() {
  if (held_.empty()) return {};
  held_.clear();
  return std::string(kReplacementCharacter);
}

std::string well_formed_utf8(std::string_view bytes) {
  Utf8Stream stream;
  std::string text = stream.push(bytes);
  return text + stream.flush();
}

}  // namespace hearth
