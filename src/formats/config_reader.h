// ConfigReader reads untrusted JSON objects, such as config.json, by key; its errors name the file
// and the key. A key whose value is null counts as missing.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/mapped_file.h"

namespace hearth {

// Reads a file of at most `max_bytes` whose JSON is an object, or for read_json_array() an array.
// Errors: kFile.
boost::json::value read_json_file(const MappedFile& file, uint64_t max_bytes);
boost::json::value read_json_array(const MappedFile& file, uint64_t max_bytes);

class ConfigReader {
 public:
  // Reads an object; it and the file's name outlive the reader. `path` is put before a key in
  // messages: "rope_scaling.".
  ConfigReader(const boost::json::object& object, const std::string& file, std::string path = "")
      : object_(object), file_(file), path_(std::move(path)) {}

  const std::string& file() const { return file_; }
  // Returns the value, or null if it is missing.
  const boost::json::value* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // Returns a whole number from `least` to `most`; none if the key is missing.
  std::optional<uint32_t> count(std::string_view key, uint32_t most, uint32_t least = 1) const;
  uint32_t count_or(std::string_view key, uint32_t otherwise, uint32_t most,
                    uint32_t least = 1) const;
  uint32_t need_count(std::string_view key, uint32_t most, uint32_t least = 1) const;
  // Returns a number above zero that a float can hold; none if the key is missing.
  std::optional<double> real(std::string_view key) const;
  double real_or(std::string_view key, double otherwise) const;
  std::optional<bool> flag(std::string_view key) const;
  bool flag_or(std::string_view key, bool otherwise) const;
  std::optional<std::string> text(std::string_view key) const;
  std::string text_or(std::string_view key, const char* otherwise) const;
  std::optional<ConfigReader> object(std::string_view key) const;
  // Returns a reader of the object at `key`, which must be there. Keys that the object lacks are
  // looked up in this reader's object.
  ConfigReader inside(std::string_view key) const;
  // Returns readers of an array's objects.
  std::optional<std::vector<ConfigReader>> objects(std::string_view key) const;
  // Returns the strings of an array.
  std::optional<std::vector<std::string>> texts(std::string_view key) const;

  // Throws (kFile) with the key, its value, and what is wanted.
  [[noreturn]] void refuse(std::string_view key, const std::string& wanted) const;
  // Throws (kUnsupported): this program cannot run the value at `key`. `known` says what it runs.
  [[noreturn]] void fail_unsupported(std::string_view key, const std::string& known) const;

 private:
  [[noreturn]] void fail_missing(std::string_view key) const;
  // Returns the value as short, printable JSON, for messages.
  std::string shown(std::string_view key) const;
  // Returns the key as messages name it, with the keys of the objects around it.
  std::string full(std::string_view key) const;

  const boost::json::object& object_;
  const std::string& file_;
  std::string path_;
  const boost::json::object* around_ = nullptr;
};

}  // namespace hearth
