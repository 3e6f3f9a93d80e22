// The texts of `hearth embed`, one by one: from options, or from the lines of a file or standard
// input, which are text or JSON objects. Memory does not grow with their number.
//
// Errors: unreadable input (kFile); a line that is not a JSON object, has no text or is longer than
// kMaxLineBytes (kRequest, naming the line).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

inline constexpr size_t kMaxLineBytes = 64u << 20;

struct TextRow {
  std::string text;
  std::string id;     // JSON, of a JSON line if ids are asked for; else empty
  std::string place;  // "line 3 of 'texts.txt'"
};

// Reads the lines of a file or of standard input, without "\n" or "\r\n".
class FileLines {
 public:
  // "-" is standard input.
  explicit FileLines(const std::string& path);
  ~FileLines();
  FileLines(const FileLines&) = delete;
  FileLines& operator=(const FileLines&) = delete;

  enum class Got : uint8_t { kLine, kNothingYet, kEnd };
  // Reads a line; waits up to `wait` for input from a pipe or a terminal.
  Got next(std::string* line, std::chrono::milliseconds wait);

  uint64_t line_number() const { return line_; }  // the number of the last line, from 1
  const std::string& name() const { return name_; }
  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t file_bytes() const { return file_bytes_; }  // 0 where unknown

 private:
  bool take_line(std::string* line);
  Got read_more(std::chrono::milliseconds wait);

  std::string name_, buffer_;
  size_t begin_ = 0, searched_ = 0;  // starts of unread bytes, of bytes not yet searched for '\n'
  int fd_ = -1;
  bool ended_ = false;
  uint64_t line_ = 0, bytes_read_ = 0, file_bytes_ = 0;
};

// The keys of text and id in a JSON line.
struct JsonFields {
  std::string text = "text";
  std::optional<std::string> id;
};

class TextRows {
 public:
  // Gives the texts of -p, named "prompt 1" and so on.
  explicit TextRows(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  // Gives the lines of a file, which are JSON where `fields` are given.
  TextRows(const std::string& path, std::optional<JsonFields> fields)
      : lines_(std::in_place, path), fields_(std::move(fields)) {}

  FileLines::Got next(TextRow* row, std::chrono::milliseconds wait);

  // Return the progress in bytes of a file, or in texts, and the total (0: unknown).
  uint64_t done() const { return lines_ ? lines_->bytes_read() : next_; }
  uint64_t total() const { return lines_ ? lines_->file_bytes() : texts_.size(); }
  bool counts_bytes() const { return lines_.has_value(); }

 private:
  std::vector<std::string> texts_;
  size_t next_ = 0;
  std::optional<FileLines> lines_;
  std::optional<JsonFields> fields_;
};

// Parses a line of JSON. `place` is for messages.
TextRow read_json_row(std::string_view line, const JsonFields& fields, std::string place);

}  // namespace hearth
