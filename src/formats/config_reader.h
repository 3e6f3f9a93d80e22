// The values of a JSON object that somebody else wrote, such as config.json, by key and with errors
// that name the file and the key. A key whose value is null counts as missing.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/mapped_file.h"

namespace hearth {

// The JSON of a file, which must be an object, or an array, and have at most `most_bytes`. Errors:
// kFile.
boost::json::value read_json_file(const MappedFile& file, uint64_t most_bytes);
boost::json::value read_json_array(const MappedFile& file, uint64_t most_bytes);

class ConfigReader {
 public:
  // Reads an object; it and the file's name outlive the reader. `path` is put before a key in
  // messages: "rope_scaling.".
  ConfigReader(const boost::json::object& object, const std::string& file, std::string path = "")
      : object_(object), file_(file), path_(std::move(path)) {}

  const std::string& file() const { return file_; }
  // The value, or null where it is missing.
  const boost::json::value* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // A whole number from `least` to `most`.
  std::optional<uint32_t> count(std::string_view key, uint32_t most, uint32_t least = 1) const;
  uint32_t count_or(std::string_view key, uint32_t otherwise, uint32_t most,
                    uint32_t least = 1) const;
  uint32_t need_count(std::string_view key, uint32_t most, uint32_t least = 1) const;
  // A number above zero that a float can hold.
  std::optional<double> real(std::string_view key) const;
  double real_or(std::string_view key, double otherwise) const;
  std::optional<bool> flag(std::string_view key) const;
  bool flag_or(std::string_view key, bool otherwise) const;
  std::optional<std::string> text(std::string_view key) const;
  std::string text_or(std::string_view key, const char* otherwise) const;
  std::optional<ConfigReader> object(std::string_view key) const;
  // Returns a reader of an object that is there, which finds what the object lacks in this one, a
  // file's.
  ConfigReader inside(std::string_view key) const;
  // Objects of an array.
  std::optional<std::vector<ConfigReader>> objects(std::string_view key) const;
  // Strings of an array.
  std::optional<std::vector<std::string>> texts(std::string_view key) const;

  // Throws (kFile) naming the key, what it is, and what is needed.
  [[noreturn]] void refuse(std::string_view key, const std::string& wanted) const;
  // Throws (kUnsupported): this program cannot run what the key says.
  [[noreturn]] void fail_unsupported(std::string_view key, const std::string& known) const;

 private:
  [[noreturn]] void fail_missing(std::string_view key) const;
  // The value as short JSON; what strings hold is made printable.
  std::string shown(std::string_view key) const;
  // Returns the key as messages name it, with the keys of the objects around it.
  std::string full(std::string_view key) const;

  const boost::json::object& object_;
  const std::string& file_;
  std::string path_;
  const boost::json::object* around_ = nullptr;
};

}  // namespace hearth
