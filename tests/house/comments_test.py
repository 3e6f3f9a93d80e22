"""The counts of comments.py on made-up files."""

import pathlib
import tempfile
import unittest

import comments

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
        return [line for line, _ in comments.openings(path, text)]

    def test_the_first_word_of_a_block_counts(self):
        self.assertEqual(self.lines("src/a/b.h", BAD), [1, 4, 9])
        self.assertEqual(self.lines("src/a/b.h", GOOD), [])
        self.assertEqual(self.lines("tests/a.py", BAD.replace("//", "#")), [1, 4, 9])
        self.assertEqual(self.lines("docs/a.md", BAD), [])
        self.assertEqual(self.lines("src/a/b.txt", BAD), [])

    def test_each_name_of_a_limit_counts_once(self):
        text = "int kMostRows = kMostRows + kLeastRows;\nint kMost = kMaxRows, kAlmostMostRows;\n"
        names = [name for _, name in comments.limit_names("src/a/b.h", text)]
        self.assertEqual(names, ["kMostRows", "kLeastRows"])

    def test_more_than_the_number_on_file_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src").mkdir()
            (root / "src/b.h").write_text(BAD + "int kMostRows, kLeastRows;\n")
            files = ["src/b.h"]
            found = comments.comments_open_with_their_subject(root, files, most=2)
            self.assertEqual([line for _, line, _ in found], [1, 4, 9])
            self.assertEqual(comments.comments_open_with_their_subject(root, files, most=3), [])
            self.assertEqual(len(comments.limits_are_max_and_min(root, files, most=1)), 2)
            self.assertEqual(comments.limits_are_max_and_min(root, files, most=2), [])
