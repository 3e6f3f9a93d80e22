"""Tests the house rules on made-up files: each rule finds its violations and nothing else."""

import pathlib
import tempfile
import unittest

import cpp
import rules
import tree
import tree_rules
import words

CONTRACT = "// What this header promises to those who call it.\n#pragma once\n"


def lines_of(rule, path, text):
    return [line for line, _ in rule(path, text)]


class CppTest(unittest.TestCase):
    def test_blank_keeps_every_position(self):
        text = 'a("x // y", \'{\'); // {\n/* {\n*/ R"(})" 1\'000 #\n#define X {\nb'
        blanked = cpp.blank(text)
        self.assertEqual(len(blanked), len(text))
        self.assertEqual(blanked.count("\n"), text.count("\n"))
        self.assertNotIn("{", blanked)
        self.assertNotIn("}", blanked)
        self.assertTrue(blanked.endswith("b"))

    def test_functions_of_every_form(self):
        text = """
namespace a::b {
template <typename T, int N = (3 > 2)>
class alignas(64) Foo final : public Bar<T> {
 public:
  explicit Foo(int x) : Bar<T>(x), x_{x}, y_{{1, 2}} { go(); }
  Foo& operator=(const Foo& o) { return *this; }
  bool operator()(int i) const noexcept { return i; }
  auto get() const -> std::vector<int> { return {x_}; }
 private:
  int x_ = 3;
  std::vector<int> y_{1, 2};
};
const auto kLambda = [](int x) { return x; };
constexpr int kTable[] = {
  1,
};
void defaults(Options o = {}, int n = f({1})) { run([&] { o; }); }
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { return 0; }
TEST(Foo, Bar) { struct S { int f() { return 1; } }; }
enum class E : uint8_t { kA, kB };
}
"""
        scanner = cpp.Scanner(text)
        self.assertTrue(scanner.balanced)
        names = [f.name for f in scanner.functions if "kLambda" not in f.name]
        heads = [name.split("(")[0].split()[-1] for name in names]
        self.assertEqual(heads, ["Foo", "operator=", "operator", "get", "defaults",
                                 "LLVMFuzzerTestOneInput", "TEST"])
        self.assertEqual([f.first for f in scanner.functions if "kLambda" in f.name], [14])

    def test_a_macro_before_a_scope(self):
        scanner = cpp.Scanner("BEGIN_X(1)\nnamespace a {\nEND_X\nclass B { void f() {} };\n}\n")
        self.assertEqual([f.first for f in scanner.functions], [4])

    def test_lengths_count_the_head_and_both_braces(self):
        function, = cpp.Scanner("\nint f(int a,\n      int b) {\n  return a;\n}\n").functions
        self.assertEqual((function.first, function.last), (2, 5))


