#include "http/event_reader.h"

#include <algorithm>

namespace hearth {

void EventReader::take(std::string_view bytes, std::vector<std::string>* events) {
  while (!bytes.empty()) {
    // Skips the "\n" of a line end "\r\n" that was cut in two.
    if (after_return_ && bytes[0] == '\n') bytes.remove_prefix(1);
    after_return_ = false;
    size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (end == bytes.npos) return;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    take_line(line_, events);
    line_.clear();
  }
}

void EventReader::take_line(std::string_view line, std::vector<std::string>* events) {
  if (line.empty()) {
    if (has_data_) events->push_back(std::move(data_));
    data_.clear();
    has_data_ = false;
    return;
  }
  if (!line.starts_with("data:") && line != "data") return;
  line.remove_prefix(std::min<size_t>(line.size(), 5));
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (has_data_) data_ += '\n';
  data_ += line;
  has_data_ = true;
}

}  // namespace hearth
