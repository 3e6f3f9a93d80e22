#include "formats/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "formats/gguf_test_bytes.h"

namespace hearth {
namespace {

std::string write_file(const TestFolder& folder, const std::vector<std::byte>& bytes) {
  std::string path = folder.path() + "file";
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return path;
}

// Returns how many of `pages` pages from `from` on this process has mapped in.
size_t resident_pages(const std::byte* from, size_t pages) {
  std::FILE* pagemap = std::fopen("/proc/self/pagemap", "rb");
  if (!pagemap) return 0;
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<uint64_t> entries(pages);
  std::fseek(pagemap, static_cast<long>(reinterpret_cast<uintptr_t>(from) / page * 8), SEEK_SET);
  size_t read = std::fread(entries.data(), 8, pages, pagemap);
  std::fclose(pagemap);
  size_t present = 0;
  for (size_t i = 0; i < read; ++i) present += entries[i] >> 63;
  return present;
}

TEST(MappedFile, HoldsTheBytesAndSurvivesMoves) {
  TestFolder folder;
  std::vector<std::byte> bytes(10000, std::byte{7});
  bytes[9999] = std::byte{9};
  MappedFile file = MappedFile::open(write_file(folder, bytes));
  const std::byte* where = file.bytes().data();
  MappedFile moved = std::move(file);
  MappedFile assigned = MappedFile::view({}, "none");
  assigned = std::move(moved);
  EXPECT_EQ(assigned.bytes().data(), where);
  EXPECT_EQ(assigned.bytes().size(), 10000u);
  EXPECT_EQ(assigned.bytes()[9999], std::byte{9});
}

TEST(MappedFile, OwnedBytesStayWhereTheyAre) {
  std::vector<std::byte> bytes(3, std::byte{5});
  const std::byte* where = bytes.data();
  MappedFile file = MappedFile::own(std::move(bytes), "memory");
  MappedFile moved = std::move(file);
  EXPECT_EQ(moved.bytes().data(), where);
  EXPECT_EQ(moved.name(), "memory");
  moved.release(0, 3);
  EXPECT_EQ(moved.bytes()[2], std::byte{5});
}

TEST(MappedFile, ReleaseDropsWholePagesAndKeepsTheContents) {
  TestFolder folder;
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<std::byte> bytes(8 * page + 100);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i / page + 1);
  MappedFile file = MappedFile::open(write_file(folder, bytes));
  auto touch = [&] {
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (file.bytes()[i] != bytes[i]) return false;
    }
    return true;
  };
  ASSERT_TRUE(touch());
  if (resident_pages(file.bytes().data(), 9) != 9) GTEST_SKIP() << "no /proc/self/pagemap here";
  file.release(page / 2, 3 * page);  // only pages 1 and 2 lie wholly inside
  EXPECT_EQ(resident_pages(file.bytes().data(), 9), 7u);
  file.release(7 * page, page + 100);  // includes the partial page at the end
  EXPECT_EQ(resident_pages(file.bytes().data(), 9), 5u);
  EXPECT_TRUE(touch());
  file.release(bytes.size() + page, page);  // outside the file: nothing to do
  file.release(0, SIZE_MAX);
  EXPECT_TRUE(touch());
}

TEST(MappedFile, CountsBytesInThePageCache) {
  TestFolder folder;
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t size = 1000 * page + 5;
  std::string path = write_file(folder, {std::byte{1}});
  // A hole at the end of a file is not in the page cache before it is read.
  std::filesystem::resize_file(path, size);
  MappedFile file = MappedFile::open(path);
  size_t before = file.cached_bytes();
  if (before == size) GTEST_SKIP() << "no mincore here";
  EXPECT_LE(before, 100 * page);
  unsigned sum = 0;
  for (size_t at = 0; at < size; at += page) sum += static_cast<unsigned>(file.bytes()[at]);
  EXPECT_EQ(sum, 1u);
  EXPECT_EQ(file.cached_bytes(), size);
  file.release(0, size);
  EXPECT_EQ(file.cached_bytes(), size) << "it leaves the process, not the cache";
  EXPECT_EQ(MappedFile::own({std::byte{1}, std::byte{2}}, "memory").cached_bytes(), 2u);
}

class ChangedFileTest : public testing::Test {
 protected:
  static constexpr size_t kPages = 4;
  const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  TestFolder folder_;
  const std::string path_ =
      write_file(folder_, std::vector<std::byte>(kPages* page_, std::byte{7}));
  MappedFile file_ = MappedFile::open(path_);

