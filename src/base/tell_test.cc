#include "base/tell.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <utility>

namespace hearth {
namespace {

// A pipe of small capacity, or a pair of sockets.
class Ends {
 public:
  explicit Ends(bool sockets = false) {
    const int made = sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, fds_.data()) : pipe(fds_.data());
    EXPECT_EQ(made, 0);
  }
  ~Ends() {
    close_reader();
    close(fds_[1]);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  int writer() const { return fds_[1]; }
  void close_reader() {
    if (fds_[0] >= 0) close(std::exchange(fds_[0], -1));
  }
  // Writes until the pipe is full, and returns the number of bytes.
  size_t fill() const {
    size_t bytes = 0;
    for (const size_t size : {1000, 1}) {
      const std::string block(size, 'x');
      for (std::string_view rest = block; write_now(writer(), &rest) == WriteEnd::kAll;) {
        rest = block;
        bytes += size;
      }
    }
    return bytes;
  }
  std::string read_some(size_t most) const {
    std::string text(most, '\0');
    const ssize_t got = read(fds_[0], text.data(), most);
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }

 private:
  std::array<int, 2> fds_ = {-1, -1};
};

// Replaces standard error by `fd` while it lives.
class StandardError {
 public:
  explicit StandardError(int fd) : before_(dup(STDERR_FILENO)) {
    fd >= 0 ? dup2(fd, STDERR_FILENO) : close(STDERR_FILENO);
  }
  ~StandardError() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

 private:
  int before_;
};

TEST(WriteNow, WritesAllThatFits) {
  for (const bool sockets : {false, true}) {
    const Ends ends(sockets);
    const std::string text(10'000, 'y');
    std::string_view rest = text;
    EXPECT_EQ(write_now(ends.writer(), &rest), WriteEnd::kAll);
    EXPECT_TRUE(rest.empty());
    EXPECT_EQ(ends.read_some(10'000), text);
  }
}

TEST(WriteNow, WaitsForNoReader) {
  for (const bool sockets : {false, true}) {
    const Ends ends(sockets);
    EXPECT_GT(ends.fill(), 4096u);
    std::string_view rest = "more";
    EXPECT_EQ(write_now(ends.writer(), &rest), WriteEnd::kFull);
    EXPECT_EQ(rest, "more");
    // The descriptor may be shared: its flags stay.
    EXPECT_EQ(fcntl(ends.writer(), F_GETFL) & O_NONBLOCK, 0);
  }
}

TEST(WriteNow, AReaderThatIsGoneRaisesNoSignal) {
  for (const bool sockets : {false, true}) {
    Ends ends(sockets);
    ends.close_reader();
    std::string_view rest = "text";
    EXPECT_EQ(write_now(ends.writer(), &rest), WriteEnd::kBroken);
    sigset_t pending;
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  }
}

TEST(WriteNow, AFullDiskAndAClosedDescriptorAreBroken) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  std::string_view rest = "text";
  EXPECT_EQ(write_now(full, &rest), WriteEnd::kBroken);
  close(full);
  EXPECT_EQ(write_now(full, &rest), WriteEnd::kBroken);
  EXPECT_EQ(write_now(-1, &rest), WriteEnd::kBroken);
}

TEST(Tell, WritesToStandardError) {
  const Ends ends;
  {
    const StandardError changed(ends.writer());
    print_stderr("hearth: {} tokens\n", 3);
  }
  EXPECT_EQ(ends.read_some(100), "hearth: 3 tokens\n");
}

TEST(Tell, ReturnsWithoutAReader) {
  const Ends unread;
  unread.fill();
  Ends gone;
  gone.close_reader();
  for (const int fd : {unread.writer(), gone.writer(), -1}) {
    const StandardError changed(fd);
    print_stderr("hearth: {} tokens\n", 3);
  }
}

}  // namespace
}  // namespace hearth
