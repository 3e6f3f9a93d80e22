"""The files of the project: those that git tracks or would track; all files where there is no git.
"""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

CPP = (".cc", ".h")
SCRIPT = (".py", ".sh", ".cmake", ".js", ".mjs", ".css")


def list_files(root=ROOT):
    """Paths relative to the root, with '/' between, sorted."""
    command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        output = subprocess.run(command, capture_output=True, check=True).stdout
        listed = output.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = walk(root)
    return sorted(p for p in set(listed) if p and (root / p).is_file())


def walk(root):
    """All files, without git's help, except build/, hidden folders and Python's caches."""
    for folder, subfolders, names in os.walk(root):
        here = pathlib.Path(folder).relative_to(root)
        skipped = {"__pycache__"} | ({"build"} if here == pathlib.Path(".") else set())
        subfolders[:] = [s for s in subfolders if s not in skipped and (s == ".ci" or s[0] != ".")]
        for name in names:
            yield (here / name).as_posix()


def read_text(path, root=ROOT):
    """The text of a file, or None where it is not text."""
    data = (root / path).read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def is_cpp(path):
    return path.endswith(CPP)


def is_cmake(path):
    return path.endswith(".cmake") or path.split("/")[-1] == "CMakeLists.txt"


def is_code(path):
    """Whether budgets and comment rules apply to the file. Data and prose are exempt."""
    name = path.split("/")[-1]
    return is_cpp(path) or path.endswith(SCRIPT) or name in ("CMakeLists.txt", "Makefile")
