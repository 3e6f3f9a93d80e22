// Tests JSON Schema keyword by keyword: documents that a schema accepts, and ones that it refuses.
#include "grammar/schema.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "grammar/test_schema.h"

namespace hearth {
namespace {

// `said` and `unsaid` have accepted and refused documents, one on each line.
struct Keyword {
  std::string_view name, schema, said, unsaid;
};

constexpr Keyword kKeywords[] = {
    {"type", R"({"type": ["integer", "null"]})", "1\n-20\n0\n3.0\nnull\n-0",
     "1.5\ntrue\n\"1\"\n01\n[]"},
    {"number", R"({"type": "number"})", "1\n1.5e-3\n-0.25E+9", "+1\n.5\n1.\n1e\nnull"},
    {"draft4_integer",
     R"({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"})", "7", "7.0"},
    {"anything", "true", "{\"a\": [1, {\"b\": null}]}\n\"x\"\n[]\n{ }\n[ ]\n[1,2]",
     "{\"a\"}\n[1,]\n{\"a\":1,}\n[1 2]\n'a'\n\"\\x\"\n\"\\ud800\""},
    {"white_space", R"({"type": "array"})", "[ 1, 2 ]\n[1 ,2]\n[ ]", "[  1]\n [1]\n[1] \n[\t1]"},
    {"enum", R"({"enum": [1, "a\nb", null, {"a": [true]}, []]})",
     "1\n1.0\n\"a\\nb\"\n\"\\u0061\\u000ab\"\nnull\n{\"a\":[true]}\n[]",
     "2\n\"a\"\n{\"a\":[false]}\n{}\n[[]]\ntrue"},
    {"const", R"({"const": "\u00e9\ud83d\ude00\"/"})",
     "\"\u00e9\U0001f600\\\"/\"\n\"\\u00E9\\uD83d\\ude00\\u0022\\/\"", "\"\u00e9\\ud83d\"\n\"\""},
    {"minimum", R"({"minimum": -1.5, "exclusiveMaximum": 20})",
     "-1.5\n-1.50\n-1\n-0\n0\n19.999\n\"x\"", "-1.51\n-2\n20\n20.0\n100\n1e1"},
    {"exclusive_as_in_draft_4", R"({"minimum": 3, "exclusiveMinimum": true, "maximum": 30})",
     "3.1\n4\n29\n30\n30.0", "3\n3.0\n2\n31\n30.01"},
    {"multipleOf", R"({"multipleOf": 7})", "0\n-7\n7.0\n14\n1001", "1\n8\n7.5\n1002"},
    {"multipleOf_fraction", R"({"multipleOf": 0.25})", "0.5\n1\n-3.75\n2.250", "0.3\n1.26\n0.255"},
    {"length", R"({"minLength": 2, "maxLength": 3})",
     "\"ab\"\n\"\U0001f600\\ud83d\\ude00x\"\n\"\\n\u00e9\"\n5", "\"a\"\n\"\U0001f600\"\n\"abcd\""},
    {"pattern", R"({"pattern": "b+$"})", "\"ab\"\n\"\\u0062\"\n1", "\"ba\"\n\"\""},
    {"format", R"({"format": "date"})", "\"2024-02-29\"\n1",
     "\"2023-02-29\"\n\"2024-13-01\"\n\"x\""},
    {"unknown_format", R"({"format": "color"})", "\"x\"", "'x'"},
    {"properties", R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}},
                       "required": ["b"]})",
     "{\"a\": 1, \"b\": 2}\n{\"b\":2}\n{\"b\":2,\"c\":3}",
     "{}\n{\"a\":1}\n{\"b\":1,\"a\":1}\n{\"a\":\"x\",\"b\":1}\n{\"b\":1,\"b\":1}"},
    {"additionalProperties",
     R"({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "null"}})",
     "{}\n{\"a\":1}\n{\"a\":1,\"ab\":null}\n{\"\":null}", "{\"b\":1}\n{\"\\u0061\":1,\"a\":null}"},
    {"closed", R"({"type": "object", "properties": {"a": {}}, "additionalProperties": false})",
     "{}\n{\"a\":1}", "{\"b\":1}\n{\"a\":1,\"b\":1}"},
    {"patternProperties", R"({"type": "object", "patternProperties": {"^x": {"type": "integer"},
       "y$": {"minimum": 3}}, "additionalProperties": false,
       "properties": {"xa": {"maximum": 9}}})",
     "{\"xa\":9}\n{\"xb\":1,\"qy\":\"s\",\"xy\":3}",
     "{\"xa\":10}\n{\"xa\":\"s\"}\n{\"xy\":2}\n{\"qy\":2}\n{\"q\":1}"},
    {"propertyNames", R"({"propertyNames": {"maxLength": 2}, "required": ["a"]})",
     "{\"a\":1,\"bc\":2}\n[]", "{\"a\":1,\"bcd\":2}\n{}"},
    {"minProperties",
     R"({"minProperties": 2, "maxProperties": 3, "properties": {"a": {}, "b": {}}})",
     "{\"a\":1,\"b\":1}\n{\"b\":1,\"c\":1}\n{\"x\":1,\"y\":1,\"z\":1}",
     "{}\n{\"a\":1}\n{\"a\":1,\"b\":1,\"c\":1,\"d\":1}"},
    {"items", R"({"items": {"type": "integer"}, "minItems": 1, "maxItems": 3})",
     "[1]\n[1, 2, 3]\n{}", "[]\n[1,2,3,4]\n[\"a\"]"},
    {"prefixItems", R"({"prefixItems": [{"type": "null"}, true], "items": false, "minItems": 1})",
     "[null]\n[null,1]", "[]\n[1]\n[null,1,1]"},
    {"items_as_a_list", R"({"items": [{"type": "null"}], "additionalItems": {"type": "integer"}})",
     "[]\n[null]\n[null,1,2]", "[1]\n[null,null]"},
    {"contains", R"({"contains": {"type": "integer"}, "minContains": 2, "maxContains": 3})",
     "[1,2]\n[1,\"a\",2,3]", "[]\n[1]\n[1,2,3,4]\n[\"a\"]"},
    {"unique_of_few", R"({"items": {"enum": ["a", "b", true]}, "uniqueItems": true})",
     "[]\n[\"a\"]\n[true,\"b\",\"a\"]", "[\"a\",\"a\"]\n[\"a\",\"\\u0061\"]\n[1]"},
    {"allOf", R"({"allOf": [{"type": "object", "properties": {"a": {"minimum": 2}}},
       {"properties": {"a": {"maximum": 4}, "b": {}}, "required": ["b"]}]})",
     "{\"a\":3,\"b\":1}\n{\"b\":1}", "{\"a\":1,\"b\":1}\n{\"a\":5,\"b\":1}\n{\"a\":3}\n1"},
    {"anyOf", R"({"anyOf": [{"type": "object", "required": ["a"]}, {"type": "string"},
       {"type": "number", "maximum": 2}]})",
     "{\"a\":1}\n\"x\"\n2", "3\n[]\n{\"b\":1}"},
    {"oneOf", R"({"oneOf": [{"type": "integer"}, {"minimum": 2}]})", "1\n2.5\n\"x\"", "3\n1.5"},
    {"oneOf_of_required",
     R"({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})",
     "{\"a\":1}\n{\"b\":1}\n{\"c\":1,\"a\":1}", "{}\n{\"a\":1,\"b\":1}\n{\"b\":1,\"a\":1}"},
    {"not", R"({"not": {"enum": ["a", 1, null]}})", "\"b\"\n2\n[]\ntrue",
     "\"a\"\n1\n1.0\nnull\n\"\\u0061\""},
    {"not_of_an_object", R"({"type": "object", "not": {"properties": {"a": {"type": "null"}},
       "required": ["b"]}})",
     "{}\n{\"a\":1}\n{\"a\":1,\"b\":1}\n{\"a\":null}", "{\"b\":1}\n{\"a\":null,\"b\":1}"},
    {"if",
     R"({"properties": {"k": {"enum": ["x", "y"]}}, "if": {"properties": {"k": {"const": "x"}},
       "required": ["k"]}, "then": {"required": ["a"]}, "else": {"required": ["b"]}})",
     "{\"k\":\"x\",\"a\":1}\n{\"k\":\"y\",\"b\":1}\n{\"b\":1}", "{\"k\":\"x\",\"b\":1}\n{\"a\":1}"},
    {"dependentRequired",
     R"({"properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}})",
     "{}\n{\"b\":1}\n{\"a\":1,\"b\":1}", "{\"a\":1}"},
    {"dependencies", R"({"properties": {"a": {}, "b": {}},
       "dependencies": {"a": {"properties": {"b": {"type": "null"}}}}})",
     "{\"b\":1}\n{\"a\":1,\"b\":null}\n{\"a\":1}", "{\"a\":1,\"b\":1}"},
    {"unevaluatedProperties", R"({"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}},
       "anyOf": [{"properties": {"c": {}}, "required": ["c"]}, true],
       "unevaluatedProperties": false})",
     "{\"a\":1,\"b\":1,\"c\":1}\n{}\n{\"a\":1}", "{\"d\":1}\n{\"b\":1,\"d\":1}"},
    {"unevaluatedItems", R"({"prefixItems": [true], "contains": {"type": "null"},
       "unevaluatedItems": {"type": "integer"}})",
     "[null]\n[1,null,2,null]", "[1,\"a\",null]\n[1]"},
    {"recursion", R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object",
       "properties": {"v": {"type": "integer"}, "n": {"$ref": "#/$defs/n"}}, "required": ["v"],
       "additionalProperties": false}}})",
     "{\"v\":1}\n{\"v\":1,\"n\":{\"v\":2,\"n\":{\"v\":3}}}", "{\"v\":1,\"n\":{}}\n{}"},
    {"names_once", R"({"type": "object", "patternProperties": {"^(k|l)$": {"type": "null"}}})",
     "{\"x\":1,\"y\":{\"x\":1},\"xy\":1}\n{\"k\":null,\"l\":null}",
     "{\"x\":1,\"x\":1}\n{\"k\":null,\"x\":2,\"\\u006b\":null}"},
    {"names_in_any_order", R"({"type": "object", "required": ["a", "b"]})",
     "{\"a\":1,\"b\":1}\n{\"b\":1,\"x\":0,\"a\":1}", "{\"a\":1}\n{\"a\":1,\"b\":1,\"a\":1}"},
};

