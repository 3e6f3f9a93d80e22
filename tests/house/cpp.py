"""The C++ that the house rules need: text without comments and literals, functions, variables.

This is not a parser. It relies on guarantees of clang-format and the compilers: balanced braces
outside the preprocessor, and one declaration a statement.
"""

import bisect
import collections
import re

# name: the text before the body on one line; first and last: line numbers from 1.
Function = collections.namedtuple("Function", "name first last")
Variable = collections.namedtuple("Variable", "text line")
# name: including its namespaces, "hearth::Graph".
Type = collections.namedtuple("Type", "name line")

TOKEN = re.compile(
    r"""(?P<raw>(?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\((?:.*?)\)(?P=tag)")
      | (?P<line>//(?:[^\n\\]|\\.|\\\n)*)
      | (?P<block>/\*.*?\*/)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<char>(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)*')
      | (?P<directive>^[ \t]*\#(?:[^\n\\/]|\\\n|\\.|/(?![/*]))*)
    """,
    re.X | re.S | re.M,
)


def blank(text, keep_directives=False):
    """The text with comments, literals and preprocessor lines replaced by spaces. Positions do not
    change."""

    def spaces(match):
        if keep_directives and match.lastgroup == "directive":
            return match.group()
        if match.lastgroup in ("string", "char", "raw", "tag"):
            inner = re.sub(r"[^\n]", " ", match.group()[1:-1])
            return '"' + inner + '"'
        return re.sub(r"[^\n]", " ", match.group())

    return TOKEN.sub(spaces, text)


def comments(text):
    """(line number, text after the slashes) of every line of every comment."""
    found = []
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        if kind not in ("line", "block"):
            continue
        first = text.count("\n", 0, match.start()) + 1
        body = match.group()[2:] if kind == "line" else match.group()[2:-2]
        for offset, line in enumerate(body.split("\n")):
            found.append((first + offset, re.sub(r"^\s*\*(?=\s)", "", line) if offset else line))
    return found


def without_template_prefix(head):
    """The head of a declaration without attributes and without its leading `template <...>`s."""
    head = re.sub(r"\[\[.*?\]\]", "", head).strip()
    while re.match(r"template\s*<", head):
        depth, parentheses = 0, 0
        for i, c in enumerate(head):
            parentheses += (c == "(") - (c == ")")
            if parentheses == 0:
                depth += (c == "<") - (c == ">" and head[i - 1] != "-")
                if c == ">" and depth == 0:
                    break
        head = head[i + 1 :].strip()
    return head


def outside_parentheses(head):
    """The head without the contents of (), [] and {}, so that only its own level remains."""
    kept, depth = [], 0
    for c in head:
        if c in "([{":
            if depth == 0:
                kept.append(c)
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                kept.append(c)
        elif depth == 0:
            kept.append(c)
    return "".join(kept)


def kind_of_brace(head):
    """The kind of the '{' after this head: 'namespace', 'type', 'function', 'member' or 'value'."""
    head = without_template_prefix(head)
    flat = re.sub(r"\boperator\s*(\(\)|\[\]|[^\s\w(]+)", "operator_", outside_parentheses(head))
    flat = re.sub(r"^([A-Z][A-Z0-9_]+(\(\))?\s+)+(?=[a-z])", "", flat)  # a macro without semicolon
    if re.match(r"(inline\s+)?namespace\b", flat) or re.match(r'extern\s*"\s*"\s*$', flat):
        return "namespace"
    typed = re.sub(r"\b(alignas|__attribute__)\s*\(\)", "", flat)
    typed = re.sub(r"<[^<>]*>", "", typed)
    if re.search(r"\b(class|struct|union|enum)\b", typed) and not re.search(r"[(=]", typed):
        return "type"
    if re.search(r"\[\]\s*(\(\))?\s*(mutable|noexcept|->\s*[\w:<>*& ]+|\s)*$", flat):
        if "=" in flat:
            return "function"  # a named lambda
    if re.search(r"(?<![=!<>])=(?!=)", flat) or "(" not in flat:
        return "value"
    after_parameters = flat[flat.index(")") :] if ")" in flat else ""
    if re.search(r"(?<!:):(?!:)", after_parameters) and not re.search(r"[)}]\s*$", flat):
        return "member"  # x{...} in a constructor's initialiser list
    return "function"


def name_of_scope(head):
    """The name of the namespace or type that this head opens; empty if it has no name."""
    head = re.sub(r"\balignas\s*\([^()]*\)", "", without_template_prefix(head))
    match = re.match(r"(?:inline\s+)?(?:namespace|(?:class|struct|union|enum)+(?:\s+class)?)"
                     r"\s+([\w:]+)", head)
    return match.group(1) if match else ""


