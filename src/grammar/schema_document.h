// SchemaDocument parses a JSON Schema and resolves references inside of it: by its draft, the
// resources that "$id" begins, and anchors. Nothing is fetched.
//
// Errors (kRequest) begin with the path of the place, such as "schema.properties.id".
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hearth {

// Limits on a whole schema.
struct SchemaLimits {
  size_t bytes = size_t{1} << 20;
  uint32_t depth = 64;
  size_t nodes = 100'000;  // values of the JSON
  size_t enum_values = 10'000;
  size_t properties = 5'000;
};

enum class SchemaDraft { k4, k6, k7, k2019, k2020 };

class SchemaDocument {
 public:
  // `name` is the root's in errors.
  SchemaDocument(std::string_view text, std::string_view name, const SchemaLimits& limits);

  const boost::json::value& root() const { return root_; }
  SchemaDraft draft() const { return draft_; }

  // Returns the schema that `reference`, the value of `keyword` in the schema `from`, names.
  const boost::json::value& resolve(const boost::json::value& from, std::string_view keyword,
                                    std::string_view reference);
  // Resolves "$dynamicRef" and "$recursiveRef", if every way to the place leads to the same schema;
  // else throws.
  const boost::json::value& resolve_dynamic(const boost::json::value& from,
                                            std::string_view keyword, std::string_view reference);

  // Throws an error about a keyword of the schema `at`: 'PATH: keyword "KEYWORD" SENTENCE'.
  [[noreturn]] void refuse(const boost::json::value& at, std::string_view keyword,
                           std::string_view sentence) const;
  std::string path(const boost::json::value& at) const;

 private:
  struct Resource {
    std::string uri;
    const boost::json::value* root;
  };

  void count(const boost::json::value& value, const SchemaLimits& limits);
  void visit(const boost::json::value& schema, uint32_t resource);
  uint32_t resource_of(const boost::json::value& schema, uint32_t around);
  void note_anchors(const boost::json::value& schema, uint32_t resource);
  const boost::json::value* find(const std::string& uri, const std::string& fragment);

  std::string name_;
  boost::json::value root_;
  SchemaDraft draft_ = SchemaDraft::k2020;
  size_t nodes_ = 0, enum_values_ = 0, properties_ = 0;
  std::vector<Resource> resources_;
  std::unordered_map<const boost::json::value*, uint32_t> resource_at_;  // of schemas visited
  std::map<std::string, const boost::json::value*> anchors_;             // "URI#anchor"
  std::map<std::string, uint32_t> dynamic_anchors_;  // by name, how many schemas have it
};

}  // namespace hearth
