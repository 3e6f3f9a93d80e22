"""Tests docs/structured-output.md, which says of each keyword whether it is enforced."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "structured-output.md"
ROW = re.compile(r"^\| `([$\w]+)` \| (held|in part) \|", re.M)

# Accepted schemas and schemas that are refused by the keyword's name, for each keyword.
LOOKAHEAD = {"pattern": "^(?=a)b"}
UNIQUE = {"type": "array", "uniqueItems": True}
TRACKED = {"unevaluatedProperties": False, "anyOf": [{"required": [str(i)]} for i in range(11)]}
SAMPLES = {
    "type": ([{"type": "string"}, {"type": ["null", "integer"]}], []),
    "enum": ([{"enum": [1, "a", None, {"a": [1]}]}], []),
    "const": ([{"const": {"a": "b"}}], []),
    "properties": ([{"properties": {"a": {"type": "null"}}}], []),
    "required": ([{"required": ["a", "b"]}], []),
    "additionalProperties": ([{"additionalProperties": {"type": "null"}}], []),
    "patternProperties": ([{"patternProperties": {"^a": {}, "b$": {"type": "null"}}}], []),
    "propertyNames": ([{"propertyNames": {"maxLength": 3}}], []),
    "minProperties": ([{"minProperties": 2}], []),
    "maxProperties": ([{"maxProperties": 3}], []),
    "dependentRequired": ([{"dependentRequired": {"a": ["b"]}}], []),
    "dependentSchemas": ([{"dependentSchemas": {"a": {"required": ["b"]}}}], []),
    "dependencies": ([{"dependencies": {"a": ["b"], "c": {"minProperties": 2}}}], []),
    "items": ([{"items": {"type": "null"}}, {"items": [{"type": "null"}]}], []),
    "prefixItems": ([{"prefixItems": [{"type": "null"}]}], []),
    "additionalItems": ([{"items": [True], "additionalItems": False}], []),
    "minItems": ([{"minItems": 3}], []),
    "maxItems": ([{"maxItems": 100000}], []),
    "contains": ([{"contains": {"type": "null"}}],
                 [{"allOf": [{"type": "array", "contains": {"const": i}} for i in range(5)]}]),
    "minContains": ([{"contains": {"type": "null"}, "minContains": 2}], []),
    "maxContains": ([{"contains": {"type": "null"}, "maxContains": 2}], []),
    "uniqueItems": ([{"items": {"enum": ["a", 1, None]}, "uniqueItems": True}], [UNIQUE]),
    "minLength": ([{"minLength": 3}], []),
    "maxLength": ([{"maxLength": 100000}], []),
    "pattern": ([{"pattern": "^[a-z]+$"}], [LOOKAHEAD]),
    "format": ([{"format": "date-time"}, {"format": "color"}], []),
    "minimum": ([{"minimum": -1.5}], []),
    "maximum": ([{"maximum": 1e300}], []),
    "exclusiveMinimum": ([{"exclusiveMinimum": 2}, {"minimum": 2, "exclusiveMinimum": True}], []),
    "exclusiveMaximum": ([{"exclusiveMaximum": 2}, {"maximum": 2, "exclusiveMaximum": True}], []),
    "multipleOf": ([{"multipleOf": 7}, {"multipleOf": 0.01}], [{"multipleOf": 1234567891}]),
    "allOf": ([{"allOf": [{"minimum": 2}, {"maximum": 3}]}], []),
    "anyOf": ([{"anyOf": [{"type": "null"}, {"required": ["a"]}]}], []),
    "oneOf": ([{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}],
              [{"oneOf": [UNIQUE, {"type": "array", "maxItems": 3}]}]),
    "not": ([{"not": {"properties": {"a": {"type": "null"}}}}], [{"not": UNIQUE}]),
    "if": ([{"if": {"required": ["a"]}, "then": {"required": ["b"]}}],
           [{"if": UNIQUE, "then": {"maxItems": 2}}]),
    "unevaluatedProperties": ([{"allOf": [{"properties": {"a": {}}}],
                                "unevaluatedProperties": False}], [TRACKED]),
    "unevaluatedItems": ([{"prefixItems": [True], "unevaluatedItems": False}],
                         [{**TRACKED, "unevaluatedItems": False}]),
    "$ref": ([{"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}],
             [{"$ref": "http://example.org/a"}]),
    "$defs": ([{"$ref": "#/$defs/a", "$defs": {"a": {}}},
               {"$ref": "#/definitions/a", "definitions": {"a": {}}}], []),
    "$id": ([{"$id": "http://x.org/a", "$ref": "b", "$defs": {"b": {"$id": "b"}}}], []),
    "$anchor": ([{"$ref": "#b", "$defs": {"b": {"$anchor": "b"}}}], []),
    "$dynamicRef": ([{"items": {"$dynamicRef": "#a"}, "$defs": {"a": {"$dynamicAnchor": "a"}}}],
                    [{"items": {"$dynamicRef": "#a"}, "$dynamicAnchor": "a",
                      "$defs": {"a": {"$id": "b", "$dynamicAnchor": "a"}}}]),
}


class KeywordsTest:
    """Tests that run with those of grammar_test.py, whose bench() they call."""

    def test_the_page_tells_which_keywords_are_held(self):
        rows = dict(ROW.findall(PAGE.read_text()))
        self.assertEqual(set(rows), set(SAMPLES))
        wanted = [(keyword, schema, taken) for keyword, both in SAMPLES.items()
                  for schemas, taken in zip(both, (True, False)) for schema in schemas]
        found = self.bench([{"schema": schema} for _, schema, _ in wanted])["cases"]
        for (keyword, schema, taken), one in zip(wanted, found):
            with self.subTest(keyword=keyword, schema=schema):
                self.assertEqual("refused" not in one, taken, one.get("refused"))
                if not taken:
                    self.assertRegex(one["refused"], r': keyword "\S+" ')
        for keyword, (_, refused) in SAMPLES.items():
            self.assertEqual(rows[keyword] == "in part", bool(refused), keyword)
