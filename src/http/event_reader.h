// The events of a stream (text/event-stream as the HTML standard has it), which come in pieces of
// any size. Comments and fields other than `data` are skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

class EventReader {
 public:
  // Appends the data of every event that has become complete.
  void take(std::string_view bytes, std::vector<std::string>* events);
  // Whether bytes of an event are there that is not complete.
  bool amid() const { return has_data_ || !line_.empty(); }

 private:
  void take_line(std::string_view line, std::vector<std::string>* events);

  std::string line_, data_;
  bool has_data_ = false, after_return_ = false;
};

}  // namespace hearth
