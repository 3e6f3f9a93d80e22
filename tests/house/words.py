"""A ratchet for words: counts places over the project and allows at most a fixed number of each
kind.

The numbers in MOST may only fall: a commit that removes places lowers its number.

    python3 tests/house/words.py [--list]

prints the counts, or every place.
"""

import re
import sys

import comments
import tree

SENTENCE_WORDS = 40
MAP_WORDS = 1800

MOST = {
    "long_sentences": 0,
    "words_too_many_on_the_map": 0,
    "comments_without_subject": 0,
    "limits_named_most": 0,
}


def is_document(path):
    return path in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md") or (
        path.startswith("docs/") and path.endswith(".md"))


def blank_code(text):
    """The text with the lines of fenced code emptied."""
    return re.sub(r"^\s*```.*?^\s*```", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.S | re.M)


def passages(text):
    """[(line, text)] of every paragraph, list item and table cell, without code."""
    found, paragraph = [], False
    for number, line in enumerate(blank_code(text).split("\n"), 1):
        stripped = line.strip()
        point = re.match(r"(?:[-*]|\d+\.)\s+", stripped)
        if stripped.startswith("|"):
            found += [(number, cell) for cell in re.split(r"(?<!\\)\|", stripped) if cell.strip()]
            paragraph = False
        elif not stripped or stripped[0] == "#" or (line.startswith("    ") and not paragraph):
            paragraph = False
        elif point or not paragraph:
            found.append((number, stripped[point.end():] if point else stripped))
            paragraph = True
        else:
            found[-1] = (found[-1][0], found[-1][1] + " " + stripped)
    return found


def sentences(passage):
    passage = re.sub(r"\]\([^)]*\)", "]", passage)
    return re.split(r"(?<=[.!?])[)\"*`]*\s+(?=[\"`(\[]*[A-Z0-9`]|\*)", passage)


def count_words(sentence):
    """The number of words of prose. Names in backquotes are not counted."""
    return sum(bool(re.search(r"\w", word)) for word in re.sub(r"`[^`]*`", "", sentence).split())


def long_sentences(path, text):
    """Sentences of more than SENTENCE_WORDS words in documents for users and authors."""
    if not is_document(path):
        return []
    return [
        (line, f"a sentence of {count_words(sentence)} words: {sentence[:50]}...")
        for line, passage in passages(text)
        for sentence in sentences(passage)
        if count_words(sentence) > SENTENCE_WORDS
    ]


def words_too_many_on_the_map(path, text):
    if path != "ARCHITECTURE.md":
        return []
    return [(1, f"word {number} of {MAP_WORDS}: the rest belongs to docs/design")
            for number in range(MAP_WORDS + 1, len(text.split()) + 1)]


COUNTED = [long_sentences, words_too_many_on_the_map, comments.comments_without_subject,
           comments.limits_named_most]
# Each name counts once, however many files contain it.
NAMES = {comments.limits_named_most}


def places_of(count, root, files):
    """[(path, line, what)] of all places of a count, and their number."""
    places = [(path, *place) for path in files if (text := tree.read_text(path, root))
              for place in count(path, text)]
    return places, len({what for _, _, what in places} if count in NAMES else places)


def ratchet(root, files, most_of=None):
    """All places of each count that exceeds its number."""
    found = []
    for count in COUNTED:
        places, number = places_of(count, root, files)
        most = (most_of or MOST)[count.__name__]
        if number > most:
            found += [(path, line, f"{what} ({number} {count.__name__}, the most is {most})")
                      for path, line, what in places]
    return found


def main():
    for count in COUNTED:
        places, number = places_of(count, tree.ROOT, tree.list_files())
        if "--list" in sys.argv:
            print("".join(f"{path}:{line}: {what[:70]}\n" for path, line, what in places), end="")
        print(f"{number} {count.__name__}, the most is {MOST[count.__name__]}")


if __name__ == "__main__":
    main()
