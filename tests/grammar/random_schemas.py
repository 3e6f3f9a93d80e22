"""Random JSON Schemas, and documents that they accept or nearly accept, from a seed."""

import itertools
import math

NAMES = ["a", "b", "c"]
OTHERS = ["x", "y"]
WORDS = ["", "a", "ab", "abc", "xyz", "b\nc", "\u00e9\U0001f600", '"q"', "\\"]
PATTERNS = ["^a", "b$", "^[a-c]{1,2}$", "^(ab|x)", "\u00e9", "^x", "[^a]"]
# Values for forms: names, and patterns whose texts end.
FIELDS = ["name", "kind", "size", "place", "note", "tags", "owner", "id", "day", "\u00e9tat", "a b"]
CODES = [r"^[A-Z]{2}-[0-9]{3,5}$", r"^(north|south)( (east|west))?$", "^#[0-9a-f]{6}$",
         r"^\d{1,3}(\.\d{1,2})?$", "^[a-z]{1,9}(_[a-z]{1,9}){0,2}$", r"^(\+|00)[1-9]\d{5,9}$",
         "^.{2,12}$", "^[^a-m]{3}$", r"^\u00e9?[\w.]{1,8}!$"]
LEAVES = {"date": 10, "uuid": 36, "email": 24, "ipv4": 15, "ipv6": 39}


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
    """Makes a schema from keywords of all kinds. `depth` bounds their nesting."""

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
        """A few of the keywords. Only the functions of these are called, to make their values."""
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


class FormMaker:
    """Makes a schema like those of programs that ask for answers: every value has an end."""

    def __init__(self, random):
        self.random = random

    def leaf(self, _depth=0):
        return self.random.choice([self.text, self.code, self.format, self.whole, self.number,
                                   self.choice, self.plain])()

    def plain(self):
        return {"type": self.random.choice(["boolean", "null", ["boolean", "null"]])}

    def text(self):
        low = self.random.randint(0, 4)
        return {"type": "string", "minLength": low, "maxLength": low + self.random.randint(0, 20)}

    def code(self):
        return {"type": "string", "pattern": self.random.choice(CODES)}

    def format(self):
        name = self.random.choice(sorted(LEAVES))
        return {"type": "string", "format": name, "maxLength": LEAVES[name]}

    def whole(self):
        low = self.random.randint(-1200, 1200)
        made = {"type": "integer", "minimum": low}
        made[self.random.choice(["maximum", "exclusiveMaximum"])] = low + self.random.choice(
            [1, 7, 90, 1500])
        if self.random.random() < 0.3:
            made["multipleOf"] = 1
        return made

    def number(self):
        low = self.random.randint(-40, 40) / 4
        made = {"type": "number", "maximum": low + self.random.choice([0.5, 3, 200])}
        made[self.random.choice(["minimum", "exclusiveMinimum"])] = low
        if self.random.random() < 0.5:
            made["multipleOf"] = self.random.choice([0.5, 0.25, 0.01])
        return made

    def choice(self):
        if self.random.random() < 0.3:
            return {"const": value(self.random, 2)}
        return {"enum": [value(self.random, 1) for _ in range(self.random.randint(1, 5))]}

    def any(self, depth):
        if depth == 0:
            return self.leaf()
        return self.random.choice([self.leaf, self.leaf, self.object, self.array, self.either,
                                   self.all, self.tree])(depth)

    def object(self, depth):
        names = self.random.sample(FIELDS, self.random.randint(1, 4))
        made = {"type": "object", "properties": {name: self.any(depth - 1) for name in names}}
        made["required"] = self.random.sample(names, self.random.randint(0, len(names)))
        if self.random.random() < 0.6:
            return made | {"additionalProperties": False}
        return made | {"additionalProperties": self.leaf(), "maxProperties": len(names) + 1,
                       "propertyNames": {"maxLength": self.random.randint(5, 12)}}

    def array(self, depth):
        low = self.random.randint(0, 2)
        made = {"type": "array", "minItems": low, "maxItems": low + self.random.randint(0, 2)}
        if self.random.random() < 0.2:
            return made | {"items": {"enum": ["red", "blue", 3, None]}, "uniqueItems": True}
        if self.random.random() < 0.3:
            made["prefixItems"] = [self.any(depth - 1)]
        return made | {"items": self.any(depth - 1)}

    def either(self, depth):
        if self.random.random() < 0.7:
            return {"anyOf": [self.any(depth - 1) for _ in range(2)]}
        return {"oneOf": [
            {"type": "object", "required": ["kind"], "additionalProperties": False,
             "properties": {"kind": {"const": kind}, "of": self.leaf()}} for kind in ("a", "b")]}

    def all(self, depth):
        one = self.object(depth)
        del one["additionalProperties"]
        count = {"type": "object", "properties": {"count": self.whole()}, "required": ["count"]}
        return {"allOf": [one, count], "unevaluatedProperties": False}

    def tree(self, _depth):
        return {"$ref": "#/$defs/" + self.random.choice(["tree", "list"])}

    def definitions(self):
        children = {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2}
        following = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/list"}]}
        return {
            "tree": {"type": "object", "properties": {"of": self.leaf(), "children": children},
                     "required": ["of"], "additionalProperties": False},
            "list": {"type": "object", "properties": {"first": self.leaf(), "next": following},
                     "required": ["first", "next"], "additionalProperties": False},
        }


def make_form(random, kind="any"):
    """A schema by FormMaker, for any value or for an "object"."""
    maker = FormMaker(random)
    return getattr(maker, kind)(2) | {"$defs": maker.definitions()}


def guess(random, schema, depth=3):
    """A value that `schema` may accept, made from its first keywords."""
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
    """The number of orders() of the document."""
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
