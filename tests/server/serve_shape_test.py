"""Tests of texts with a requested shape: JSON of a schema, a pattern, choices, a grammar."""

import json
import re

from serve_case import DEMO, SharedCase

TEXT = "/v1/completions"
CHAT = "/v1/chat/completions"

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}


def is_person(text):
    value = json.loads(text)
    return (
        list(value) == ["name", "age", "tags"]
        and 1 <= len(value["name"]) <= 8
        and 0 <= value["age"] <= 120
        and len(value["tags"]) <= 3
        and set(value["tags"]) <= {"a", "b"}
    )


# Requests for a shape, and checks whether a text has it.
SHAPES = [
    ({"response_format": {"type": "json_schema",
                          "json_schema": {"name": "person", "strict": True, "schema": PERSON}}},
     is_person),
    ({"guided_json": json.dumps(PERSON)}, is_person),
    ({"guided_regex": r"(\d{3}-){2}[a-f]"}, re.compile(r"(\d{3}-){2}[a-f]").fullmatch),
    ({"structured_outputs": {"choice": ["yes", "no", "never"]}},
     ["yes", "no", "never"].__contains__),
    ({"grammar": 'root ::= item{2,4} "."\nitem ::= [xyz] "!"?'},
     re.compile(r"([xyz]!?){2,4}\.").fullmatch),
]  # fmt: skip


class ShapeTest(SharedCase):
    @classmethod
    def words(cls):
        return ("serve", DEMO)

    def test_every_text_that_stops_has_the_shape(self):
        for shape, is_one in SHAPES:
            for sampling in ({"temperature": 0}, {"temperature": 1, "n": 3},
                             {"temperature": 1.5, "top_k": 5, "top_p": 0.9}):
                body = {"prompt": "Once", "max_tokens": 300, "seed": 7, **shape, **sampling}
                with self.subTest(shape=shape, sampling=sampling):
                    for choice in self.server.good(TEXT, body)["choices"]:
                        self.assertEqual(choice["finish_reason"], "stop", choice["text"])
                        self.assertTrue(is_one(choice["text"]), choice["text"])

    def test_a_text_that_was_cut_says_so(self):
        body = {"prompt": "Once", "max_tokens": 3, "guided_json": PERSON}
        choice = self.server.good(TEXT, body)["choices"][0]
        self.assertEqual(choice["finish_reason"], "length")

    def test_stop_strings_end_free_text_alone(self):
        body = {"prompt": "Once", "max_tokens": 50, "stop": ["e"],
                "stop_token_ids": [5]}  # fmt: skip
        choice = self.server.good(TEXT, {**body, "guided_choice": ["never"]})["choices"][0]
        self.assertEqual((choice["text"], choice["finish_reason"]), ("never", "stop"))
        self.assertNotIn("e", self.server.good(TEXT, body)["choices"][0]["text"])

    def test_a_chat_gives_a_json_object(self):
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 400, "seed": 1,
                "temperature": 0, "response_format": {"type": "json_object"}}  # fmt: skip
        choice = self.server.good(CHAT, body)["choices"][0]
        if choice["finish_reason"] == "stop":
            self.assertIsInstance(json.loads(choice["message"]["content"]), dict)
        self.assertTrue(choice["message"]["content"].lstrip().startswith("{"))

    def test_refuses_unsupported_schemas_by_path(self):
        remote = {"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}
        for fields, code, param, says in (
            ({"guided_json": remote}, "invalid_schema", "guided_json",
             "guided_json.properties.a"),
            ({"guided_regex": "(?=a)b"}, "invalid_value", "guided_regex", "look"),
            ({"grammar": "root ::= ("}, "invalid_value", "grammar", "grammar"),
            ({"guided_json": {"not": {}}}, "invalid_schema", "guided_json", "guided_json"),
            ({"guided_choice": ["a"], "guided_regex": "a"}, "invalid_value", "guided_choice",
             "cannot be combined with"),
        ):  # fmt: skip
            status, reply = self.server.ask("POST", TEXT, {"prompt": "a", **fields})[:2]
            error = reply["error"]
            self.assertEqual((status, error["code"], error["param"]), (400, code, param), error)
            self.assertIn(says, error["message"])
