#include "http/event_reader.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

std::vector<std::string> read_events(std::string_view bytes, size_t step, bool amid = false) {
  EventReader reader;
  std::vector<std::string> out;
  for (size_t i = 0; i < bytes.size(); i += step) reader.take(bytes.substr(i, step), &out);
  EXPECT_EQ(reader.amid(), amid) << bytes;
  return out;
}

TEST(EventReader, DataOfEvents) {
  using Events = std::vector<std::string>;
  for (size_t step : {1, 2, 5, 1000}) {
    EXPECT_EQ(
        read_events("data: a\n\n: silence\n\ndata:b\r\n\r\nevent: x\nid: 7\ndata: c\n\n", step),
        (Events{"a", "b", "c"}));
    EXPECT_EQ(read_events("data: a\ndata:  b\ndata\n\n", step), (Events{"a\n b\n"}));
    EXPECT_EQ(read_events("data: a\r\rdata: b\r\r", step), (Events{"a", "b"}));
    EXPECT_EQ(read_events("data: a\n", step, true), Events{});
    EXPECT_EQ(read_events("data: a\n\nda", step, true), Events{"a"});
  }
}

}  // namespace
}  // namespace hearth
