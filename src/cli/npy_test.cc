#include "cli/npy.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(NpyHeader, IsVersion1AndFillsWholeLines) {
  for (uint64_t rows : {1ull, 77ull, 123456789ull}) {
    std::string header = npy_header(rows, 512);
    ASSERT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    auto low = static_cast<uint8_t>(header[8]), high = static_cast<uint8_t>(header[9]);
    EXPECT_EQ(low + 256u * high + 10, header.size());
    EXPECT_EQ(header.back(), '\n');
    EXPECT_NE(header.find("'shape': (" + std::to_string(rows) + ", 512)"), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth
