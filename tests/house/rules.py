"""The house rules: each takes a path and its text and returns [(line, what is wrong)].

A rule looks at one file only, so that self_test.py can show with a made-up bad file that it fails.
Rules about the tree as a whole are in tree_rules.py.
"""

import ast
import re

import cpp
import tree

# The modules in the order of dependency: a module sees itself and the modules before it.
MODULES = (
    "base setup http topology memory threads tensor kernels accelerator formats tokenizer"
    " grammar template chat plan graph models store cost hybrid engine embed bench report tune"
    " server talk cli"
).split()

FILE_LINES = 500
ISA_FILE_LINES = 800
FUNCTION_LINES = 70
COLUMNS = 100

# An ISA fragment (*_avx512-inl.h) is part of the ISA files that include it, not an interface.
ISA_FILE = re.compile(r"_(avx2|avxvnni|avx512|amx|neon|i8mm)\w*(\.cc|-inl\.h)$")
# The fragments that a level may use besides its own.
MAY_INCLUDE = {
    "avxvnni": ["avxvnni", "avx2"],
    "amx": ["amx", "avx512"],
    "i8mm": ["i8mm", "neon"],
}
INTRINSICS = re.compile(
    r"#\s*include\s*<(\w*mmintrin|immintrin|\w*intrin|arm_neon|arm_sve|arm_acle|arm_bf16)\.h>"
)
SIMD_TYPE = re.compile(
    r"\b(__m(64|128|256|512)[a-z]*|__mmask\d+|__tile\w+"
    r"|(u?int|float|bfloat|poly)(8|16|32|64)x\d+(x\d)?_t|sv(u?int|float|bool)\w*_t)\b"
)
ISA_FLAG = re.compile(r"-m(arch=|tune=|cpu=|avx|sse|fma|f16c|amx|bmi)[\w.+-]*")

# The words are joined here, so that this file does not contain what it bans.
BANNED = ["/wo" + "rk/", "../sha" + "red", "pe" + "er.py"]
BANNED += ["npm" + "js", "pypi" + ".org", "deb.deb" + "ian.org", "crates" + ".io"]
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


def includes(text):
    """(line number, path) of every quoted include."""
    return [
        (number, match.group(1))
        for number, line in enumerate(text.split("\n"), 1)
        if (match := re.match(r'\s*#\s*include\s*"([^"]+)"', line))
    ]


def module_of(path):
    """'kernels' for src/kernels/gemm/gemm.cc, None outside src/."""
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def layering(path, text):
    own = module_of(path)
    if own is None or not tree.is_cpp(path):
        return []
    if own not in MODULES:
        return [(1, f"src/{own} is in no layer; add it to MODULES in its place")]
    found = []
    for line, included in includes(text):
        other = included.split("/")[0]
        if other not in MODULES or "/" not in included:
            found.append((line, f'"{included}" is not a path from src/'))
        elif MODULES.index(other) > MODULES.index(own):
            found.append((line, f'{own} includes "{included}", which is a layer above it'))
    return found


def told_by_tuning(path, text):
    """The command line asks tuning for results and does not depend on its parts."""
    if module_of(path) != "cli" or not tree.is_cpp(path):
        return []
    return [
        (line, f'cli includes "{included}": only tune/tuning.h is for it')
        for line, included in includes(text)
        if included.startswith("tune/") and included != "tune/tuning.h"
    ]


def link_order(path, text):
    """A module's CMakeLists.txt links only what its files may include."""
    own = module_of(path)
    if own not in MODULES or not tree.is_cmake(path):
        return []
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        for other in re.findall(r"\bhearth_([a-z]+)\b(?!\s*\()", line.split("#")[0]):
            if other in MODULES and MODULES.index(other) > MODULES.index(own):
                found.append((number, f"{own} links hearth_{other}, which is a layer above it"))
    return found


def file_budget(path, text):
    limit = ISA_FILE_LINES if ISA_FILE.search(path) else FILE_LINES
    lines = text.count("\n")
    if not tree.is_code(path) or lines <= limit:
        return []
    return [(lines, f"{lines} lines, the budget is {limit}: it holds two ideas, part them")]


def function_budget(path, text):
    if path.endswith(".py"):
        return python_function_budget(text)
    if not tree.is_cpp(path):
        return []
    scanner = cpp.Scanner(text)
    found = [
        (f.first, f"'{f.name[-60:]}' has {length} lines, the budget is {FUNCTION_LINES}")
        for f in scanner.functions
        if (length := f.last - f.first + 1) > FUNCTION_LINES
    ]
    if not scanner.balanced:
        found.append((1, "unbalanced braces outside the preprocessor: functions can't be measured"))
    return found


