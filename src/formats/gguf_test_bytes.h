// Helpers for the GGUF tests: files written byte by byte, so that any place of them can be wrong;
// the error messages of reading them; and a temporary folder for each test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/gguf.h"

namespace hearth {

class GgufBytes {
 public:
  template <typename T>
  GgufBytes& put(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
    return *this;
  }
  GgufBytes& u32(uint32_t value) { return put(value); }
  GgufBytes& u64(uint64_t value) { return put(value); }
  GgufBytes& raw(std::string_view text) {
    for (char c : text) put(c);
    return *this;
  }
  GgufBytes& str(std::string_view text) { return u64(text.size()).raw(text); }
  GgufBytes& header(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
    return raw("GGUF").u32(version).u64(tensors).u64(keys);
  }
  GgufBytes& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                    uint64_t offset) {
    str(name).u32(static_cast<uint32_t>(dims.size()));
    for (uint64_t dim : dims) u64(dim);
    return u32(type).u64(offset);
  }
  // Pads to the start of the data section and appends `bytes` of data.
  GgufBytes& data(size_t bytes, size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment + bytes);
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// A temporary folder for the running test, removed with the object; its path ends in '/'.
class TestFolder {
 public:
  TestFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = ::testing::TempDir() +
            fmt::format("hearth-{}-{}-{}/", getpid(), test->test_suite_name(), test->name());
    std::filesystem::create_directories(path_);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Returns the message of the hearth::Error of kind kFile that `act` throws; "" if it throws none.
template <typename Act>
std::string file_error(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.code() == ErrorCode::kFile ? error.what() : "not a file error";
  }
  return "";
}

inline std::string parse_error(std::span<const std::byte> bytes) {
  return file_error([&] { parse_gguf(bytes, "m.gguf"); });
}
inline std::string parse_error(const GgufBytes& file) { return parse_error(file.bytes()); }

inline bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

}  // namespace hearth
