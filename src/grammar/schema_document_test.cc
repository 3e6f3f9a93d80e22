#include "grammar/schema_document.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "grammar/schema_uri.h"
#include "grammar/test_schema.h"

namespace hearth {
namespace {

std::string resolved(std::string_view schema, std::string_view reference) {
  SchemaDocument document(schema, "schema", {});
  return document.path(document.resolve(document.root(), "$ref", reference));
}

std::string refusal_of(std::string_view schema, const SchemaLimits& limits = {}) {
  try {
    SchemaDocument document(schema, "schema", limits);
    document.resolve(document.root(), "$ref", "#/missing");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SchemaUri, ResolvesAsTheStandardSays) {  // RFC 3986, section 5.4
  const std::string base = "http://a/b/c/d;p?q";
  EXPECT_EQ(resolve_uri(base, "g"), "http://a/b/c/g");
  EXPECT_EQ(resolve_uri(base, "./g/"), "http://a/b/c/g/");
  EXPECT_EQ(resolve_uri(base, "/g"), "http://a/g");
  EXPECT_EQ(resolve_uri(base, "//g"), "http://g");
  EXPECT_EQ(resolve_uri(base, "?y"), "http://a/b/c/d;p?y");
  EXPECT_EQ(resolve_uri(base, "#s"), "http://a/b/c/d;p?q");
  EXPECT_EQ(resolve_uri(base, "../../g"), "http://a/g");
  EXPECT_EQ(resolve_uri(base, "../../../g"), "http://a/g");
  EXPECT_EQ(resolve_uri(base, ".."), "http://a/b/");
  EXPECT_EQ(resolve_uri(base, "urn:x:y"), "urn:x:y");
  EXPECT_EQ(uri_fragment("x#/a%22b"), "/a\"b");
}

TEST(SchemaDocument, FindsPointersAnchorsAndResources) {
  const std::string_view schema = R"({"$id": "http://x.org/a/root.json", "$defs": {
      "t~f/g": {"type": "integer"}, "b": {"$id": "b.json", "$anchor": "here",
      "$defs": {"c": {"type": "null"}}}, "list": {"anyOf": [true, {"$anchor": "second"}]}}})";
  EXPECT_EQ(resolved(schema, "#"), "schema");
  EXPECT_EQ(resolved(schema, "#/$defs/t~0f~1g"), "schema.$defs.t~f/g");
  EXPECT_EQ(resolved(schema, "b.json#here"), "schema.$defs.b");
  EXPECT_EQ(resolved(schema, "http://x.org/a/b.json#/$defs/c"), "schema.$defs.b.$defs.c");
  EXPECT_EQ(resolved(schema, "#second"), "schema.$defs.list.anyOf[1]");
  EXPECT_EQ(resolved(schema, "#/$defs/list/anyOf/1"), "schema.$defs.list.anyOf[1]");
  EXPECT_PRED2(has_part, refusal_of(schema), "schema: keyword \"$ref\" refers to \"#/missing\"");
  SchemaDocument document(schema, "schema", {});
  EXPECT_THROW(document.resolve(document.root(), "$ref", "http://y.org/z"), Error);
}

TEST(SchemaDocument, HasLimits) {
  EXPECT_PRED2(has_part, refusal_of(std::string(100'000, '[')), "deeper than 64");
  EXPECT_PRED2(has_part, refusal_of("{\"a\": [1, 2, 3]}", {.nodes = 4}), "more than 4 values");
  EXPECT_PRED2(has_part, refusal_of("{\"enum\": [1, 2]}", {.enum_values = 1}), "\"enum\"");
  EXPECT_PRED2(has_part, refusal_of(R"({"properties": {"a": 1, "b": 2}})", {.properties = 1}),
               "more than 1 properties");
  EXPECT_PRED2(has_part, refusal_of("{\"type\":\"string\"}", {.bytes = 9}), "17 bytes");
  EXPECT_PRED2(has_part, refusal_of("{\"type\":"), "schema: the JSON is incomplete");
}

}  // namespace
}  // namespace hearth
