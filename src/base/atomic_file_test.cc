#include "base/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/error.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() {
    std::string name = testing::TempDir() + "/atomic_file_test.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~AtomicFileTest() override { fs::remove_all(folder_); }

  static void write(AtomicFile& file, std::string_view text) {
    file.write(std::as_bytes(std::span(text.data(), text.size())));
  }
  static std::string read_text(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}));
  }

  fs::path folder_;
};

TEST(WriteAll, WaitsForTheReaderOfAPipeThatWouldNot) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  const std::string text(1 << 20, 'x');
  std::string found;
  std::thread reader([&] {
    std::string some(1 << 16, '\0');
    for (ssize_t got; (got = read(ends[0], some.data(), some.size())) != 0;) {
      if (got > 0) found.append(some, 0, static_cast<size_t>(got));
    }
  });
  EXPECT_EQ(write_all(ends[1], text), 0);
  close(ends[1]);
  reader.join();
  EXPECT_EQ(found, text);
  close(ends[0]);
}

TEST_F(AtomicFileTest, AppearsWithCommitOnly) {
  fs::path path = folder_ / "out";
  {
    AtomicFile file(path);
    write(file, "half");
  }
  EXPECT_EQ(files(), 0u);
  {
    AtomicFile file(path);
    write(file, "wh");
    write(file, "ole");
    EXPECT_FALSE(fs::exists(path));
    file.commit();
  }
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(read_text(path), "whole");
}

TEST_F(AtomicFileTest, IsThereWhenItIsOnTheDisk) {
  const fs::path path = folder_ / "out";
  AtomicFile file(path);
  write(file, "kept");
  EXPECT_FALSE(fs::exists(path));
  file.commit_to_disk();
  EXPECT_EQ(fs::file_size(path), 4u);
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, ReplacesWhatALinkPointsTo) {
  std::ofstream(folder_ / "real") << "old";
  fs::create_symlink("real", folder_ / "link");
  AtomicFile file(folder_ / "link");
  write(file, "new");
  EXPECT_EQ(read_text(folder_ / "real"), "old");
  file.commit();
  EXPECT_EQ(read_text(folder_ / "real"), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
}

TEST_F(AtomicFileTest, MakesWhatALinkPointsTo) {
  fs::create_directory(folder_ / "far");
  fs::create_symlink("far/near", folder_ / "link");
  fs::create_symlink("real", folder_ / "far" / "near");
  AtomicFile file(folder_ / "link");
  write(file, "new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "far" / "near"));
  EXPECT_EQ(read_text(folder_ / "far" / "real"), "new");
}

TEST_F(AtomicFileTest, KeepsTheModeOfWhatItReplaces) {
  fs::path path = folder_ / "out";
  for (unsigned mode : {0600u, 0666u, 0755u}) {
    std::ofstream(path) << "old";
    fs::permissions(path, fs::perms{mode});
    AtomicFile file(path);
    write(file, "new");
    file.commit();
    EXPECT_EQ(read_text(path), "new");
    EXPECT_EQ(static_cast<unsigned>(fs::status(path).permissions()), mode);
  }
}

TEST_F(AtomicFileTest, RefusesLinksInACircle) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_THROW(AtomicFile(folder_ / "a"), Error);
  EXPECT_EQ(files(), 2u);
}

TEST_F(AtomicFileTest, RefusesAPlaceThatCannotBeWritten) {
  EXPECT_THROW(AtomicFile(folder_ / "missing" / "out"), Error);
  EXPECT_THROW(AtomicFile(folder_.string()), Error);
}

TEST_F(AtomicFileTest, WritesDevicesDirectly) {
  AtomicFile file("/dev/null");
  write(file, "nothing");
  file.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFileTest, NamesAFullDevice) {
  AtomicFile file("/dev/full");
  try {
    write(file, "much");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "cannot write '/dev/full': No space left on device");
  }
}

}  // namespace
}  // namespace hearth