constexpr Keyword kFormats[] = {
    {"date", "", "2024-02-29\n2000-02-29\n0001-12-31",
     "2023-02-29\n1900-02-29\n2024-04-31\n2024-1-01\n0000-01-01\n2024-00-10"},
    {"time", "", "23:59:59Z\n00:00:00.123+01:30\n23:59:60Z",
     "24:00:00Z\n12:00:60Z\n12:00:00\n1:00:00Z"},
    {"date-time", "", "2024-02-29T12:00:00Z\n2024-02-28t12:00:00.5-08:00",
     "2024-02-30T12:00:00Z\n2024-02-29 12:00:00Z\n2024-02-29"},
    {"duration", "", "P1Y2M3DT4H5M6S\nPT36H\nP4W\nP2Y", "P\nPT\nP1Y2W\nP1D2H\n4DT"},
    {"uuid", "", "2EB8AA08-aa98-11ea-b4aa-73b441d16380",
     "2eb8aa08-aa98-11ea-b4aa-73b441d1638\n2eb8"},
    {"ipv4", "", "127.0.0.1\n255.255.255.255", "256.0.0.1\n01.0.0.1\n1.2.3"},
    {"ipv6", "", "::1\n::\n12:34::5\n1::d6:192.168.0.1\n1:2:3:4:5:6:7:8",
     "12345::\n1:2:3\n::1::\n:::\n1::2::3"},
    {"email", "", "a.b@example.com\n~x@[127.0.0.1]", ".a@example.com\na@\na..b@x.org\n@x.org"},
    {"hostname", "", "a\nwww.example-1.com", "-a\na-\na..b\nxn--x\na_b"},
    {"uri", "", "http://u@h:80/p?q#f\nurn:a:b\nmailto:a@b.c\nhttp://[::1]/",
     "//h/p\nabc\nhttp://h/ x\nhttp://h/%2\n:a"},
    {"uri-reference", "", "../a?b\n#f\nhttp://h\n//h/p", "a b\n\\\\\n%x"},
    {"uri-template", "", "http://h/{a:1}/{+b,c*}", "{a\n{}\n{a,,b}\na}"},
    {"json-pointer", "", "/a~1b/~0\n/", "a\n/~2\n/~"},
};

