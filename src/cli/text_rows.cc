#include "cli/text_rows.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstring>

#include "base/byte_order_mark.h"
#include "base/error.h"
#include "base/json_reader.h"

namespace hearth {
namespace {

constexpr size_t kLineReadBytes = 1 << 16;

}  // namespace

FileLines::FileLines(const std::string& path)
    : name_(path == "-" ? "standard input" : fmt::format("'{}'", path)) {
  fd_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) fail(ErrorCode::kFile, "cannot open {}: {}", name_, std::strerror(errno));
  struct stat facts {};
  if (::fstat(fd_, &facts) == 0 && S_ISREG(facts.st_mode)) {
    file_bytes_ = static_cast<uint64_t>(facts.st_size);
  }
}

FileLines::~FileLines() {
  if (fd_ > STDIN_FILENO) ::close(fd_);
}

// Takes a complete line from the buffer; at the end of the input also a line without a newline.
bool FileLines::take_line(std::string* line) {
  size_t end = buffer_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    if (!ended_ || begin_ == buffer_.size()) return false;
    end = buffer_.size();
  }
  std::string_view found(buffer_.data() + begin_, end - begin_);
  begin_ = searched_ = std::min(end + 1, buffer_.size());
  ++line_;
  if (line_ == 1) found = without_byte_order_mark(found);
  if (found.ends_with('\r')) found.remove_suffix(1);
  line->assign(found);
  return true;
}

FileLines::Got FileLines::read_more(std::chrono::milliseconds wait) {
  if (buffer_.size() - begin_ > kMaxLineBytes) {
    fail(ErrorCode::kRequest, "line {} of {} has more than {} MiB: split the text", line_ + 1,
         name_, kMaxLineBytes >> 20);
  }
  pollfd look{fd_, POLLIN, 0};
  int ready = ::poll(&look, 1, static_cast<int>(wait.count()));
  if (ready == 0 || (ready < 0 && errno == EINTR)) return Got::kNothingYet;
  buffer_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  size_t size = buffer_.size();
  buffer_.resize(size + kLineReadBytes);
  ssize_t got = ::read(fd_, buffer_.data() + size, kLineReadBytes);
  int error = errno;
  buffer_.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && error != EINTR) {
    fail(ErrorCode::kFile, "cannot read {}: {}", name_, std::strerror(error));
  }
  if (got > 0) bytes_read_ += static_cast<uint64_t>(got);
  ended_ = got == 0;
  return Got::kLine;
}

FileLines::Got FileLines::next(std::string* line, std::chrono::milliseconds wait) {
  while (!take_line(line)) {
    if (ended_) return Got::kEnd;
    if (read_more(wait) == Got::kNothingYet) return Got::kNothingYet;
  }
  return Got::kLine;
}

TextRow read_json_row(std::string_view line, const JsonFields& fields, std::string place) {
  boost::json::value value;
  try {
    value = read_json(line);
  } catch (const Error& error) {
    fail(ErrorCode::kRequest, "{}: {}", place, error.what());
  }
  if (!value.is_object()) fail(ErrorCode::kRequest, "{} is not a JSON object", place);
  const boost::json::object& object = value.get_object();
  const boost::json::value* text = object.if_contains(fields.text);
  if (text == nullptr || !text->is_string()) {
    fail(ErrorCode::kRequest,
         "{} has no string in field '{}': name the field of the text with --field", place,
         fields.text);
  }
  TextRow row{std::string(text->get_string()), {}, std::move(place)};
  if (fields.id) {
    const boost::json::value* id = object.if_contains(*fields.id);
    bool plain = id != nullptr && (id->is_string() || id->is_int64() || id->is_uint64());
    if (!plain) {
      fail(ErrorCode::kRequest,
           "{} has no string or whole number in field '{}': name another field with --id",
           row.place, *fields.id);
    }
    row.id = boost::json::serialize(*id);
  }
  return row;
}

FileLines::Got TextRows::next(TextRow* row, std::chrono::milliseconds wait) {
  if (!lines_) {
    if (next_ == texts_.size()) return FileLines::Got::kEnd;
    *row = {texts_[next_], {}, fmt::format("text {} of -p", next_ + 1)};
    ++next_;
    return FileLines::Got::kLine;
  }
  std::string line;
  FileLines::Got got = lines_->next(&line, wait);
  if (got != FileLines::Got::kLine) return got;
  std::string place = fmt::format("line {} of {}", lines_->line_number(), lines_->name());
  *row = fields_ ? read_json_row(line, *fields_, std::move(place))
                 : TextRow{std::move(line), {}, std::move(place)};
  return got;
}

}  // namespace hearth
