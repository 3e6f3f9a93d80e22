"""House rules about the tree as a whole: includes, links, names and format."""

import os
import re
import shutil
import subprocess

import cpp
import rules
import tree
import words


def includes_exist(root, files):
    """The target of every quoted include exists: in src/, or beside a file that is not under src/.
    """
    known = set(files)
    found = []
    for path in filter(tree.is_cpp, files):
        for line, included in rules.includes(tree.read_text(path, root) or ""):
            places = ["src/" + included]
            if not path.startswith("src/"):
                places.append(os.path.normpath(os.path.join(os.path.dirname(path), included)))
            if not any(place in known or place + ".in" in known for place in places):
                found.append((path, line, f'"{included}" is not there; includes begin at src/'))
    return found


def modules_exist(root, files):
    """The modules of the layering rule are those that are built, in the same order."""
    text = tree.read_text("CMakeLists.txt", root) if "CMakeLists.txt" in files else ""
    match = re.search(r"foreach\(module ([^)]*)\)", text)
    built = match.group(1).split() if match else []
    if built == rules.MODULES:
        return []
    line = text.count("\n", 0, match.start()) + 1 if match else 1
    return [("CMakeLists.txt", line, "other modules than MODULES of tests/house/rules.py, or in "
                                     "another order")]


def links_exist(root, files):
    """Every relative link of a page leads to a file or folder, and to a heading where it names one.
    """
    known = set(files)
    pages = {path: words.blank_code(tree.read_text(path, root) or "")
             for path in files if path.endswith(".md")}
    names = {path: anchors(text) for path, text in pages.items()}
    found = []
    for path, text in pages.items():
        for number, line in enumerate(text.split("\n"), 1):
            line = re.sub(r"`[^`]*`(?!\])", "", line)
            for link in re.findall(r"\]\(\s*<?([^)<>\s]+)>?[^)]*\)", line):
                if re.match(r"[a-z][a-z0-9+.-]*:", link):
                    continue
                target, _, anchor = link.partition("#")
                place = link_place(path, target)
                if not (place in known or leads_to_folder(files, place)):
                    found.append((path, number, f"the link to {target} leads nowhere"))
                elif anchor and place in names and anchor not in names[place]:
                    found.append((path, number, f"{place} has no heading #{anchor}"))
    return found


def link_place(page, target):
    """A link that begins with '/' counts from the root, as it does on a repository's page."""
    if not target:
        return page
    base = "" if target.startswith("/") else os.path.dirname(page)
    return os.path.normpath(os.path.join(base, target.lstrip("/")))


def leads_to_folder(files, place):
    return place == "." or any(f.startswith(place + "/") for f in files)


def anchors(text):
    """The names by which a repository's page links to its headings."""
    names, seen = set(re.findall(r'<a id="([^"]+)"', text)), {}
    for heading in re.findall(r"^#{1,6} +(.+?) *$", text, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        count = seen[name] = seen.get(name, -1) + 1
        names.add(f"{name}-{count}" if count else name)
    return names


def paths_exist(root, files):
    """Every file or folder that the map and the design pages name in backquotes exists.

    A path may omit its beginning, * stands for anything, and a word in capitals for a name.
    """
    found = []
    for path in files:
        if path != "ARCHITECTURE.md" and not re.match(r"docs/design/.*\.md$", path):
            continue
        for number, line in enumerate((tree.read_text(path, root) or "").split("\n"), 1):
            for named in re.findall(r"`([\w./*-]+(?:/|\.(?:h|cc|py|glsl|md|mjs|json|txt)))`", line):
                if re.search(r"\b\w*[A-Z]{4}\w*\.|^(config|tokenizer)\.json$", named):
                    continue
                pattern = "(^|/)" + re.escape(named.rstrip("/")).replace(r"\*", "[^/]*") + "(/|$)"
                if not any(re.search(pattern, each) for each in files):
                    found.append((path, number, f"{named} is not there"))
    return found


def verbs(root, files):
    """The verbs of the program: those of verb_NAME.cc, and those registered by name with CLI11."""
    names = set()
    for path in files:
        if not re.fullmatch(r"src/cli/\w+\.cc", path) or path.endswith("_test.cc"):
            continue
        if match := re.fullmatch(r"src/cli/verb_(\w+)\.cc", path):
            names.add(match.group(1).replace("_", "-"))
        text = tree.read_text(path, root) or ""
        names.update(re.findall(r'add_subcommand\(\s*"([\w-]+)"', text))
    return sorted(names)


def verbs_have_pages(root, files):
    return [
        (f"docs/{verb}.md", 1, f"the verb `hearth {verb}` has no page")
        for verb in verbs(root, files)
        if f"docs/{verb}.md" not in files
    ]


def types_have_names_of_their_own(root, files):
    """No two types of the library share a name, and no type elsewhere has the name of one of these.

    Two types of one name in a program are undefined behaviour, which the linker does not report.
    """
    first, found = {}, []
    for path in sorted(filter(tree.is_cpp, files), key=lambda path: not path.startswith("src/")):
        for name, line in cpp.Scanner(tree.read_text(path, root) or "").types:
            if name in first:
                found.append((path, line, f"{name} is defined in {first[name]} too"))
            elif path.startswith("src/"):
                first[name] = path
    return found


def formatted(root, files):
    """The files that clang-format would change; nothing if there is no clang-format."""
    program = shutil.which("clang-format")
    sources = [str(root / path) for path in files if tree.is_cpp(path)]
    if not program or not sources:
        return []
    command = [program, "--style=file", "--dry-run", "--ferror-limit=0", *sources]
    complaints = subprocess.run(command, capture_output=True, check=False).stderr.decode()
    first_lines = {}
    for path, line in re.findall(r"^(.+?):(\d+):\d+: \w+:", complaints, re.M):
        first_lines.setdefault(os.path.relpath(path, root), int(line))
    return [(p, line, "not as clang-format has it: make format") for p, line in first_lines.items()]


TREE_RULES = [includes_exist, modules_exist, links_exist, paths_exist, verbs_have_pages,
              types_have_names_of_their_own, formatted, words.ratchet]
