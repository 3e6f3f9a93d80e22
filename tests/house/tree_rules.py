"""House rules about how files fit together: includes and links that lead somewhere, format."""

import os
import re
import shutil
import subprocess

import cpp
import rules
import tree


def includes_exist(root, files):
    """Every quoted include is a file: from src/, or beside a file that is not under src/."""
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
    """Every relative link of a page leads to a file or folder of the project."""
    found = []
    for path in (p for p in files if p.endswith(".md")):
        text = tree.read_text(path, root) or ""
        text = re.sub(r"^```.*?^```", blank_lines, text, flags=re.S | re.M)
        for number, line in enumerate(text.split("\n"), 1):
            line = re.sub(r"`[^`]*`(?!\])", "", line)
            for target in re.findall(r"\]\(\s*<?([^)<>\s]+)>?[^)]*\)", line):
                target = target.split("#")[0]
                if not target or re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue
                if not link_exists(root, files, path, target):
                    found.append((path, number, f"the link to {target} leads nowhere"))
    return found


def blank_lines(match):
    return "\n" * match.group().count("\n")


def link_exists(root, files, page, target):
    """A link that begins with '/' counts from the root, as it does on a repository's page."""
    base = "" if target.startswith("/") else os.path.dirname(page)
    place = os.path.normpath(os.path.join(base, target.lstrip("/")))
    if place.startswith(".."):
        return False
    return place == "." or place in files or any(f.startswith(place + "/") for f in files)


def verbs(root, files):
    """The verbs of the program: verb_NAME.cc, and what is registered by name with CLI11."""
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
    """No two types of the library share a name, and none elsewhere has the name of one of these.

    Types of one name that meet in a program are undefined behaviour, which no linker tells.
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
    """What clang-format would change; nothing where there is no clang-format."""
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


TREE_RULES = [includes_exist, modules_exist, links_exist, verbs_have_pages,
              types_have_names_of_their_own, formatted]
