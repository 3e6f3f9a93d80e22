"""Jinja with the setup of the library transformers for chat templates: the reference of the tests.
"""

import copy
import datetime
import json

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2024, 7, 5, 14, 3, 9)


class Generation(jinja2.ext.Extension):
    """The tag `generation`, which marks an assistant's text."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_support")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _support(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.filters["from_json"] = json.loads
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


class Reference:
    def __init__(self):
        self.env = environment()
        self.compiled = {}

    def render(self, case):
        """("text", the output) or ("error", the reason)."""
        source = case["source"]
        try:
            if source not in self.compiled:
                self.compiled[source] = self.env.from_string(source)
            return "text", self.compiled[source].render(
                **copy.deepcopy({**case["request"], **case["own"]}))
        except Exception as error:  # any error that Python raises
            return "error", f"{type(error).__name__}: {error}"
