// The fields of a report, read from JSON that anybody may have written. Text is made fit for a
// terminal.
// Errors (kFile): a field that is missing or of another type; the sentence names report and field.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/report_file.h"

namespace hearth {

class ReportFields {
 public:
  // The value and the report's name outlive this.
  ReportFields(const boost::json::value& value, const std::string& report)
      : value_(&value), report_(&report) {}

  double number(std::string_view key) const;
  uint64_t count(std::string_view key) const;  // a whole number, held within what there can be
  std::string text(std::string_view key) const;
  bool boolean(std::string_view key) const;
  ReportFields object(std::string_view key) const;
  std::vector<ReportFields> objects(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  // Each returns none where the key is missing or null.
  std::optional<ReportFields> find_object(std::string_view key) const;
  std::optional<double> find_number(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::vector<double> find_numbers(std::string_view key) const;

  // Reads an object of median, min and max.
  Figure spread(std::string what, std::string_view key, std::string note = {}) const;

 private:
  const boost::json::value* find(std::string_view key) const;
  const boost::json::value& get(std::string_view key) const;
  [[noreturn]] void refuse(std::string_view key, const char* wanted) const;

  const boost::json::value* value_;
  const std::string* report_;
};

// Each adds what its kind of report holds to `report`.
void read_steps(const ReportFields& fields, ReportFile* report);
void read_serve(const ReportFields& fields, ReportFile* report);
void read_embed(const ReportFields& fields, ReportFile* report);

}  // namespace hearth
