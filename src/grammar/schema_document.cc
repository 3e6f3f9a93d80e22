#include "grammar/schema_document.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "base/error.h"
#include "base/json_reader.h"
#include "grammar/schema_uri.h"

namespace hearth {
namespace {

namespace json = boost::json;

// The kind of a keyword's value: schemas, in some form, or data.
enum class Holds { kData, kSchema, kSchemaOrList, kList, kMap };

Holds keyword_holds(std::string_view keyword) {
  static constexpr struct {
    std::string_view keyword;
    Holds holds;
  } kHolds[] = {
      {"additionalItems", Holds::kSchema},
      {"additionalProperties", Holds::kSchema},
      {"contains", Holds::kSchema},
      {"else", Holds::kSchema},
      {"if", Holds::kSchema},
      {"not", Holds::kSchema},
      {"propertyNames", Holds::kSchema},
      {"then", Holds::kSchema},
      {"unevaluatedItems", Holds::kSchema},
      {"unevaluatedProperties", Holds::kSchema},
      {"items", Holds::kSchemaOrList},
      {"allOf", Holds::kList},
      {"anyOf", Holds::kList},
      {"oneOf", Holds::kList},
      {"prefixItems", Holds::kList},
      {"$defs", Holds::kMap},
      {"definitions", Holds::kMap},
      {"dependencies", Holds::kMap},
      {"dependentSchemas", Holds::kMap},
      {"patternProperties", Holds::kMap},
      {"properties", Holds::kMap},
  };
  for (const auto& row : kHolds) {
    if (row.keyword == keyword) return row.holds;
  }
  return Holds::kData;
}

SchemaDraft draft_named(const json::value& root) {
  const json::object* object = root.if_object();
  const json::value* named = object == nullptr ? nullptr : object->if_contains("$schema");
  if (named == nullptr || !named->is_string()) return SchemaDraft::k2020;
  const std::string_view uri = named->get_string();
  if (uri.find("draft-03") != uri.npos || uri.find("draft-04") != uri.npos) return SchemaDraft::k4;
  if (uri.find("draft-06") != uri.npos) return SchemaDraft::k6;
  if (uri.find("draft-07") != uri.npos) return SchemaDraft::k7;
  return uri.find("2019-09") != uri.npos ? SchemaDraft::k2019 : SchemaDraft::k2020;
}

const json::string* text_of(const json::value& schema, std::string_view keyword) {
  const json::object* object = schema.if_object();
  const json::value* value = object == nullptr ? nullptr : object->if_contains(keyword);
  return value == nullptr ? nullptr : value->if_string();
}

// Appends the path of `target` inside of `value` to `path`. Returns false if `value` does not
// contain it.
bool find_path(const json::value& value, const json::value& target, std::string& path) {
  if (&value == &target) return true;
  const size_t before = path.size();
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) {
      path.append(".").append(member.key());
      if (find_path(member.value(), target, path)) return true;
      path.resize(before);
    }
  } else if (const json::array* array = value.if_array()) {
    for (size_t i = 0; i < array->size(); ++i) {
      path += fmt::format("[{}]", i);
      if (find_path((*array)[i], target, path)) return true;
      path.resize(before);
    }
  }
  return false;
}

// Returns the next name of a JSON pointer ("/a~1b/c"), unescaped, and removes it from `pointer`.
std::string take_pointer_name(std::string_view& pointer) {
  pointer.remove_prefix(1);
  std::string name;
  while (!pointer.empty() && pointer[0] != '/') {
    const bool escaped = pointer.starts_with("~0") || pointer.starts_with("~1");
    name += escaped ? (pointer[1] == '0' ? '~' : '/') : pointer[0];
    pointer.remove_prefix(escaped ? 2 : 1);
  }
  return name;
}

const json::value* child_named(const json::value& value, const std::string& name) {
  if (const json::object* object = value.if_object()) return object->if_contains(name);
  const json::array* array = value.if_array();
  if (array == nullptr || name.empty() || name.size() > 6 ||
      name.find_first_not_of("0123456789") != name.npos) {
    return nullptr;
  }
  return array->if_contains(std::stoul(name));
}

}  // namespace

SchemaDocument::SchemaDocument(std::string_view text, std::string_view name,
                               const SchemaLimits& limits)
    : name_(name) {
  if (text.size() > limits.bytes) {
    fail(ErrorCode::kRequest,
         "{}: the schema has {} bytes, and at most {} are supported: shorten it", name, text.size(),
         limits.bytes);
  }
  try {
    root_ = read_json(text, limits.depth);
  } catch (const Error& error) {
    fail(ErrorCode::kRequest, "{}: {}", name, error.what());
  }
  count(root_, limits);
  draft_ = draft_named(root_);
  resources_.push_back({"", &root_});
  visit(root_, 0);
}

void SchemaDocument::count(const json::value& value, const SchemaLimits& limits) {
  auto check = [&](size_t count, size_t limit, std::string_view what) {
    if (count <= limit) return;
    fail(ErrorCode::kRequest, "{}: the schema has more than {} {}: give a smaller one", path(value),
         limit, what);
  };
  check(++nodes_, limits.nodes, "values");
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) {
      const json::value& held = member.value();
      if (member.key() == "enum" && held.is_array()) enum_values_ += held.get_array().size();
      if (member.key() == "properties" && held.is_object()) properties_ += held.get_object().size();
      check(enum_values_, limits.enum_values, "values in \"enum\"");
      check(properties_, limits.properties, "properties");
      count(held, limits);
    }
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) count(item, limits);
  }
}