  std::string problem() const {
    return file_error([this] { file_.require_whole(); });
  }
};

TEST_F(ChangedFileTest, TruncatedBytesReadAsZerosAndAreReported) {
  EXPECT_EQ(file_.bytes()[0], std::byte{7});
  file_.require_whole();
  std::filesystem::resize_file(path_, page_);
  EXPECT_EQ(file_.bytes()[2 * page_ + 1], std::byte{0});
  EXPECT_EQ(file_.bytes()[kPages * page_ - 1], std::byte{0});
  EXPECT_EQ(file_.bytes()[page_ - 1], std::byte{7});
  EXPECT_NE(problem().find("'" + path_ + "' was truncated"), std::string::npos) << problem();
  // The error stays after the object has moved, even though the file is whole again.
  std::filesystem::resize_file(path_, kPages * page_);
  const MappedFile moved = std::move(file_);
  EXPECT_NE(file_error([&] { moved.require_whole(); }).find("was truncated while"),
            std::string::npos);
  // A new map of the file does not know that the file was cut before.
  MappedFile::open(path_).require_whole();
}

TEST_F(ChangedFileTest, ReportsAFileThatWasWrittenTo) {
  std::filesystem::last_write_time(
      path_, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_NE(
      problem().find("'" + path_ +
                     "' was changed while it was read: load it again once nothing writes to it"),
      std::string::npos)
      << problem();
}

TEST_F(ChangedFileTest, ReplacedOrRemovedFilesAreNotReported) {
  std::filesystem::rename(path_, path_ + ".old");
  file_.require_whole();
  write_file(folder_, {std::byte{1}});
  file_.require_whole();
  EXPECT_EQ(file_.bytes()[kPages * page_ - 1], std::byte{7});
}

TEST_F(ChangedFileTest, OtherMapsKeepTheirSignal) {
  const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  void* other = mmap(nullptr, 2 * page_, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  ASSERT_NE(other, MAP_FAILED);
  std::filesystem::resize_file(path_, 1);
  const auto touch = [&] { return static_cast<volatile const char*>(other)[page_]; };
  EXPECT_DEATH(touch(), "");
  EXPECT_DEATH(raise(SIGBUS), "");
  munmap(other, 2 * page_);
}

TEST(MappedFile, BadPathsSayWhatIsWrong) {
  TestFolder folder;
  auto error = [](const std::string& path) { return file_error([&] { MappedFile::open(path); }); };
  std::string missing = folder.path() + "no-such-file";
  EXPECT_EQ(error(missing), "'" + missing + "' does not exist; check the path");
  EXPECT_NE(error(folder.path()).find("is a folder"), std::string::npos);
  EXPECT_NE(error("/dev/null").find("is not a regular file"), std::string::npos);
  std::string empty = write_file(folder, {});
  EXPECT_EQ(error(empty), "'" + empty + "' is empty; download it again");
  EXPECT_NE(error(empty + "/below").find("does not exist"), std::string::npos);
  EXPECT_NE(error(std::string(5000, 'x')).find("cannot open '"), std::string::npos);
}

TEST(MappedFile, AFifoIsRefusedWithoutWaitingForAWriter) {
  TestFolder folder;
  std::string path = folder.path() + "hearth-fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string error = file_error([&] { MappedFile::open(path); });
  EXPECT_NE(error.find("is not a regular file"), std::string::npos);
}

// Root may read everything, so a child process of another user opens the file.
TEST(MappedFileDeathTest, AFileWithoutReadPermissionIsNamed) {
  TestFolder folder;
  std::string path = write_file(folder, {std::byte{1}});
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
  std::filesystem::permissions(path, std::filesystem::perms::none);
  auto open_as_another = [&] {
    constexpr uid_t kNobody = 65534;
    bool dropped = geteuid() != 0 || (setgid(kNobody) == 0 && setuid(kNobody) == 0);
    std::string error = dropped ? file_error([&] { MappedFile::open(path); }) : "still root";
    std::fputs(error.c_str(), stderr);
    _exit(0);
  };
  EXPECT_EXIT(open_as_another(), testing::ExitedWithCode(0), "this user may not read '");
  std::filesystem::permissions(path, std::filesystem::perms{0600});
}

}  // namespace
}  // namespace hearth
