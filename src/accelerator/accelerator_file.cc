#include "accelerator/accelerator_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/json/value.hpp>
#include <cmath>
#include <optional>

#include "accelerator/find_accelerators.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/printable.h"

namespace hearth {
namespace {

// Files of version 1 lack the rates of kernels and the time of a command.
constexpr uint64_t kFileVersion = 2;
constexpr const char* kVersionKey = "hearth_accelerator";
// The limits on the length of a list and of a text in the file: more than any real accelerator
// needs.
constexpr size_t kMaxItems = 1000, kMaxText = 1000;
// The greatest number in the file. A double holds all whole numbers up to here exactly.
constexpr uint64_t kMaxFigure = uint64_t{1} << 53;
constexpr uint64_t kMaxRows = uint64_t{1} << 20;

// Writes a spread as whole numbers, which every reader of JSON reads exactly.
void json_spread(Json& json, const char* key, const Spread& spread) {
  const auto whole = [](double value) {
    const double most = static_cast<double>(kMaxFigure);
    return static_cast<uint64_t>(std::clamp(std::round(value), 1.0, most));
  };
  json.key(key).object().key("median").number(whole(spread.median));
  json.key("min").number(whole(spread.least)).key("max").number(whole(spread.most)).end_object();
}

void json_transfer(Json& json, const char* key, const std::optional<TransferRate>& rate) {
  json.key(key);
  if (!rate) {
    json.null();
    return;
  }
  json.object().key("bytes").number(rate->bytes);
  json_spread(json, "bytes_per_second", rate->per_second);
  json.end_object();
}

void json_product(Json& json, const ProductRate& product) {
  json.object().key("kind").text(pack_kind_info(product.kind).name);
  json.key("rows").number(product.rows).key("side").number(product.side);
  if (product.refused.empty()) {
    json_spread(json, "multiply_adds_per_second", product.per_second);
  } else {
    json.key("multiply_adds_per_second").null();
  }
  json.key("refused").text(product.refused).end_object();
}

void json_kernel(Json& json, const KernelRate& kernel) {
  json.object().key("contract").text(kernel.contract);
  json.key("rows").number(kernel.rows).key("length").number(kernel.length);
  if (kernel.refused.empty()) {
    json_spread(json, "work_per_second", kernel.per_second);
  } else {
    json.key("work_per_second").null();
  }
  json.key("refused").text(kernel.refused).end_object();
}

void json_rates(Json& json, const AcceleratorRates& rates) {
  json.object();
  json_transfer(json, "write", rates.write);
  json_transfer(json, "read", rates.read);
  json_transfer(json, "import_to", rates.import_to);
  json_transfer(json, "import_from", rates.import_from);
  json.key("import_refused").text(rates.import_refused);
  json_transfer(json, "memory", rates.memory);
  json_spread(json, "submission_nanoseconds", rates.submission_nanoseconds);
  if (rates.command_nanoseconds) {
    json_spread(json, "command_nanoseconds", *rates.command_nanoseconds);
  } else {
    json.key("command_nanoseconds").null();
  }
  json.key("products").array();
  for (const ProductRate& product : rates.products) json_product(json, product);
  json.end_array().key("kernels").array();
  for (const KernelRate& kernel : rates.kernels) json_kernel(json, kernel);
  json.end_array().end_object();
}

// A value of the file, with its path for error messages.
class Field {
 public:
  Field(const boost::json::value& value, const std::string& file, std::string path)
      : value_(value), file_(file), path_(std::move(path)) {}

  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorCode::kFile,
         "'{}' is not a description of a GPU: {} {}; write one with 'hearth gpu --bench --save "
         "FILE'",
         file_, path_.empty() ? "it" : fmt::format("'{}'", path_), why);
  }

  bool is_null() const { return value_.is_null(); }

  Field operator[](const char* key) const {
    const boost::json::object* object = value_.if_object();
    if (object == nullptr) refuse(fmt::format("is not an object with '{}'", key));
    const boost::json::value* member = object->if_contains(key);
    if (member == nullptr) refuse(fmt::format("has no '{}'", key));
    return {*member, file_, path_.empty() ? key : fmt::format("{}.{}", path_, key)};
  }