uint32_t SchemaDocument::resource_of(const json::value& schema, uint32_t around) {
  const json::string* id = text_of(schema, draft_ == SchemaDraft::k4 ? "id" : "$id");
  const bool ref_hides = draft_ <= SchemaDraft::k7 && text_of(schema, "$ref") != nullptr;
  if (id == nullptr || ref_hides || id->empty() || id->front() == '#') return around;
  const std::string uri = resolve_uri(resources_[around].uri, std::string_view(*id));
  if (&schema == resources_[0].root) {
    resources_[0].uri = uri;
    return 0;
  }
  resources_.push_back({uri, &schema});
  return static_cast<uint32_t>(resources_.size() - 1);
}

void SchemaDocument::note_anchors(const json::value& schema, uint32_t resource) {
  auto note = [&](std::string_view name) {
    anchors_.emplace(fmt::format("{}#{}", resources_[resource].uri, name), &schema);
  };
  if (const json::string* name = text_of(schema, "$anchor")) note(*name);
  if (const json::string* name = text_of(schema, "$dynamicAnchor")) {
    note(*name);
    ++dynamic_anchors_[std::string(*name)];
  }
  const json::string* id = text_of(schema, draft_ == SchemaDraft::k4 ? "id" : "$id");
  if (id != nullptr && id->starts_with('#')) note(std::string_view(*id).substr(1));
  if (const json::value* recursive = schema.get_object().if_contains("$recursiveAnchor")) {
    if (recursive->is_bool() && recursive->get_bool()) ++dynamic_anchors_["$recursiveAnchor"];
  }
}

void SchemaDocument::visit(const json::value& schema, uint32_t resource) {
  const json::object* object = schema.if_object();
  if (object == nullptr || resource_at_.contains(&schema)) return;
  resource = resource_of(schema, resource);
  resource_at_.emplace(&schema, resource);
  note_anchors(schema, resource);
  for (const auto& member : *object) {
    const Holds holds = keyword_holds(member.key());
    const json::value& value = member.value();
    const bool list = holds == Holds::kList || holds == Holds::kSchemaOrList;
    if (list && value.is_array()) {
      for (const json::value& item : value.get_array()) visit(item, resource);
    } else if (holds == Holds::kMap && value.is_object()) {
      for (const auto& entry : value.get_object()) visit(entry.value(), resource);
    } else if (holds == Holds::kSchema || holds == Holds::kSchemaOrList) {
      visit(value, resource);
    }
  }
}

// Returns the place that a fragment names; null where the document has no such place.
const json::value* SchemaDocument::find(const std::string& uri, const std::string& fragment) {
  if (!fragment.empty() && fragment[0] != '/') {
    auto anchor = anchors_.find(fmt::format("{}#{}", uri, fragment));
    return anchor == anchors_.end() ? nullptr : anchor->second;
  }
  for (uint32_t resource = 0; resource < resources_.size(); ++resource) {
    if (resources_[resource].uri != uri) continue;
    const json::value* at = resources_[resource].root;
    std::string_view pointer = fragment;
    while (at != nullptr && !pointer.empty()) {
      auto known = resource_at_.find(at);
      if (known != resource_at_.end()) resource = known->second;
      at = child_named(*at, take_pointer_name(pointer));
    }
    if (at != nullptr) visit(*at, resource);
    return at;
  }
  return nullptr;
}

const json::value& SchemaDocument::resolve(const json::value& from, std::string_view keyword,
                                           std::string_view reference) {
  auto around = resource_at_.find(&from);
  const uint32_t resource = around == resource_at_.end() ? 0 : around->second;
  const std::string uri = resolve_uri(resources_[resource].uri, reference);
  const json::value* found = find(uri, uri_fragment(reference));
  if (found == nullptr) {
    const bool inside = uri == resources_[resource].uri;
    refuse(
        from, keyword,
        inside
            ? fmt::format(
                  "refers to \"{}\", which the schema does not have: correct it, or add that part",
                  reference)
            : fmt::format("refers to \"{}\", which is outside the schema and is not fetched: copy "
                          "it into \"$defs\" and refer to it there",
                          reference));
  }
  if (!found->is_object() && !found->is_bool()) {
    refuse(from, keyword,
           fmt::format("refers to \"{}\", which is not a schema: correct it", reference));
  }
  return *found;
}

const json::value& SchemaDocument::resolve_dynamic(const json::value& from,
                                                   std::string_view keyword,
                                                   std::string_view reference) {
  const json::value& found = resolve(from, keyword, reference);
  const std::string fragment = uri_fragment(reference);
  const json::string* anchor = text_of(found, "$dynamicAnchor");
  const bool recursive = keyword == "$recursiveRef";
  const std::string name = recursive ? "$recursiveAnchor" : fragment;
  const bool moves = recursive || (anchor != nullptr && std::string_view(*anchor) == fragment);
  auto same = dynamic_anchors_.find(name);
  if (moves && same != dynamic_anchors_.end() && same->second > 1) {
    refuse(
        from, keyword,
        "refers to an anchor that several schemas have, so its meaning is ambiguous: use \"$ref\"");
  }
  return found;
}

void SchemaDocument::refuse(const json::value& at, std::string_view keyword,
                            std::string_view sentence) const {
  fail(ErrorCode::kRequest, "{}: keyword \"{}\" {}", path(at), keyword, sentence);
}

std::string SchemaDocument::path(const json::value& at) const {
  std::string path = name_;
  find_path(root_, at, path);
  return path;
}

}  // namespace hearth