def python_function_budget(text):
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        return [(error.lineno or 1, f"not Python: {error.msg}")]
    return [
        (node.lineno, f"'{node.name}' has {length} lines, the budget is {FUNCTION_LINES}")
        for node in ast.walk(module)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (length := node.end_lineno - node.lineno + 1) > FUNCTION_LINES
    ]


def header_contract(path, text):
    if not path.endswith(".h"):
        return []
    found = []
    before, pragma, _ = text.partition("#pragma once")
    if not pragma:
        found.append((1, "no #pragma once"))
    lines = before.strip().split("\n")
    words = " ".join(line.lstrip("/* ") for line in lines if line.lstrip().startswith(("/", "*")))
    if not text.startswith(("//", "/*")) or len(words.split()) < 5:
        found.append((1, "a header opens with its contract, a comment before #pragma once"))
    return found


def isa_isolation(path, text):
    if tree.is_cmake(path) or path.endswith("CMakePresets.json"):
        return isa_flags(path, text)
    if not tree.is_cpp(path):
        return []
    own = ISA_FILE.search(path)
    found = [
        (line, f'"{included}" belongs to another instruction set than this file')
        for line, included in includes(text)
        if (fragment := ISA_FILE.search(included))
        and (not own or fragment[1] not in MAY_INCLUDE.get(own[1], [own[1]]))
    ]
    if own and own[2] == "-inl.h" and "namespace {" not in cpp.blank(text):
        found.append((1, "an ISA fragment belongs in an unnamed namespace: no ODR clashes"))
    if own:
        return found
    found += [
        (number, "an intrinsics header outside an ISA file (*_avx2.cc, *_amx*.cc and the like)")
        for number, line in enumerate(text.split("\n"), 1)
        if INTRINSICS.search(line)
    ]
    for number, line in enumerate(cpp.blank(text).split("\n"), 1):
        if match := SIMD_TYPE.search(line):
            found.append((number, f"the SIMD type {match.group()} crosses a file"))
    return found


def isa_flags(path, text):
    """Only per-source properties may name an instruction set; a whole target may not."""
    if path.endswith(".json"):
        return [(text.count("\n", 0, m.start()) + 1, f"{m.group()} for every file of a build")
                for m in ISA_FLAG.finditer(text)]
    code = re.sub(r"#[^\n]*", lambda m: " " * len(m.group()), text)
    found = []
    for command in re.finditer(r"^[ \t]*(\w+)\s*\(([^()]*)\)", code, re.M):
        flag = ISA_FLAG.search(command.group(2))
        wide = re.search(r"compile_options|add_definitions|compile_features", command.group(1))
        if flag and (wide or re.match(r"\s*CMAKE_CXX_FLAGS", command.group(2))):
            line = code.count("\n", 0, command.start(1)) + 1
            found.append((line, f"{flag.group()} for more than the ISA files: set it per source"))
    return found


def mutable_globals(path, text):
    if not tree.is_cpp(path):
        return []
    return [
        (v.line, f"'{v.text}' is mutable and static: pass a context, or make it constexpr")
        for v in cpp.Scanner(text).variables
    ]


def long_lines(path, text):
    if not tree.is_code(path):
        return []
    return [
        (number, f"{len(line)} columns, the limit is {COLUMNS}")
        for number, line in enumerate(text.split("\n"), 1)
        if len(line) > COLUMNS and not re.search(r"https?://\S{40}", line)
    ]


def unfinished(path, text):
    if not tree.is_code(path) and not path.endswith(".md"):
        return []
    return [
        (number, f"'{match.group()}': do it now, or leave it out")
        for number, line in enumerate(text.split("\n"), 1)
        if (match := UNFINISHED.search(line))
    ]