class Scanner:
    """Walks blanked text once. Collects functions, the types in named namespaces, and the variables
    of namespaces and types."""

    def __init__(self, text):
        self.text = blank(text)
        self.line_starts = [0] + [m.end() for m in re.finditer("\n", self.text)]
        self.functions = []
        self.variables = []
        self.types = []
        self.balanced = True
        self.scan()

    def line_of(self, position):
        return bisect.bisect_right(self.line_starts, position)

    def closing_brace(self, opening):
        depth = 0
        for match in re.compile(r"[{}]").finditer(self.text, opening):
            depth += 1 if match.group() == "{" else -1
            if depth == 0:
                return match.start()
        self.balanced = False
        return len(self.text) - 1

    def scan(self):
        scopes, names, start, parentheses, i = [], [], 0, 0, 0
        while i < len(self.text):
            c = self.text[i]
            if c in "()":
                parentheses += 1 if c == "(" else -1
            elif c == "{" and parentheses > 0:
                i = self.closing_brace(i)
            elif c == "{":
                kind = kind_of_brace(self.text[start:i])
                if kind in ("namespace", "type"):
                    names.append(name_of_scope(self.text[start:i]))
                    if kind == "type" and "type" not in scopes and all(names):
                        self.types.append(Type("::".join(names), self.line_of(i)))
                    scopes.append(kind)
                    start = i + 1
                else:
                    closing = self.closing_brace(i)
                    if kind == "function":
                        self.add_function(start, i, closing)
                        start = closing + 1
                    i = closing
            elif c == "}":
                self.balanced = self.balanced and bool(scopes)
                scopes, names = scopes[:-1], names[:-1]
                start = i + 1
            elif c == ";" and parentheses == 0:
                self.add_variable(start, i, "type" in scopes)
                start = i + 1
            elif c == ":" and self.is_access_specifier(start, i):
                start = i + 1
            i += 1
        self.balanced = self.balanced and not scopes and parentheses == 0

    def is_access_specifier(self, start, colon):
        return self.text[start:colon].strip() in ("public", "private", "protected")

    def add_function(self, start, opening, closing):
        head = self.text[start:opening]
        first = self.line_of(start + len(head) - len(head.lstrip()))
        name = re.sub(r"\s+", " ", head).strip()
        self.functions.append(Function(name, first, self.line_of(closing)))
        body = self.text[opening:closing]
        for match in re.finditer(r"\b(static|thread_local)\b[^;]*;?", body):
            if is_mutable_variable(match.group(), in_function=True):
                at = opening + match.start()
                self.variables.append(Variable(first_words(match.group()), self.line_of(at)))

    def add_variable(self, start, end, in_type):
        statement = self.text[start:end]
        flat = without_template_prefix(statement)
        is_static = re.match(r"((inline|static|thread_local)\s+)*(static|thread_local)\b", flat)
        if (is_static or not in_type) and is_mutable_variable(flat):
            at = start + len(statement) - len(statement.lstrip())
            self.variables.append(Variable(first_words(flat), self.line_of(at)))


def first_words(statement):
    return re.sub(r"\s+", " ", statement).strip()[:60]


NOT_A_VARIABLE = re.compile(
    r"(using|typedef|friend|extern|template|class|struct|union|enum|namespace|static_assert|concept"
    r"|return|public|private|protected|requires|asm)\b"
)


def is_mutable_variable(statement, in_function=False):
    """Whether a declaration statement makes a variable that can change.

    Outside functions `T x(...)` counts as a function, inside them as a variable.
    """
    text = without_template_prefix(statement)
    if not text or NOT_A_VARIABLE.match(text):
        return False
    declared = re.split(r"(?<![=!<>])=(?!=)|\{", text, maxsplit=1)[0]
    declared = outside_parentheses(re.sub(r"\b(alignas|__attribute__)\s*\([^()]*\)", "", declared))
    declared = re.sub(r"\[\]", "", declared)
    if in_function:
        declared = declared.split("(")[0]
    if "(" in declared or "operator" in declared:
        return False  # a function's declaration, or a macro's call
    if re.search(r"\b(constexpr|sig_atomic_t)\b", declared):
        return False
    words = re.findall(r"[\w:]+", re.sub(r"<.*>", "", declared))
    if len(words) < 2:
        return False
    if "*" in declared:
        return "const" not in declared[declared.rindex("*") :]
    return "const" not in words
