"""The counts of comments.py on made-up files."""

import pathlib
import tempfile
import unittest

import comments
import words

BAD = """// What this is.
#include <map>
int x;  // of the row
// Of a page,
// By whom.
//
// In the end.
int f() {
  // Whatever comes.
  return 1;
}
"""
GOOD = """// Returns what is
// Of use.
int kMaximum = kMaxRows;
// Offers, Into, Whether, How many: other words.
// Where
"""


class CommentsTest(unittest.TestCase):
    def lines(self, path, text):
        return [line for line, _ in comments.comments_without_subject(path, text)]

    def test_the_first_word_of_a_block_counts(self):
        self.assertEqual(self.lines("src/a/b.h", BAD), [1, 4, 9])
        self.assertEqual(self.lines("src/a/b.h", GOOD), [])
        self.assertEqual(self.lines("tests/a.py", BAD.replace("//", "#")), [1, 4, 9])
        self.assertEqual(self.lines("docs/a.md", BAD), [])
        self.assertEqual(self.lines("src/a/b.txt", BAD), [])

    def test_each_name_of_a_limit_counts_once(self):
        text = "int kMostRows = kMostRows + kLeastRows;\nint kMost = kMaxRows, kAlmostMostRows;\n"
        names = [name for _, name in comments.limits_named_most("src/a/b.h", text)]
        self.assertEqual(names, ["kMostRows", "kLeastRows"])

    def test_more_than_the_number_on_file_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src").mkdir()
            (root / "src/b.h").write_text(BAD + "int kMostRows, kLeastRows;\n")
            files = ["src/b.h"]
            def found(**most_of):
                return words.ratchet(root, files, dict.fromkeys(words.MOST, 9) | most_of)

            opened = found(comments_without_subject=2)
            self.assertEqual([line for _, line, _ in opened], [1, 4, 9])
            self.assertEqual(found(comments_without_subject=3), [])
            self.assertEqual(len(found(limits_named_most=1)), 2)
            self.assertEqual(found(limits_named_most=2), [])