CODE_LINE = re.compile(
    r"""(return\b[^.]*|break|continue)?;$                                  # return x;
      | [\w:.\->\[\]*&<>, ]{1,40}\s[-+*/|&^%]?=\s[^=].*;$                   # x = y;
      | (?:[A-Za-z_][\w:]*(?:\.|->))*[A-Za-z_][\w:]*\(.*\);$                # f(x);
      | (?:[\w:<>]+[*&]?\s){1,3}\w+;$                                       # int x;
      | (if|for|while|switch)\s*\(.*\{$
      | (\}\s*)?(else|do|try)\s*\{$
      | (struct|class|namespace|enum)\s+\w+.*\{$
      | .*\)\s*(const|noexcept|override|\s)*\{$
      | \}\s*;?$
      | \#\s*(include|if|ifdef|ifndef|define|endif|pragma)\b
    """,
    re.X,
)
DECLARED_TYPE = re.compile(
    r"(const|static|auto|int|float|double|bool|char|size_t|u?int\d+_t|std::)"
)


def looks_like_code(comment):
    """Whether the text of a comment line is a statement. An example, indented by three, is not."""
    if comment.startswith("   "):
        return False
    line = comment.strip()
    match = CODE_LINE.match(line)
    if not match:
        return False
    if re.match(r"(?:[\w:<>]+[*&]?\s){1,3}\w+;$", line):
        return bool(DECLARED_TYPE.match(line) or line.startswith(("return ", "break", "continue")))
    return True


def commented_out_code(path, text):
    if path.endswith(".py"):
        return commented_out_python(text)
    if not tree.is_cpp(path):
        return []
    return [
        (number, f"commented-out code '{comment.strip()[:50]}': delete it")
        for number, comment in cpp.comments(text)
        if looks_like_code(comment)
    ]


def commented_out_python(text):
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"\s*#(?!!)\s?(\S.*)$", line)
        if comment and is_python_statement(comment.group(1)):
            found.append((number, f"commented-out code '{comment.group(1)[:50]}': delete it"))
    return found


def is_python_statement(comment):
    if re.match(r"(if|for|while|def|class|with|elif|else|try)\b.*:$", comment):
        comment += " pass" if not comment.startswith(("elif", "else", "try")) else ""
    try:
        body = ast.parse(comment).body
    except (SyntaxError, ValueError):
        return False
    kinds = (ast.Assign, ast.AugAssign, ast.Return, ast.Import, ast.ImportFrom, ast.If, ast.For,
             ast.While, ast.FunctionDef, ast.ClassDef, ast.With)
    return any(
        isinstance(node, kinds) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
        for node in body
    )


def banned_words(path, text):
    return [
        (number, f"'{word}' has no place in the project")
        for number, line in enumerate(text.split("\n"), 1)
        for word in BANNED
        if word in line
    ]


# Only base/tell.h writes to standard error, and write_stdout() to standard output.
PRINTING = re.compile(
    r"\bstd::(cerr|clog|cout)\b|\bstd(err|out)\b|\bfmt::v?print\("
    r"|\b(perror|v?printf|puts|putchar)\(|\bstd(err|out)_(color_)?sink"
    r"|\b(write|write_all|write_now|dprintf)\(\s*STD(ERR|OUT)_FILENO"
)
MAY_PRINT = {"src/base/tell.cc": "STDERR", "src/cli/text_io.cc": "STDOUT"}


def printing(path, text):
    """Each standard stream has one place that prints to it. If a stream is closed, full or broken,
    fmt and std streams may throw, block or be silent."""
    if not path.startswith("src/") or not tree.is_cpp(path):
        return []
    if path.endswith(("_test.cc", "_bench.cc")):
        return []
    return [
        (number, f"'{match.group()}': call print_stderr() of base/tell.h, or write_stdout()")
        for number, line in enumerate(cpp.blank(text).split("\n"), 1)
        if (match := PRINTING.search(line))
        and MAY_PRINT.get(path, "nothing") not in match.group()
    ]


MAPS_FILES = {"src/formats/mapped_file.cc"}


def file_maps(path, text):
    """Only one place maps files, since a mapped file that is truncated must not end the process."""
    if not path.startswith("src/") or not tree.is_cpp(path) or path in MAPS_FILES:
        return []
    if path.endswith("_test.cc"):
        return []
    blank = cpp.blank(text)
    return [
        (blank.count("\n", 0, match.start()) + 1,
         "maps a file: MappedFile of formats/mapped_file.h survives one that is cut short")
        for match in re.finditer(r"\bmmap(64)?\s*\(([^;]*)", blank)
        if not re.search(r",\s*-1,\s*0\)", match.group(2))
    ]


FILE_RULES = [
    layering, told_by_tuning, link_order, file_budget, function_budget, header_contract,
    isa_isolation, mutable_globals, long_lines, unfinished, commented_out_code, banned_words,
    printing, file_maps,
]
