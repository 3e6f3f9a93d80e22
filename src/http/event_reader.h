// Parses the events of a stream (text/event-stream of the HTML standard) from bytes in pieces of
// any size. Comments and fields other than `data` are skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

class EventReader {
 public:
  // Takes the next bytes, and appends the data of every event that they complete.
  void take(std::string_view bytes, std::vector<std::string>* events);
  // Whether a part of an event has been read whose end has not.
  bool amid() const { return has_data_ || !line_.empty(); }

 private:
  void take_line(std::string_view line, std::vector<std::string>* events);

  std::string line_, data_;
  bool has_data_ = false, after_return_ = false;
};

}  // namespace hearth