template <typename Check>
void each_line(std::string_view lines, Check check) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    check(line);
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
}

class SchemaKeyword : public testing::TestWithParam<Keyword> {};

TEST_P(SchemaKeyword, TakesWhatItSaysAndNothingElse) {
  const Keyword& keyword = GetParam();
  const SaidBySchema says(keyword.schema);
  each_line(keyword.said, [&](std::string_view text) { EXPECT_TRUE(says(text)) << text; });
  each_line(keyword.unsaid, [&](std::string_view text) { EXPECT_FALSE(says(text)) << text; });
}

INSTANTIATE_TEST_SUITE_P(All, SchemaKeyword, testing::ValuesIn(kKeywords),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(Schema, HoldsFormats) {
  for (const Keyword& format : kFormats) {
    const SaidBySchema says(
        fmt::format("{{\"type\": \"string\", \"format\": \"{}\"}}", format.name));
    auto quoted = [](std::string_view text) { return fmt::format("\"{}\"", text); };
    each_line(format.said, [&](std::string_view text) { EXPECT_TRUE(says(quoted(text))) << text; });
    each_line(format.unsaid,
              [&](std::string_view text) { EXPECT_FALSE(says(quoted(text))) << text; });
  }
}

TEST(Schema, RefusesByPathAndKeyword) {
  EXPECT_PRED2(begins_with,
               refusal_of_schema(R"~({"properties": {"id": {"pattern": "(?<=x)y"}}})~"),
               "schema.properties.id: keyword \"pattern\" is not supported: ");
  EXPECT_PRED2(begins_with,
               refusal_of_schema(R"({"items": {"$ref": "http://x.org/s"}})", {.name = "tool"}),
               "tool.items: keyword \"$ref\" refers to \"http://x.org/s\"");
  EXPECT_PRED2(has_part, refusal_of_schema(R"({"$ref": "#"})"), "refers back");
  EXPECT_PRED2(has_part, refusal_of_schema(R"({"allOf": [{"$ref": "#/allOf/0"}]})"), "refers back");
  EXPECT_PRED2(has_part, refusal_of_schema(R"({"required": true})"), "\"required\"");
  EXPECT_PRED2(has_part, refusal_of_schema(R"({"type": "text"})"), "\"type\" must be");
  EXPECT_PRED2(has_part, refusal_of_schema(R"({"minItems": 3, "maxItems": 2, "type": "array"})"),
               "accepts no text");
  EXPECT_PRED2(has_part, refusal_of_schema("3"), "not a schema");
}

TEST(Schema, LeavesOutWhatCannotBeHeldWhereItIsRelaxed) {
  const SaidBySchema says(R"~({"type": "object", "properties": {"a": {"type": "string",
      "pattern": "^(?=x)", "maxLength": 2}}, "required": ["a"], "additionalProperties": false})~",
                          true);
  EXPECT_TRUE(says("{\"a\":\"yy\"}"));
  EXPECT_FALSE(says("{\"a\":\"yyy\"}"));
  EXPECT_FALSE(says("{}"));
  ASSERT_EQ(says.dropped().size(), 1);
  EXPECT_PRED2(begins_with, says.dropped()[0], "schema.properties.a: keyword \"pattern\"");
  // A schema with ignored keywords cannot be negated, so the negation is ignored as a whole.
  const SaidBySchema negated(R"~({"type": "string", "not": {"pattern": "^(?=x)"}})~", true);
  EXPECT_TRUE(negated("\"y\""));
  EXPECT_FALSE(negated("1"));
  EXPECT_EQ(negated.dropped().size(), 1);
}

TEST(Schema, EndsInTimeWhateverIsAsked) {
  std::string many = "{\"allOf\": [";
  for (int i = 0; i < 50; ++i) {
    many += fmt::format("{}{{\"pattern\": \"a{{{}}}b*c\"}}", i ? "," : "", i);
  }
  refusal_of_schema(many + "], \"type\": \"string\"}");  // may be refused or not
  std::string ones = "{\"type\": \"object\", \"oneOf\": [";
  for (int i = 0; i < 24; ++i) {
    ones += fmt::format(
        "{}{{\"properties\": {{\"a{}\": {{}}, \"b{}\": {{}}}}, \"required\": [\"a{}\"]}}",
        i ? "," : "", i, i, i);
  }
  refusal_of_schema(ones + "]}");
  const std::string circles = R"({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, true]}},
                                  "$ref": "#/$defs/a"})";
  EXPECT_PRED2(has_part, refusal_of_schema(circles), "refers back");
  std::string values = "{\"enum\": [0";
  for (int i = 1; i < 5000; ++i) values += fmt::format(", {{\"a\": {}}}", i);
  EXPECT_PRED2(has_part, refusal_of_schema(values + "]}", {.steps = 2000}), "takes too long");
  EXPECT_EQ(refusal_of_schema(R"({"maxLength": 100000, "minItems": 1000000, "type": "array"})"),
            "");
}

TEST(Schema, TakesLargeOnes) {
  std::string values = "{\"enum\": [";
  for (int i = 0; i < 2000; ++i) {
    values += fmt::format("{}\"{:050}\"", i ? "," : "", i * 7919);
  }
  EXPECT_TRUE(SaidBySchema(values + "]}")(fmt::format("\"{:050}\"", 7919)));
  std::string optional = "{\"type\": \"object\", \"properties\": {";
  for (int i = 0; i < 48; ++i) optional += fmt::format("{}\"p{:02}\": {{}}", i ? "," : "", i);
  const SaidBySchema says(optional + "}, \"additionalProperties\": false}");
  EXPECT_TRUE(says("{\"p00\":1,\"p20\":2,\"p47\":3}"));
  EXPECT_FALSE(says("{\"p20\":1,\"p00\":2}"));
}

}  // namespace
}  // namespace hearth
