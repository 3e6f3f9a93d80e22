"""A ratchet for words: counts of what the house has too much of, which may only fall.

A comment says what it is about in its first word, so that it can be read before the code that it
stands over: "Returns ...", "The bytes of ...", not "Of a page" or "What is kept". Limits are kMax
and kMin. Each rule counts over the whole tree and fails where there is more than the number on
file below; it then names every place. Lower the number when the count has fallen; never raise it.

    python3 tests/house/comments.py [--list]

prints the counts, or every place.
"""

import re
import sys

import tree

# The numbers on file.
MOST_OPENINGS = 0
MOST_LIMIT_NAMES = 206

FOLDERS = ("src/", "tests/", "tools/", "bench/", "fuzz/")
SLASHED = (".h", ".cc", ".comp", ".glsl", ".js", ".mjs")
# Words that open a clause or a phrase, whose subject then comes late or not at all.
OPENINGS = re.compile(
    r"(What|Which|Who|Whom|Whose|Whoever|Whatever|Why|That|Of|By|Where|When|While|Until|Without"
    r"|With|Within|In|As|Behind|Before|After|Between|Beside|To|Into|Onto|From|For|At|On|Over|Under"
    r"|Above|Below|Beyond|Through|Among|Around|Against|About|Up|Than|Not|Nor|And|But|Or"
    r"|So|Also)\b(?!')"
)
LIMIT_NAME = re.compile(r"\bk(?:Most|Least)[A-Z0-9]\w*")


def comment_mark(path):
    """What begins a comment of the file; None where none are counted."""
    if not path.startswith(FOLDERS):
        return None
    return "//" if path.endswith(SLASHED) else "#" if path.endswith(".py") else None


def openings(path, text):
    """(line, first words) of each block of comment lines that opens without its subject."""
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


def limit_names(path, text):
    """(line, name) of the first of each name of a limit that is not a kMax or kMin."""
    if comment_mark(path) is None or path.endswith(".py"):
        return []
    first = {}
    for match in LIMIT_NAME.finditer(text):
        first.setdefault(match.group(), text.count("\n", 0, match.start()) + 1)
    return [(line, name) for name, line in first.items()]


def over(root, files, find):
    """Every (path, line, text) that `find` finds in files of the tree."""
    return [
        (path, line, what)
        for path in files
        if comment_mark(path) and (text := tree.read_text(path, root)) is not None
        for line, what in find(path, text)
    ]


def comments_open_with_their_subject(root, files, most=None):
    found = over(root, files, openings)
    most = MOST_OPENINGS if most is None else most
    if len(found) <= most:
        return []
    return [
        (path, line, f"opens without its subject: '{words[:40]}' ({len(found)}, at most {most})")
        for path, line, words in found
    ]


def limits_are_max_and_min(root, files, most=None):
    found = over(root, files, limit_names)
    most = MOST_LIMIT_NAMES if most is None else most
    names = {name for _, _, name in found}
    if len(names) <= most:
        return []
    return [
        (path, line, f"'{name}' is a kMax or kMin ({len(names)} names, at most {most})")
        for path, line, name in found
    ]


RULES = [comments_open_with_their_subject, limits_are_max_and_min]


def main():
    files = tree.list_files()
    found = over(tree.ROOT, files, openings)
    limits = over(tree.ROOT, files, limit_names)
    if "--list" in sys.argv:
        print("\n".join(f"{path}:{line}: {what[:70]}" for path, line, what in found + limits))
    names = {name for _, _, name in limits}
    print(f"{len(found)} comments open without their subject")
    print(f"{len(names)} limits are kMost or kLeast")


if __name__ == "__main__":
    main()
