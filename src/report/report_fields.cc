#include "report/report_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "base/error.h"
#include "base/printable.h"

namespace hearth {
namespace {

constexpr size_t kMaxText = 400;

}  // namespace

void ReportFields::refuse(std::string_view key, const char* wanted) const {
  fail(ErrorCode::kFile,
       "{} has no {} '{}': it is not a report of `hearth bench --json`, or is incomplete", *report_,
       wanted, key);
}

const boost::json::value* ReportFields::find(std::string_view key) const {
  const boost::json::object* object = value_->if_object();
  const boost::json::value* value = object ? object->if_contains(key) : nullptr;
  return value && !value->is_null() ? value : nullptr;
}

const boost::json::value& ReportFields::get(std::string_view key) const {
  const boost::json::value* value = find(key);
  if (value == nullptr) refuse(key, "value");
  return *value;
}

double ReportFields::number(std::string_view key) const {
  const boost::json::value& value = get(key);
  if (!value.is_number()) refuse(key, "number");
  return value.to_number<double>();
}

uint64_t ReportFields::count(std::string_view key) const {
  constexpr double kMax = 1e18;
  return static_cast<uint64_t>(std::clamp(number(key), 0.0, kMax));
}

std::string ReportFields::text(std::string_view key) const {
  const boost::json::string* text = get(key).if_string();
  if (text == nullptr) refuse(key, "text");
  return printable(*text, kMaxText);
}

bool ReportFields::boolean(std::string_view key) const {
  const bool* value = get(key).if_bool();
  if (value == nullptr) refuse(key, "truth value");
  return *value;
}

ReportFields ReportFields::object(std::string_view key) const {
  const boost::json::value& value = get(key);
  if (!value.is_object()) refuse(key, "object");
  return {value, *report_};
}

std::vector<ReportFields> ReportFields::objects(std::string_view key) const {
  const boost::json::array* array = get(key).if_array();
  if (array == nullptr) refuse(key, "array");
  std::vector<ReportFields> objects;
  for (const boost::json::value& value : *array) {
    if (!value.is_object()) refuse(key, "array of objects");
    objects.emplace_back(value, *report_);
  }
  return objects;
}

std::vector<std::string> ReportFields::texts(std::string_view key) const {
  const boost::json::array* array = get(key).if_array();
  if (array == nullptr) refuse(key, "array");
  std::vector<std::string> texts;
  for (const boost::json::value& value : *array) {
    const boost::json::string* text = value.if_string();
    if (text == nullptr) refuse(key, "array of texts");
    texts.push_back(printable(*text, kMaxText));
  }
  return texts;
}

std::optional<ReportFields> ReportFields::find_object(std::string_view key) const {
  if (find(key) == nullptr) return std::nullopt;
  return object(key);
}

std::optional<double> ReportFields::find_number(std::string_view key) const {
  if (find(key) == nullptr) return std::nullopt;
  return number(key);
}

std::vector<double> ReportFields::find_numbers(std::string_view key) const {
  std::vector<double> numbers;
  const boost::json::value* value = find(key);
  if (value == nullptr) return numbers;
  if (!value->is_array()) refuse(key, "array");
  for (const boost::json::value& each : value->get_array()) {
    if (!each.is_number()) refuse(key, "array of numbers");
    numbers.push_back(each.to_number<double>());
  }
  return numbers;
}

Figure ReportFields::spread(std::string what, std::string_view key, std::string note) const {
  const ReportFields spread = object(key);
  Figure figure{std::move(what), {}, spread.number("median")};
  figure.range = {spread.number("min"), spread.number("max")};
  figure.note = std::move(note);
  return figure;
}

}  // namespace hearth
