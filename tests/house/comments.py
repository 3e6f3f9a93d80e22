"""Finds the places in comments and names that the ratchet (words.py) counts.

A comment's first word says what it is about, so that it can be read before the code below it:
"Returns ...", "The bytes of ...", not "Of a page" or "What is kept". Limits are kMax and kMin.
"""

import re

FOLDERS = ("src/", "tests/", "tools/", "bench/", "fuzz/")
SLASHED = (".h", ".cc", ".comp", ".glsl", ".js", ".mjs")
# Words that open a clause or a phrase whose subject comes late or not at all.
OPENINGS = re.compile(
    r"(What|Which|Who|Whom|Whose|Whoever|Whatever|Why|That|Of|By|Where|When|While|Until|Without"
    r"|With|Within|In|As|Behind|Before|After|Between|Beside|To|Into|Onto|From|For|At|On|Over|Under"
    r"|Above|Below|Beyond|Through|Among|Around|Against|About|Up|Than|Not|Nor|And|But|Or"
    r"|So|Also)\b(?!')"
)
LIMIT_NAME = re.compile(r"\bk(?:Most|Least)[A-Z0-9]\w*")


def comment_mark(path):
    """The mark that begins a comment of the file; None for files that are not counted."""
    if not path.startswith(FOLDERS):
        return None
    return "//" if path.endswith(SLASHED) else "#" if path.endswith(".py") else None


def comments_without_subject(path, text):
    """(line, first words) of each block of comment lines that does not begin with its subject."""
    mark = comment_mark(path)
    if mark is None:
        return []
    found, inside = [], False
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        words = line[len(mark):].strip() if line.startswith(mark) else ""
        if not inside and OPENINGS.match(words):
            found.append((number, words))
        inside = line.startswith(mark)
    return found


def limits_named_most(path, text):
    """(line, name) of the first occurrence of each limit that is not named kMax or kMin."""
    if comment_mark(path) is None or path.endswith(".py"):
        return []
    first = {}
    for match in LIMIT_NAME.finditer(text):
        first.setdefault(match.group(), text.count("\n", 0, match.start()) + 1)
    return [(line, name) for name, line in first.items()]
