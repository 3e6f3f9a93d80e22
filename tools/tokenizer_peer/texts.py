"""Made-up texts of many kinds for comparing tokenizers. A seed gives the same texts on every
machine."""

import random
import unicodedata

WORDS = (
    "the quick brown fox jumps over lazy dogs while somebody's neighbour isn't looking they'll "
    "we've I'm he'd you're can't WON'T IT'S Hello World iPhone McDonald NASA antidisestablishment "
    "naïve café über straße façade Ångström São São-Paulo crème brûlée jalapeño Dvořák Łódź "
    "supercalifragilistic a I of to in that is was for on with as by at from"
).split()
SCRIPTS = {
    "Cyrillic": (0x0410, 0x044F),
    "Greek": (0x03B1, 0x03C9),
    "Arabic": (0x0621, 0x064A),
    "Hebrew": (0x05D0, 0x05EA),
    "Devanagari": (0x0904, 0x094D),
    "Thai": (0x0E01, 0x0E4E),
    "Han": (0x4E00, 0x9FA5),
    "kana": (0x3041, 0x30FE),
    "Hangul": (0xAC00, 0xD7A3),
}
SPACES = [0x20, 0x09, 0x0A, 0x0D, 0xA0, 0x3000]
RARE_SPACES = [*range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x1680, 0x85, 0x0B, 0x0C]
PICTURES = ["🙂", "🦊", "👩‍👩‍👧", "🇩🇪", "👍🏽", "❤️", "🏴‍☠️", "½", "™", "…", "—", "“", "”", "€", "№"]
CODE = [
    "def f(x, *args):\n    return x + 1  # done\n",
    "for (int i = 0; i < n; ++i) { sum += a[i] * 0x1Fu; }\n",
    '{"key": [1, 2.5e-3, null, true], "b": "c\\n"}\n',
    "<p class='x'>a &amp; b</p>\n\n",
    "if __name__ == '__main__':\n\tmain()\n",
    "SELECT * FROM t WHERE id >= 42 AND name LIKE '%x%';\r\n",
    "#include <vector>\nusing namespace std;\n\n\n",
    "$ rm -rf ./build && make -j8 2>&1 | tee log.txt\n",
]


class Maker:
    """Makes texts of one kind after another, each of about `size` characters."""

    def __init__(self, seed, size):
        self.random = random.Random(seed)
        self.size = size

    def _joined(self, piece):
        parts, length = [], 0
        while length < self.size:
            parts.append(piece())
            length += len(parts[-1])
        return "".join(parts)

    def prose(self):
        r = self.random
        mark = ["", "", "", "", ",", ".", "!", "?", ";", ":", " -", '"', ")", " ("]
        return self._joined(lambda: r.choice(WORDS) + r.choice(mark) + r.choice([" "] * 9 + ["\n"]))

    def numbers(self):
        r = self.random

        def number():
            digits = "".join(r.choice("0123456789") for _ in range(r.randint(1, 9)))
            form = r.choice("{} {} -{} {}.{} {},{} 0x{} {}% ${} {}th x{}".split())
            return form.format(digits, digits[:3]) + r.choice(["", " ", " ", "\n"])

        return self._joined(number)

    def code(self):
        return self._joined(lambda: self.random.choice(CODE))

    def white_space(self):
        r = self.random
        return self._joined(lambda: chr(r.choice(SPACES)) * r.choice([1, 1, 1, 2, 3, 8, 17])
                            + r.choice(["", "a", "Word", "12", "!", "é"]))

    def rare_spaces(self):
        r = self.random
        return self._joined(lambda: chr(r.choice(RARE_SPACES)) * r.choice([1, 1, 2])
                            + r.choice(["", "a", "Word", "12", "!", "語"]))

    def symbols(self):
        r = self.random
        marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~§°±·×÷«»"
        return self._joined(lambda: r.choice(marks) * r.choice([1, 1, 1, 2, 3, 5])
                            + r.choice(["", "", " ", "a", "\n"]))

    def script(self, name):
        r = self.random
        low, high = SCRIPTS[name]

        def word():
            letters = [chr(r.randint(low, high)) for _ in range(r.randint(1, 9))]
            return "".join(c for c in letters if unicodedata.category(c) != "Cn") + r.choice(
                [" ", " ", "", ", ", "。", "\n", " 7 "])

        return self._joined(word)

    def pictures(self):
        r = self.random
        return self._joined(lambda: r.choice(PICTURES) + r.choice(["", " ", " word", "!"]))

    def marks(self):
        """Letters with combining marks, in both normal forms."""
        r = self.random
        return self._joined(lambda: unicodedata.normalize(
            r.choice(["NFC", "NFD"]), r.choice("aeioucnszAEO") + chr(r.randint(0x300, 0x33F))
            + r.choice(["", "b", " ", "ö"])))

    def any_characters(self, categories="LNPSZ"):
        """Assigned characters of all planes in these categories, given by their first letter."""
        r = self.random

        def character():
            while True:
                c = chr(r.choice([r.randint(0x20, 0x2FF), r.randint(0x300, 0xFFFF),
                                  r.randint(0x10000, 0x1FFFF), r.randint(0x20000, 0x2FFFF)]))
                if unicodedata.category(c)[0] in categories:
                    return c + r.choice(["", "", " "])

        return self._joined(character)

    def kinds(self):
        """Yields (name, function that makes a text)."""
        plain = ("prose", "numbers", "code", "white_space", "symbols", "pictures")
        for name in plain:
            yield name.replace("_", " "), getattr(self, name)
        for name in SCRIPTS:
            yield name, lambda name=name: self.script(name)
        yield "combining marks", self.marks
        yield "rare spaces", self.rare_spaces
        yield "any letters, numbers and symbols", self.any_characters
