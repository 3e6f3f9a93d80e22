"""Small random templates over all supported features, with edge cases as arguments."""

ATOMS = [
    "0", "1", "-1", "2", "7", "-7", "3.0", "2.5", "-0.5", "1e16", "1e-5", "1000", "true",
    "false", "none", "''", "'a'", "'Straße ǅ'", "'  pad\\t\\n'", "'a,b,,c'", "'ΑΣ Σ'", "'1_0'",
    "'0x1F'", "' 42 '", "'42.9'", "'nan'", "\"it's\"", "[]", "[1]", "[3,1,2]", "['b','A','a']",
    "(1,)", "(1,'x')", "{}", "{'a':1,'b':[2]}", "{'B':2,'a':3}", "nothing", "s", "u", "n", "items",
    "users", "deep", "range(4)", "range(5,0,-2)", "range(0)", "[1,[2,[3]]]", "[true,1,1.0]",
    "{1:'x',none:2}", "'a\\nb\\n\\nc'", "'<b>&'", "f", "[none, 1]", "['x', 'X', 'y']",
]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in",
          "not in", "and", "or"]
FILTERS = [
    "tojson", "tojson(indent=2)", "tojson(separators=(',',':'))", "tojson(sort_keys=true)",
    "tojson(ensure_ascii=true)", "trim", "trim('a ')", "length", "string", "items", "items|list",
    "join", "join(', ')", "join('-', attribute='name')", "default('d')", "default('d', true)",
    "list", "safe", "selectattr('name')|list", "selectattr('name','equalto','ann')|list",
    "rejectattr('age','gt',30)|list", "reject('none')|list", "reject('in',[1,'a'])|list",
    "map('upper')|list", "map(attribute='name')|list", "map(attribute='x',default=0)|list",
    "map(attribute='tags.0')|list", "map('default','z')|list", "dictsort", "dictsort(by='value')",
    "dictsort(true, reverse=true)", "sort", "sort(reverse=true)", "sort(attribute='age')",
    "sort(attribute='age,name')", "sort(case_sensitive=true)", "unique|list",
    "unique(attribute='name')|list", "first", "last", "int", "int(5)", "int(base=16)", "int(0,0)",
    "tojson|from_json", "from_json", "replace('a','bb')", "replace('','-')",
    "replace('b','',1)", "indent", "indent(2,true)",
    "indent('> ', blank=true)", "lower", "upper", "capitalize", "select|list", "map('length')|list",
    "select('string')|list", "map('int')|list", "map('tojson')|join(';')", "string|length",
    "tojson|safe", "sort|join", "d(1)", "count", "reject('equalto', 1)|list|length",
]
TESTS = [
    "defined", "undefined", "none", "string", "mapping", "iterable", "sequence", "boolean", "true",
    "false", "number", "integer", "float", "equalto(1)", "eq 1", "ne('a')", "in([1,'a'])", "gt 1",
    "lt('b')", "ge(2)", "not defined", "not none", "not string", "not in ['a']",
]
TAILS = [
    ".name", ".items()", ".get('a')", ".get('zz', 5)", "['a']", "[0]", "[-1]", "[1:]", "[:-1]",
    "[::-1]", "[::2]", "[-2:]", "[5:1:-2]", "[:100]", "[1:2:3]", ".strip()", ".lstrip()",
    ".rstrip()", ".strip('a')", ".split()", ".split(',')", ".split(',', 1)", ".split(None, 1)",
    ".startswith('a')", ".endswith(('c','z'))", ".replace('a','b')", ".replace('a','b',1)",
    ".upper()", ".lower()", ".keys()|list", ".values()|list", ".0", ".foo", ".pop()", ".pop(0)",
    ".count('a')", ".find('b')", ".join(['x','y'])", ".split('a')[-1]", ".capitalize()",
    ".splitlines()", ".removeprefix('a')", ".removesuffix('c')", "[none]", "['x'~1]", "[1.0]",
    "[true]", ".get(1)", ".get([])", ".update", ".__class__", ".items", ".index",
]
STATEMENTS = [
    "{%% for x in %s %%}{{ loop.index }}{{ x }}{{ loop.last }}{%% else %%}none{%% endfor %%}",
    "{%% for x in %s %%}{{ loop.previtem }}|{{ x }}|{{ loop.nextitem }}|{{ loop.length }}"
    "{{ loop.revindex0 }}{{ loop.cycle('a','b') }}{{ loop.changed(x) }}\n{%% endfor %%}",
    "{%% for k, v in %s %%}{{ k }}={{ v }}{%% if not loop.last %%}, {%% endif %%}{%% endfor %%}",
    "{%% for x in %s if x %%}{%% if loop.first %%}{%% continue %%}{%% endif %%}{{ x }}"
    "{%% if loop.index0 > 1 %%}{%% break %%}{%% endif %%}{%% endfor %%}",
    "{%% set y = %s %%}{{ y }}{%% for i in [1,2] %%}{%% set y = i %%}{{ y }}{%% endfor %%}{{ y }}",
    "{%% set y %%}<{{ %s }}>{%% endset %%}{{ y }}{{ y|length }}",
    "{%% set y | upper | trim %%} {{ %s }} {%% endset %%}[{{ y }}]",
    "{%% set ns = namespace(a=%s) %%}{%% for i in [1,2] %%}{%% set ns.a = [ns.a, i] %%}"
    "{%% endfor %%}{{ ns.a }}{{ ns.b }}",
    "{%% macro m(a, b=a, c='d') %%}{{ a }}/{{ b }}/{{ c }}{%% endmacro %%}{{ m(%s) }}"
    "{{ m(c=1) }}{{ m(1, c=2, b=3)|upper }}",
    "{%% filter upper | replace('A', 'z') %%}{{ %s }}{%% endfilter %%}",
    "{%% if %s %%}yes{%% elif nothing %%}?{%% else %%}no{%% endif %%}\n",
    "{%% set a, b = %s %%}{{ b }}{{ a }}",
    "  {%%- generation %%} {{ %s }} {%% endgeneration -%%}  \n",
    "{{ '%%s' %% (%s) }}", "{{ '%%d|%%5.1f' %% (%s, 2) }}", "{{ '%%-5s|%%r' %% ('a', %s) }}",
    "a {#- c -#} {{- %s -}} \n b\n  {%%+ if true %%}\n x{%% endif +%%}\n  {# d #}\n{{ 1 }}\n",
]
CONTEXT = {
    "s": "Hello wörld", "u": "日本語 ΣΑΣ", "n": -12, "items": [1, "two", None, [3.5]], "f": 0.1,
    "users": [{"name": "ann", "age": 31, "tags": ["x"]}, {"name": "Bob", "age": 25, "tags": []},
              {"name": "ann", "age": 25}],
    "deep": {"a": {"b": [1, {"c": "d"}]}, "items": "key", "name": "n", "é": "ü"},
}


def expression(rng, depth=0):
    kind = rng.random()
    if depth > 2 or kind < 0.25:
        return rng.choice(ATOMS)
    inner = expression(rng, depth + 1)
    if kind < 0.45:
        return f"({inner}){rng.choice(TAILS)}"
    if kind < 0.65:
        return f"({inner})|{rng.choice(FILTERS)}"
    if kind < 0.72:
        return f"({inner}) is {rng.choice(TESTS)}"
    if kind < 0.77:
        return rng.choice(["not {}", "-{}", "+{}", "[{0}, {0}]", "({},)", "{{'k': {}}}"]).format(
            f"({inner})")
    other = expression(rng, depth + 1)
    if kind < 0.83:
        return f"({inner}) if ({other}) else ({rng.choice(ATOMS)})"
    if kind < 0.86:
        return f"({inner}) < ({other}) <= ({rng.choice(ATOMS)})"
    return f"({inner}) {rng.choice(BINARY)} ({other})"


def snippet(rng):
    made = expression(rng)
    return rng.choice(STATEMENTS) % made if rng.random() < 0.35 else "{{ " + made + " }}"