  std::vector<Field> items() const {
    const boost::json::array* array = value_.if_array();
    if (array == nullptr || array->size() > kMaxItems) {
      refuse(fmt::format("is not a list of up to {}", kMaxItems));
    }
    std::vector<Field> fields;
    for (const boost::json::value& item : *array) {
      fields.push_back({item, file_, fmt::format("{}[{}]", path_, fields.size())});
    }
    return fields;
  }

  std::string text() const {
    const boost::json::string* text = value_.if_string();
    if (text == nullptr || text->size() > kMaxText) {
      refuse(fmt::format("is not a string of up to {} bytes", kMaxText));
    }
    return printable(*text, kMaxText);
  }

  bool flag() const {
    const bool* flag = value_.if_bool();
    if (flag == nullptr) refuse("is neither true nor false");
    return *flag;
  }

  uint64_t number(uint64_t least = 0, uint64_t most = UINT64_MAX) const {
    std::optional<uint64_t> number;
    if (const uint64_t* large = value_.if_uint64()) number = *large;
    if (const int64_t* any = value_.if_int64(); any != nullptr && *any >= 0) {
      number = static_cast<uint64_t>(*any);
    }
    if (!number || *number < least || *number > most) {
      refuse(fmt::format("is not a whole number from {} to {}", least, most));
    }
    return *number;
  }

 private:
  const boost::json::value& value_;
  const std::string& file_;
  std::string path_;
};

Spread read_spread(const Field& field) {
  const auto read = [&](const char* key) {
    return static_cast<double>(field[key].number(1, kMaxFigure));
  };
  const Spread spread{read("median"), read("min"), read("max")};
  if (spread.least > spread.median || spread.median > spread.most) {
    field.refuse("has a median that is not between 'min' and 'max'");
  }
  return spread;
}

TransferRate read_transfer(const Field& field) {
  return {field["bytes"].number(1, kMaxBufferBytes), read_spread(field["bytes_per_second"])};
}

AcceleratorKind read_accelerator_kind(const Field& field) {
  const std::string name = field.text();
  for (int i = 0; i <= static_cast<int>(AcceleratorKind::kOther); ++i) {
    const auto kind = static_cast<AcceleratorKind>(i);
    if (name == accelerator_kind_name(kind)) return kind;
  }
  field.refuse(fmt::format("is '{}', which is not a kind of accelerator", name));
}

PackKind read_pack_kind(const Field& field) {
  const std::string name = field.text();
  for (size_t i = 0; i < kPackKinds; ++i) {
    const auto kind = static_cast<PackKind>(i);
    if (name == pack_kind_info(kind).name) return kind;
  }
  field.refuse(fmt::format("is '{}', which is not a kind of weights", name));
}

AcceleratorFacts read_facts(const Field& field) {
  AcceleratorFacts facts = {.name = field["name"].text(),
                            .driver = field["driver"].text(),
                            .api = field["api"].text(),
                            .kind = read_accelerator_kind(field["kind"]),
                            .memory_bytes = field["memory_bytes"].number(1),
                            .free_bytes = field["free_bytes"].number(),
                            .allocation_bytes = field["allocation_bytes"].number(1),
                            .import_alignment = field["import_alignment"].number(),
                            .queues = {},
                            .arithmetic = field["arithmetic"].text(),
                            .lacks = {}};
  if (facts.name.empty()) field["name"].refuse("is empty");
  if (facts.import_alignment != 0 && !std::has_single_bit(facts.import_alignment)) {
    field["import_alignment"].refuse("is neither 0 nor a power of two");
  }
  for (const Field& queue : field["queues"].items()) {
    facts.queues.push_back({queue["computes"].flag()});
  }
  if (facts.queues.empty() || !facts.queues[0].computes) {
    field["queues"].refuse("must begin with a queue that computes");
  }
  for (const Field& lack : field["lacks"].items()) {
    facts.lacks.push_back({lack["what"].text(), lack["cost"].text()});
  }
  return facts;
}

