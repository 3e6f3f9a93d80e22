#include "cost/bandwidth_file.h"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <array>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/json_memory.h"
#include "base/printable.h"

namespace hearth {
namespace {

using Pool = rapidjson::MemoryPoolAllocator<JsonMemory>;
using JsonValue = rapidjson::GenericValue<rapidjson::UTF8<>, Pool>;
using Document = rapidjson::GenericDocument<rapidjson::UTF8<>, Pool, JsonMemory>;

constexpr double kGiga = 1e9;
constexpr uint32_t kVersion = 2;  // of the file
// The limit on nodes, more than any computer has.
constexpr rapidjson::SizeType kMaxNodes = 4096;
// [arithmetic unit]: the key of its rate in the file.
constexpr std::array<const char*, kArithmeticUnits> kUnitKeys{"f32_gops", "bf16_gops", "int8_gops",
                                                              "int16_gops"};

void json_rate(Json& json, double rate) {
  json.real(rate > 0 ? std::optional(rate / kGiga) : std::nullopt);
}

void json_rates(Json& json, const char* key, const std::vector<double>& rates) {
  json.key(key).array();
  for (double rate : rates) json_rate(json, rate);
  json.end_array();
}

void json_contention(Json& json, const Contention& contention) {
  json.key("contention").object().key("cores").number(contention.cores);
  json.key("cluster").number(contention.cluster).key("ways").array();
  for (const Contention::Way& way : contention.ways) {
    std::vector<double> wanted, read;
    for (const auto& [want, given] : way.node) {
      wanted.push_back(want);
      read.push_back(given);
    }
    json.object();
    json_rates(json, "cluster_gb_per_second", way.cluster_read);
    json_rates(json, "wanted_gb_per_second", wanted);
    json_rates(json, "gb_per_second", read);
    json.key("operations_part").real(way.ops).end_object();
  }
  json.end_array().key("whole").boolean(contention.whole);
  if (!contention.whole) json.key("seconds").real(contention.seconds);
  json.end_object();
}

// Reads a document, and checks the type of each value before it takes it: RapidJSON aborts the
// program on a wrong type.
class TableReader {
 public:
  explicit TableReader(const std::string& name) : name_(name) {}

  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorCode::kFile,
         "'{}' is not a bandwidth table: {}; write one with 'hearth topo --bandwidth -o FILE'",
         name_, why);
  }
  const JsonValue& member(const JsonValue& object, const char* key) const {
    if (!object.IsObject()) refuse(fmt::format("'{}' must be inside an object", key));
    auto found = object.FindMember(key);
    if (found == object.MemberEnd()) refuse(fmt::format("it has no '{}'", key));
    return found->value;
  }
  std::string text(const JsonValue& object, const char* key) const {
    const JsonValue& value = member(object, key);
    if (!value.IsString()) refuse(fmt::format("'{}' is not a string", key));
    return {value.GetString(), value.GetStringLength()};
  }
  uint32_t number(const JsonValue& object, const char* key) const {
    const JsonValue& value = member(object, key);
    if (!value.IsUint()) refuse(fmt::format("'{}' is not a number", key));
    return value.GetUint();
  }
  std::span<const JsonValue> array(const JsonValue& value, const char* what) const {
    if (!value.IsArray() || value.Empty() || value.Size() > kMaxNodes) {
      refuse(fmt::format("'{}' is not a list of 1 to {}", what, kMaxNodes));
    }
    return {value.Begin(), value.Size()};
  }
  // Whether the object has the key with the value true.
  bool is_true(const JsonValue& object, const char* key) const {
    const auto found = object.FindMember(key);
    if (found == object.MemberEnd()) return false;
    if (!found->value.IsBool()) refuse(fmt::format("'{}' is neither true nor false", key));
    return found->value.GetBool();
  }
  // Returns how much time the patterns had. Files of an earlier release do not say it, and get half
  // of the usual time. So a measurement with the usual time counts as worth while.
  double seconds(const JsonValue& object) const {
    constexpr double kUnknown = 7.5;
    if (!object.HasMember("seconds")) return kUnknown;
    const JsonValue& value = member(object, "seconds");
    if (!value.IsNumber() || !(value.GetDouble() >= 0)) refuse("'seconds' is not a duration");
    return value.GetDouble();
  }
  // Returns a rate: the file has it in billions a second, or null for 0.
  double rate(const JsonValue& value) const {
    if (value.IsNull()) return 0;
    if (!value.IsNumber() || !(value.GetDouble() > 0) || value.GetDouble() > 1e9) {
      refuse("a rate is neither null nor a positive number");
    }
    return value.GetDouble() * kGiga;
  }

