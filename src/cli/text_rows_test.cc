#include "cli/text_rows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace hearth {
namespace {

using std::chrono::milliseconds;

class TextRowsTest : public testing::Test {
 protected:
  ~TextRowsTest() override { std::filesystem::remove(path_); }

  const std::string& write(std::string_view bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }
  std::vector<std::string> lines(std::string_view bytes) {
    FileLines lines(write(bytes));
    std::vector<std::string> all;
    std::string line;
    while (lines.next(&line, milliseconds(1000)) == FileLines::Got::kLine) all.push_back(line);
    EXPECT_EQ(lines.line_number(), all.size());
    EXPECT_EQ(lines.bytes_read(), bytes.size());
    EXPECT_EQ(lines.file_bytes(), bytes.size());
    return all;
  }
  static std::string refusal(std::string_view line, const JsonFields& fields) {
    try {
      read_json_row(line, fields, "line 3");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::string path_ =
      std::filesystem::temp_directory_path() / ("hearth-rows-" + std::to_string(getpid()));
};

TEST_F(TextRowsTest, PartsLines) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines(""), Lines());
  EXPECT_EQ(lines("a"), Lines{"a"});
  EXPECT_EQ(lines("a\n"), Lines{"a"});
  EXPECT_EQ(lines("a\r\n\nb"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines("\xef\xbb\xbf"
                  "a\n\xef\xbb\xbf"
                  "b"),
            (Lines{"a",
                   "\xef\xbb\xbf"
                   "b"}));
  // These lines are longer than one read.
  std::string big(200000, 'x');
  EXPECT_EQ(lines(big + "\n" + big), (Lines{big, big}));
}

TEST_F(TextRowsTest, NamesWhereATextStands) {
  TextRows rows(write("a\nb"), std::nullopt);
  TextRow row;
  rows.next(&row, milliseconds(0));
  rows.next(&row, milliseconds(0));
  EXPECT_EQ(row.text, "b");
  EXPECT_EQ(row.place, "line 2 of '" + path_ + "'");
  EXPECT_EQ(rows.next(&row, milliseconds(0)), FileLines::Got::kEnd);
  TextRows given(std::vector<std::string>{"x", "y"});
  given.next(&row, milliseconds(0));
  EXPECT_EQ(row.place, "text 1 of -p");
  EXPECT_EQ(given.total(), 2u);
}

TEST_F(TextRowsTest, APipeMayHaveNothingYet) {
  std::filesystem::remove(path_);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  FileLines lines("/proc/self/fd/" + std::to_string(ends[0]));
  std::string line;
  EXPECT_EQ(lines.next(&line, milliseconds(0)), FileLines::Got::kNothingYet);
  ASSERT_EQ(::write(ends[1], "a\nb", 3), 3);
  EXPECT_EQ(lines.next(&line, milliseconds(0)), FileLines::Got::kLine);
  EXPECT_EQ(line, "a");
  EXPECT_EQ(lines.next(&line, milliseconds(0)), FileLines::Got::kNothingYet);
  close(ends[1]);
  EXPECT_EQ(lines.next(&line, milliseconds(1000)), FileLines::Got::kLine);
  EXPECT_EQ(line, "b");
  EXPECT_EQ(lines.next(&line, milliseconds(1000)), FileLines::Got::kEnd);
  close(ends[0]);
}

TEST_F(TextRowsTest, ReadsJson) {
  JsonFields fields{"body", "key"};
  TextRow row = read_json_row(R"({"key": "a\"b", "body": "x\ny"})", fields, "line 1");
  EXPECT_EQ(row.text, "x\ny");
  EXPECT_EQ(row.id, R"("a\"b")");
  EXPECT_EQ(read_json_row(R"({"key": 12, "body": ""})", fields, "").id, "12");
  EXPECT_NE(refusal("{", fields).find("line 3: "), std::string::npos);
  EXPECT_NE(refusal("3", fields).find("is not a JSON object"), std::string::npos);
  EXPECT_NE(refusal(R"({"text": "a", "key": 1})", fields).find("'body'"), std::string::npos);
  EXPECT_NE(refusal(R"({"body": "a", "key": 1.5})", fields).find("'key'"), std::string::npos);
}

}  // namespace
}  // namespace hearth