ProductRate read_product(const Field& field) {
  ProductRate product = {.kind = read_pack_kind(field["kind"]),
                         .rows = static_cast<uint32_t>(field["rows"].number(1, kMaxRows)),
                         .side = static_cast<uint32_t>(field["side"].number(kBlock, kMaxRows)),
                         .per_second = {},
                         .refused = field["refused"].text()};
  const Field rate = field["multiply_adds_per_second"];
  if (rate.is_null() == product.refused.empty()) {
    rate.refuse("must be null if 'refused' has a text, and only then");
  }
  if (!rate.is_null()) product.per_second = read_spread(rate);
  return product;
}

KernelRate read_kernel(const Field& field) {
  KernelRate kernel = {.contract = field["contract"].text(),
                       .rows = static_cast<uint32_t>(field["rows"].number(1, kMaxRows)),
                       .length = static_cast<uint32_t>(field["length"].number(1, kMaxRows)),
                       .per_second = {},
                       .refused = field["refused"].text()};
  const Field rate = field["work_per_second"];
  if (rate.is_null() == kernel.refused.empty()) {
    rate.refuse("must be null if 'refused' has a text, and only then");
  }
  if (!rate.is_null()) kernel.per_second = read_spread(rate);
  return kernel;
}

AcceleratorRates read_rates(const Field& field, uint64_t version) {
  AcceleratorRates rates;
  rates.write = read_transfer(field["write"]);
  rates.read = read_transfer(field["read"]);
  rates.import_refused = field["import_refused"].text();
  const auto imported = [&](const char* key) -> std::optional<TransferRate> {
    const Field rate = field[key];
    if (rate.is_null() == rates.import_refused.empty()) {
      rate.refuse("must be null if 'import_refused' has a text, and only then");
    }
    if (rate.is_null()) return std::nullopt;
    return read_transfer(rate);
  };
  rates.import_to = imported("import_to");
  rates.import_from = imported("import_from");
  rates.memory = read_transfer(field["memory"]);
  rates.submission_nanoseconds = read_spread(field["submission_nanoseconds"]);
  for (const Field& product : field["products"].items()) {
    rates.products.push_back(read_product(product));
  }
  if (version == 1) return rates;
  const Field command = field["command_nanoseconds"];
  if (!command.is_null()) rates.command_nanoseconds = read_spread(command);
  for (const Field& kernel : field["kernels"].items()) {
    rates.kernels.push_back(read_kernel(kernel));
  }
  return rates;
}

boost::json::value json_of(const std::string& text, const std::string& name) {
  try {
    return read_json(text);
  } catch (const Error& error) {
    fail(ErrorCode::kFile,
         "'{}' is not a description of a GPU: {}; write one with 'hearth gpu --bench --save FILE'",
         name, error.what());
  }
}

}  // namespace

void json_facts(Json& json, const AcceleratorFacts& facts) {
  json.key("name").text(facts.name).key("kind").text(accelerator_kind_name(facts.kind));
  json.key("driver").text(facts.driver).key("api").text(facts.api);
  json.key("memory_bytes").number(facts.memory_bytes);
  json.key("free_bytes").number(facts.free_bytes);
  json.key("allocation_bytes").number(facts.allocation_bytes);
  json.key("import_alignment").number(facts.import_alignment);
  json.key("queues").array();
  for (const QueueFacts& queue : facts.queues) {
    json.object().key("computes").boolean(queue.computes).end_object();
  }
  json.end_array().key("arithmetic").text(facts.arithmetic).key("lacks").array();
  for (const Lack& lack : facts.lacks) {
    json.object().key("what").text(lack.what).key("cost").text(lack.cost).end_object();
  }
  json.end_array();
}

void json_accelerator(Json& json, const MeasuredAccelerator& accelerator) {
  json.object().key(kVersionKey).number(kFileVersion).key("facts").object();
  json_facts(json, accelerator.facts);
  json_rates(json.end_object().key("rates"), accelerator.rates);
  json.end_object();
}

MeasuredAccelerator parse_accelerator(const std::string& text, const std::string& name) {
  const boost::json::value json = json_of(text, name);
  const Field file(json, name, "");
  const uint64_t version = file[kVersionKey].number();
  if (version != 1 && version != kFileVersion) {
    file.refuse(fmt::format("has version {}, and this version of hearth reads 1 and {}", version,
                            kFileVersion));
  }
  return {read_facts(file["facts"]), read_rates(file["rates"], version)};
}

}  // namespace hearth