 private:
  const std::string& name_;
};

std::vector<double> rates_of(const TableReader& reader, const JsonValue& object, const char* key) {
  std::vector<double> rates;
  for (const JsonValue& rate : reader.array(reader.member(object, key), key)) {
    rates.push_back(reader.rate(rate));
  }
  return rates;
}

Contention contention_of(const TableReader& reader, const JsonValue& object) {
  Contention contention;
  contention.cores = reader.number(object, "cores");
  contention.cluster = reader.number(object, "cluster");
  const JsonValue& ways = reader.member(object, "ways");
  if (contention.cores == 0) return contention;
  contention.whole = reader.is_true(object, "whole");
  if (!contention.whole) contention.seconds = reader.seconds(object);
  for (const JsonValue& way : reader.array(ways, "ways")) {
    Contention::Way& of = contention.ways.emplace_back();
    of.cluster_read = rates_of(reader, way, "cluster_gb_per_second");
    const std::vector<double> wanted = rates_of(reader, way, "wanted_gb_per_second");
    const std::vector<double> read = rates_of(reader, way, "gb_per_second");
    if (wanted.size() != read.size()) reader.refuse("the two lists of a curve differ in length");
    for (size_t i = 0; i < read.size(); ++i) of.node.emplace_back(wanted[i], read[i]);
    of.ops = reader.rate(reader.member(way, "operations_part")) / kGiga;
  }
  if (!is_sound(contention)) reader.refuse("its 'contention' has values that no machine has");
  return contention;
}

}  // namespace

void json_bandwidth(Json& json, const Machine& machine, const BandwidthTable& table) {
  json.object().key("hearth_bandwidth").number(kVersion);
  json.key("machine").text(table.machine).key("cpu").text(table.cpu).key("nodes").array();
  for (size_t i = 0; i < table.nodes.size(); ++i) {
    json.object().key("node").number(table.nodes[i]).key("threads").number(table.threads[i]);
    json.key("memory_bytes").number(machine.nodes[i].memory_bytes).end_object();
  }
  json.end_array().key("gb_per_second").array();
  for (const std::vector<double>& row : table.read) {
    json.array();
    for (double rate : row) json_rate(json, rate);
    json.end_array();
  }
  json.end_array().key("one_thread").object().key("gb_per_second");
  json_rate(json, table.core_read);
  for (size_t u = 0; u < kArithmeticUnits; ++u)
    json_rate(json.key(kUnitKeys[u]), table.core_ops[u]);
  json.end_object();
  if (table.contention) json_contention(json, *table.contention);
  json.key("buffer_bytes").number(table.buffer_bytes);
  json.key("caches_want_bytes").number(table.wanted_bytes).end_object();
}

BandwidthTable parse_bandwidth(const std::string& text, const std::string& name) {
  TableReader reader(name);
  Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError()) reader.refuse("it is not JSON");
  if (reader.number(document, "hearth_bandwidth") != kVersion) {
    reader.refuse(fmt::format("its version is not {}", kVersion));
  }
  BandwidthTable table;
  table.machine = printable(reader.text(document, "machine"));
  table.cpu = printable(reader.text(document, "cpu"));
  for (const JsonValue& node : reader.array(reader.member(document, "nodes"), "nodes")) {
    table.nodes.push_back(reader.number(node, "node"));
    table.threads.push_back(reader.number(node, "threads"));
  }
  const char* rates = "gb_per_second";
  for (const JsonValue& row : reader.array(reader.member(document, rates), rates)) {
    std::vector<double>& read = table.read.emplace_back();
    for (const JsonValue& rate : reader.array(row, rates)) read.push_back(reader.rate(rate));
    if (read.size() != table.nodes.size())
      reader.refuse("a row does not have one entry for each of 'nodes'");
  }
  if (table.read.size() != table.nodes.size())
    reader.refuse("'nodes' does not have one entry for each row of the table");
  const JsonValue& one = reader.member(document, "one_thread");
  table.core_read = reader.rate(reader.member(one, rates));
  for (size_t u = 0; u < kArithmeticUnits; ++u) {
    table.core_ops[u] = reader.rate(reader.member(one, kUnitKeys[u]));
  }
  if (document.HasMember("contention")) {
    table.contention = contention_of(reader, document["contention"]);
  }
  return table;
}

}  // namespace hearth
