// ReportFields: reads the fields of a report from untrusted JSON. Texts are made safe for a
// terminal. Errors (kFile): a field that is missing or of another type, with the report's and the
// field's names.
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
  // The value and the report's name must outlive this object.
  ReportFields(const boost::json::value& value, const std::string& report)
      : value_(&value), report_(&report) {}

  double number(std::string_view key) const;
  uint64_t count(std::string_view key) const;  // a whole number in [0, 1e18]; others are clamped
  std::string text(std::string_view key) const;
  bool boolean(std::string_view key) const;
  ReportFields object(std::string_view key) const;
  std::vector<ReportFields> objects(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  // Each returns nothing where the key is missing or null.
  std::optional<ReportFields> find_object(std::string_view key) const;
  std::optional<double> find_number(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::vector<double> find_numbers(std::string_view key) const;

  // Reads an object with median, min and max.
  Figure spread(std::string what, std::string_view key, std::string note = {}) const;

 private:
  const boost::json::value* find(std::string_view key) const;
  const boost::json::value& get(std::string_view key) const;
  [[noreturn]] void refuse(std::string_view key, const char* wanted) const;

  const boost::json::value* value_;
  const std::string* report_;
};

// Each adds the figures of one kind of report.
void read_steps(const ReportFields& fields, ReportFile* report);
void read_serve(const ReportFields& fields, ReportFile* report);
void read_embed(const ReportFields& fields, ReportFile* report);

}  // namespace hearth