class FileRuleTest(unittest.TestCase):
    def test_layering(self):
        included = ["base/error.h", "kernels/k.h", "engine/e.h"]
        text = "#include <map>\n" + "".join(f'#include "{path}"\n' for path in included)
        self.assertEqual(lines_of(rules.layering, "src/kernels/gemm/g.cc", text), [4])
        self.assertEqual(lines_of(rules.layering, "src/engine/e.cc", text), [])
        self.assertEqual(lines_of(rules.layering, "src/kernels/g.cc", '#include "k.h"\n'), [1])
        self.assertEqual(lines_of(rules.layering, "src/utils/u.cc", ""), [1])
        self.assertEqual(lines_of(rules.layering, "tools/t.cc", '#include "t.h"\n'), [])

    def test_told_by_tuning(self):
        text = '#include "tune/tuning.h"\n#include "tune/plan_search.h"\n'
        self.assertEqual(lines_of(rules.told_by_tuning, "src/cli/verb_tune.cc", text), [2])
        self.assertEqual(lines_of(rules.told_by_tuning, "src/tune/tuning.cc", text), [])

    def test_link_order(self):
        text = "hearth_module(plan SOURCES p.cc DEPS hearth_base hearth_graph)\n"
        self.assertEqual(lines_of(rules.link_order, "src/plan/CMakeLists.txt", text), [1])
        self.assertEqual(lines_of(rules.link_order, "src/graph/CMakeLists.txt", text), [])

    def test_file_budget(self):
        for path, lines, wrong in [("src/a/a.cc", 500, 0), ("src/a/a.cc", 501, 1), ("a.py", 501, 1),
                                   ("src/a/a_avx512_vnni.cc", 800, 0), ("src/a/a_neon.cc", 801, 1),
                                   ("src/a/CMakeLists.txt", 501, 1), ("docs/a.md", 501, 0)]:
            self.assertEqual(len(rules.file_budget(path, "\n" * lines)), wrong, (path, lines))

    def test_function_budget(self):
        for body, wrong in [(68, []), (69, [2])]:
            text = "\nvoid f() {\n" + "  g();\n" * body + "}\n"
            self.assertEqual(lines_of(rules.function_budget, "a.cc", text), wrong)
            text = "\nTEST(A, B) {\n" + "  g();\n" * body + "}\n"
            self.assertEqual(lines_of(rules.function_budget, "a_test.cc", text), wrong)
        python = "\ndef f():\n" + "    g()\n" * 70
        self.assertEqual(lines_of(rules.function_budget, "a.py", python), [2])
        self.assertEqual(lines_of(rules.function_budget, "a.py", "def f(:\n"), [1])
        table = "constexpr int kTable[] = {\n" + "  1,\n" * 90 + "};\n"
        self.assertEqual(lines_of(rules.function_budget, "a.cc", table), [])
        self.assertEqual(lines_of(rules.function_budget, "a.cc", "void f() {\n"), [1])

    def test_header_contract(self):
        self.assertEqual(lines_of(rules.header_contract, "a.h", CONTRACT), [])
        self.assertEqual(lines_of(rules.header_contract, "a.h", "#pragma once\n"), [1])
        self.assertEqual(lines_of(rules.header_contract, "a.h", "// a.h\n#pragma once\n"), [1])
        self.assertEqual(lines_of(rules.header_contract, "a.h", CONTRACT.split("#")[0]), [1])

    def test_isa_isolation(self):
        include = "#include <immintrin.h>\n"
        self.assertEqual(lines_of(rules.isa_isolation, "src/kernels/k.cc", include), [1])
        self.assertEqual(lines_of(rules.isa_isolation, "src/kernels/k_avx2.cc", include), [])
        for line in ["__m512i load(const void*);\n", "float32x4_t f();\n", "svfloat32_t f();\n"]:
            self.assertEqual(lines_of(rules.isa_isolation, "src/kernels/k_avx2.h", line), [1], line)
        self.assertEqual(lines_of(rules.isa_isolation, "src/kernels/k.h", "// not __m512i\n"), [])

    def test_isa_fragments(self):
        path = "src/kernels/k_avx512-inl.h"
        text = CONTRACT + "#include <immintrin.h>\nnamespace {\n__m512i f();\n}\n"
        self.assertEqual(lines_of(rules.isa_isolation, path, text), [])
        self.assertEqual(lines_of(rules.isa_isolation, path, CONTRACT + "inline int f();\n"), [1])
        include = '#include "kernels/k_avx512-inl.h"\n'
        for user, wrong in [("k_avx512_vnni.cc", []), ("k_amx.cc", []), ("k_avx2.cc", [1]),
                            ("k_avxvnni.cc", [1]), ("k.cc", [1])]:
            self.assertEqual(lines_of(rules.isa_isolation, "src/kernels/" + user, include), wrong)

    def test_isa_flags(self):
        path = "src/kernels/CMakeLists.txt"
        for text in ["target_compile_options(k PRIVATE -mavx2)\n",
                     "add_compile_options(-march=native)\n",
                     'set(CMAKE_CXX_FLAGS "-mfma")\n']:
            self.assertEqual(lines_of(rules.isa_isolation, path, text), [1], text)
        for text in ["set_source_files_properties(a_avx2.cc PROPERTIES COMPILE_OPTIONS -mavx2)\n",
                     "# add_compile_options(-mavx2)\n", "set(avx2_flags -mavx2 -mfma)\n"]:
            self.assertEqual(lines_of(rules.isa_isolation, path, text), [], text)

    def test_mutable_globals(self):
        bad = ["int counter = 0;", "static std::map<int, int> cache;", "std::mutex g_mutex{};",
               "namespace { bool done; }", "void f() {\n static int n = 0; }",
               "thread_local int t;", "class A { static int n_; };",
               "const char* name = \"x\";", "void f() { static A a(3); }",
               "class A { inline static std::atomic<bool> b_{false}; };", "alignas(64) int x[4];"]
        for text in bad:
            self.assertEqual(len(rules.mutable_globals("a.cc", text)), 1, text)
        good = ["constexpr int kN = 3;", "static const int kN = 3;",
                "const char* const kName = \"x\";", "int f(int a);",
                "static int f(int a) { return a; }", "class A;", "extern int x;",
                "class A { int n_ = 0; static A make(int n); };", "using B = int;", "BENCHMARK(x);",
                "void f() { static const A a(3); static_assert(x); static_cast<int>(y); }",
                "static_assert(sizeof(A) == 4);", "template <> struct A<int>;", "A::A() = default;",
                "const std::map<int, A> kMap = {{1, {2}}};", "volatile std::sig_atomic_t stop = 0;",
                "inline constexpr A kA{1};", "bool operator==(const A& a, const A& b);"]
        for text in good:
            self.assertEqual(rules.mutable_globals("a.cc", text), [], text)

    def test_long_lines(self):
        text = "x" * 100 + "\n" + "x" * 101 + "\n// https://" + "x" * 101 + "\n"
        self.assertEqual(lines_of(rules.long_lines, "a.cc", text), [2])

    def test_unfinished(self):
        text = "int a;\n// TO" + "DO: more\n// FIX" + "ME\nstd::vector<Todo> list;\n"
        self.assertEqual(lines_of(rules.unfinished, "a.cc", text), [2, 3])

    def test_commented_out_code(self):
        bad = ["// x = 3;", "// int y = f(x);", "// run(x, y);", "// a.b->c(x);", "// return x;",
               "// if (x) {", "// } else {", "// }", "/* x = 3;\n */", "// #include <map>",
               "// std::string name;", "// void f(int x) {"]
        for text in bad:
            self.assertEqual(len(rules.commented_out_code("a.cc", text + "\n")), 1, text)
        good = ["// The first is a scale; the second a minimum;", '"// x = 3;"',
                "//   team.run(f);  // an example", "// {a, b} are pairs",
                "// Rows are cut first (see Shard); then columns;", "// what is left is zero;"]
        for text in good:
            self.assertEqual(rules.commented_out_code("a.cc", text + "\n"), [], text)

    def test_commented_out_python(self):
        bad = ["# x = f(3)", "# print(x)", "    # import os", "# for x in y:"]
        for text in bad:
            self.assertEqual(len(rules.commented_out_code("a.py", text + "\n")), 1, text)
        good = ["# What it is for.", "#!/usr/bin/env python3", "# see f(x) below", "x = 1  # y = 2"]
        for text in good:
            self.assertEqual(rules.commented_out_code("a.py", text + "\n"), [], text)

    def test_banned_words(self):
        for word in rules.BANNED:
            self.assertEqual(lines_of(rules.banned_words, "a.md", f"fine\nsee {word} x\n"), [2])

    def test_printing(self):
        bad = ['fmt::print(stderr, "x");', 'std::cerr << "x";', 'std::cout << x;', 'perror("x");',
               'std::fprintf(stderr, "x");', 'printf("x");', "write(STDERR_FILENO, a, 1);",
               "std::make_shared<spdlog::sinks::stderr_sink_mt>()", 'std::fputs("x", stderr);']
        for text in bad:
            self.assertEqual(lines_of(rules.printing, "src/cli/a.cc", text), [1], text)
            self.assertEqual(lines_of(rules.printing, "src/cli/a_test.cc", text), [], text)
            self.assertEqual(lines_of(rules.printing, "tests/a.cc", text), [], text)
        good = ['std::snprintf(a, 9, "x");', 'print_stderr("x");', "isatty(STDERR_FILENO)",
                "// std::cerr", "int print(int x);", "std::vsnprintf(a, 9, f, x);"]
        for text in good:
            self.assertEqual(rules.printing("src/cli/a.cc", text), [], text)
        told = "write_now(STDERR_FILENO, &text);"
        self.assertEqual(rules.printing("src/base/tell.cc", told), [])
        self.assertEqual(lines_of(rules.printing, "src/cli/text_io.cc", told), [1])

    def test_file_maps(self):
        bad = "\nvoid* p = mmap(nullptr, n, PROT_READ,\n  MAP_PRIVATE, fd, 0);"
        self.assertEqual(lines_of(rules.file_maps, "src/cli/a.cc", bad), [2])
        bad = bad.replace("mmap(", "::mmap (")
        self.assertEqual(lines_of(rules.file_maps, "src/cli/a.cc", bad), [2])
        for path in ("src/formats/mapped_file.cc", "src/cli/a_test.cc", "tests/a.cc"):
            self.assertEqual(rules.file_maps(path, bad), [], path)
        self.assertEqual(rules.file_maps("src/cli/a.cc", bad.replace("fd, 0", "-1, 0")), [])


class TreeRuleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def found(self, rule, files):
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        return [(path, line) for path, line, _ in rule(self.root, sorted(files))]

    def test_walk_leaves_builds_and_hidden_folders_out(self):
        paths = ["a.cc", "build/b.cc", ".git/c", "x/build/d", ".ci/run", "x/__pycache__/e"]
        self.found(lambda root, files: [], dict.fromkeys(paths, ""))
        self.assertEqual(tree.list_files(self.root), [".ci/run", "a.cc", "x/build/d"])

    def test_includes_exist(self):
        files = {"src/base/a.h": CONTRACT, "fuzz/f.h": CONTRACT,
                 "src/base/a.cc": '#include "base/a.h"\n#include "base/b.h"\n#include "a.h"\n',
                 "fuzz/f.cc": '#include "f.h"\n#include "base/a.h"\n#include "g.h"\n'}
        wrong = [("fuzz/f.cc", 3), ("src/base/a.cc", 2), ("src/base/a.cc", 3)]
        self.assertEqual(self.found(tree_rules.includes_exist, files), wrong)

    def test_modules_exist(self):
        for built, wrong in [(rules.MODULES, []), (rules.MODULES[:-1], [("CMakeLists.txt", 2)]),
                             (rules.MODULES[::-1], [("CMakeLists.txt", 2)])]:
            text = f"project(p)\nforeach(module {' '.join(built)})\nendforeach()\n"
            found = self.found(tree_rules.modules_exist, {"CMakeLists.txt": text})
            self.assertEqual(found, wrong)
        self.assertEqual(self.found(tree_rules.modules_exist, {}), [("CMakeLists.txt", 1)])

    def test_links_exist(self):
        page = "[a](run.md#x-y) [b](none.md)\n```\n[c](none.md)\n```\n[d](https://x) [e](../src)\n"
        page += "`[f](g)` [h](/docs/run.md) [i](/none) [j](#here)\n"
        run = "# `X`, y\n[a](#x-y-1) [b](#z)\n## X y\n<a id=\"z\"></a>\n[c](#w)\n### Here\n"
        files = {"docs/a.md": page + "## Here\n", "docs/run.md": run, "src/base/a.h": ""}
        wrong = [("docs/a.md", 1), ("docs/a.md", 6), ("docs/run.md", 5)]
        self.assertEqual(self.found(tree_rules.links_exist, files), wrong)

    def test_paths_exist(self):
        page = "`src/base/a.h` `base/a.h` `a.h` `base/` `base/*.h` `base/NAME.cc` `a.b` `b.h(x)`\n"
        page += "`b.h`\n`base/b.h`\n`bas/`\n`base/*.cc`\n`config.json`\n"
        files = {"ARCHITECTURE.md": page, "docs/design/a.md": "`c.h`\n", "docs/b.md": "`c.h`\n",
                 "src/base/a.h": CONTRACT}
        wrong = [("ARCHITECTURE.md", line) for line in (2, 3, 4, 5)] + [("docs/design/a.md", 1)]
        self.assertEqual(self.found(tree_rules.paths_exist, files), wrong)

    def test_long_sentences(self):
        most = "word " * words.SENTENCE_WORDS
        long = "word " * (words.SENTENCE_WORDS + 1)
        fine = [most, f"# {long}", f"    {long}", f"```\n{long}\n```", f"{most}`{long}`",
                f"- {most}\n- a",
                f"{most}\n\nend", f"| {most} | {most} |", f"{most[5:]}end. **And** {most[5:]}"]
        for page in fine:
            self.assertEqual(words.long_sentences("docs/a.md", page), [], page)
        for page in [long, f"* {long}", f"{most}\nend", f"a\n{long}", f"| a | {long} |",
                     f"{most[5:]}[a](b.md), c"]:
            self.assertEqual(lines_of(words.long_sentences, "docs/design/a.md", page), [1], page)
            self.assertEqual(words.long_sentences("tests/a.md", page), [])

    def test_ratchet(self):
        def ratchet(root, files):
            return words.ratchet(root, files, dict.fromkeys(words.MOST, 1))

        words_of_map = "Word. " * words.MAP_WORDS
        for text, count in [(words_of_map, 0), (words_of_map + "a", 0), (words_of_map + "a b", 2)]:
            found = self.found(ratchet, {"ARCHITECTURE.md": text})
            self.assertEqual(found, [("ARCHITECTURE.md", 1)] * count)
        long = "word " * 50
        self.assertEqual(self.found(ratchet, {"README.md": f"{long}\n\n{long}", "docs/a.md": ""}),
                         [("README.md", 1), ("README.md", 3)])

    def test_verbs_have_pages(self):
        files = {"src/cli/verb_run.cc": "", "docs/run.md": "",
                 "src/cli/main.cc": 'app.add_subcommand("bench", "x");\n'}
        self.assertEqual(self.found(tree_rules.verbs_have_pages, files), [("docs/bench.md", 1)])

    def test_types_have_names_of_their_own(self):
        a = ("namespace n {\nclass A;\nstruct A {\n  struct In {};\n};\n"
             "namespace {\nstruct B {};\n}\n}\n")
        b = "namespace n {\nstruct A::Out {};\nenum class B { k };\nstruct alignas(8) A {};\n}\n"
        c = "namespace n {\nstruct In {};\n}\nnamespace m {\ntemplate <int n>\nstruct A {};\n}\n"
        files = {"src/a.h": a, "src/b.h": b, "src/c.h": c, "tests/d.cc": b, "tests/e.cc": a}
        wrong = [("src/b.h", 4), ("tests/d.cc", 2), ("tests/d.cc", 3), ("tests/d.cc", 4),
                 ("tests/e.cc", 3)]
        rule = tree_rules.types_have_names_of_their_own
        self.assertEqual(self.found(rule, files), wrong)

    @unittest.skipUnless(tree_rules.shutil.which("clang-format"), "no clang-format here")
    def test_formatted(self):
        files = {".clang-format": "BasedOnStyle: Google\n", "a.cc": "int a;\n",
                 "b.cc": "int a;\nint  b ;\n"}
        self.assertEqual(self.found(tree_rules.formatted, files), [("b.cc", 2)])
