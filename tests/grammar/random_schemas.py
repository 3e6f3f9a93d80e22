"""Random JSON Schemas, and documents that are valid by them or nearly so, from a seed."""

import itertools
import math

NAMES = ["a", "b", "c"]
OTHERS = ["x", "y"]
WORDS = ["", "a", "ab", "abc", "xyz", "b\nc", "\u00e9\U0001f600", '"q"', "\\"]
PATTERNS = ["^a", "b$", "^[a-c]{1,2}$", "^(ab|x)", "\u00e9", "^x", "[^a]"]


def numbers(random):
    return random.choice([random.randint(-4, 9), random.randint(-8, 18) / 2,
                          random.randint(0, 40) / 4])


def scalar(random):
    return random.choice([None, True, False, random.choice(WORDS), numbers(random)])


def value(random, depth):
    """Any value."""
    kind = random.random()
    if depth == 0 or kind < 0.6:
        return scalar(random)
    if kind < 0.8:
        return [value(random, depth - 1) for _ in range(random.randint(0, 3))]
    names = random.sample(NAMES + OTHERS, random.randint(0, 3))
    return {name: value(random, depth - 1) for name in names}


class SchemaMaker:
    """Makes a schema from keywords of all kinds; `depth` bounds how deep they lie."""

    def __init__(self, random):
        self.random = random

    def schema(self, depth):
        if depth == 0 or self.random.random() < 0.1:
            return self.random.choice([True, {}, {"type": self.type()}, self.numbers(),
                                       self.text()])
        return self.random.choice([self.numbers, self.text, self.object, self.object, self.object,
                                   self.array, self.chosen, self.joined, self.joined])(depth)

    def type(self):
        return self.random.choice(["null", "boolean", "integer", "number", "string", "array",
                                   "object", ["string", "null"], ["integer", "array"]])

    def some(self, **keywords):
        """A few of the keywords; each is made where it is taken."""
        names = self.random.sample(sorted(keywords), self.random.randint(1, min(3, len(keywords))))
        return {name: keywords[name]() for name in sorted(names)}

    def numbers(self, _depth=0):
        low = self.random.randint(-3, 4)
        made = self.some(minimum=lambda: low, exclusiveMinimum=lambda: low / 2,
                         maximum=lambda: low + self.random.randint(0, 9) / 2,
                         exclusiveMaximum=lambda: low + 7,
                         multipleOf=lambda: self.random.choice([1, 2, 3, 0.5, 0.25]))
        return made | {"type": self.random.choice(["integer", "number"])}

    def text(self, _depth=0):
        made = self.some(minLength=lambda: self.random.randint(0, 2),
                         maxLength=lambda: self.random.randint(1, 3),
                         pattern=lambda: self.random.choice(PATTERNS))
        return made | ({"type": "string"} if self.random.random() < 0.7 else {})

    def chosen(self, depth):
        kind = self.random.random()
        if kind < 0.4:
            return {"enum": [value(self.random, 1) for _ in range(self.random.randint(1, 4))]}
        if kind < 0.6:
            return {"const": value(self.random, 1)}
        if kind < 0.7:
            return {"$ref": "#/$defs/d"}
        return {"type": self.type(), "not": self.schema(depth - 1)}

    def array(self, depth):
        item = lambda: self.schema(depth - 1)  # noqa: E731
        made = self.some(items=item, prefixItems=lambda: [item() for _ in range(2)],
                         minItems=lambda: self.random.randint(0, 2),
                         maxItems=lambda: self.random.randint(1, 3), contains=item)
        if "contains" in made and self.random.random() < 0.5:
            made["maxContains"] = self.random.randint(1, 2)
        return made | {"type": "array"}

    def object(self, depth):
        item = lambda: self.schema(depth - 1)  # noqa: E731
        names = sorted(self.random.sample(NAMES, self.random.randint(1, 3)))
        made = {"type": "object", "properties": {name: item() for name in names}}
        if self.random.random() < 0.6:
            made |= self.some(
                additionalProperties=lambda: self.random.choice([False, item()]),
                patternProperties=lambda: {self.random.choice(["^x", "y|b", "c"]): item()},
                propertyNames=lambda: {"pattern": "^[abx]"},
                minProperties=lambda: self.random.randint(1, 2),
                maxProperties=lambda: self.random.randint(1, 3),
                dependentRequired=lambda: {names[0]: [self.random.choice(NAMES)]},
                dependentSchemas=lambda: {names[-1]: item()})
        if self.random.random() < 0.6:
            made["required"] = self.random.sample(names + ["x"], 1)
        return made

    def joined(self, depth):
        branch = lambda: self.schema(depth - 1)  # noqa: E731
        kind = self.random.random()
        if kind < 0.7:
            keyword = self.random.choice(["allOf", "anyOf", "oneOf"])
            made = {keyword: [branch() for _ in range(2)]}
        else:
            made = {"if": branch(), "then": branch(), "else": branch()}
        if self.random.random() < 0.3:
            made["unevaluatedProperties"] = False
        return made


def make_schema(random):
    maker = SchemaMaker(random)
    made = maker.schema(3)
    if not isinstance(made, dict):
        made = {"items": made}
    return made | {"$defs": {"d": maker.schema(1)}}


def guess(random, schema, depth=3):
    """A value that `schema` may take: what its first keywords ask for."""
    if not isinstance(schema, dict) or depth == 0 or random.random() < 0.1:
        return value(random, 1)
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    for keyword in ("allOf", "anyOf", "oneOf"):
        if keyword in schema:
            made = [guess(random, branch, depth) for branch in schema[keyword]]
            if all(isinstance(one, dict) for one in made) and random.random() < 0.7:
                return dict(itertools.chain.from_iterable(one.items() for one in made))
            return random.choice(made)
    if "if" in schema:
        return guess(random, schema[random.choice(["if", "then", "else"])], depth)
    kind = schema.get("type")
    kind = random.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {}).items()
        named = {name: guess(random, of, depth - 1) for name, of in properties
                 if random.random() < 0.7}
        for name in schema.get("required", []) + random.sample(OTHERS, random.randint(0, 1)):
            named.setdefault(name, value(random, 1))
        return named
    if kind == "array":
        items = schema.get("prefixItems", [])
        return [guess(random, of, depth - 1) for of in items] + [
            guess(random, schema.get("items", schema.get("contains", True)), depth - 1)
            for _ in range(random.randint(0, 2))]
    simple = {"null": None, "boolean": random.random() < 0.5, "integer": random.randint(-3, 9),
              "number": numbers(random)}
    return simple[kind] if kind in simple else random.choice(WORDS)


def count_orders(document):
    """How many orders() there are."""
    if isinstance(document, list):
        return math.prod(map(count_orders, document))
    if isinstance(document, dict):
        return math.factorial(len(document)) * math.prod(map(count_orders, document.values()))
    return 1


def orders(document):
    """The document with its properties in every order."""
    if isinstance(document, list):
        return [list(one) for one in itertools.product(*map(orders, document))]
    if not isinstance(document, dict):
        return [document]
    return [dict(zip(names, one))
            for names in itertools.permutations(document)
            for one in itertools.product(*(orders(document[name]) for name in names))]
