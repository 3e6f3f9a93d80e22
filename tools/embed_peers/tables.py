"""The tables that compare.py prints, made of the figures that it collects (and --json keeps).

    report({"results": [...], "distances": [...], "notes": [...]}) -> Markdown

A rate is made of the median over the rounds. A ratio is Hearth's rate over the other engine's in
the same round: the median over the rounds, then the least and the largest.
"""

from __future__ import annotations

import statistics

OURS = "Hearth"
# The arithmetic unit that multiplies weights of a type fastest. A rate is compared with its peak.
UNITS = {"BF16": "bf16_dot", "F32": "f32_fma", "F16": "f32_fma"}


def unit_of(kind: str) -> str:
    return UNITS.get(kind, "int8_dot")


def rate(result: dict, name: str) -> float:
    return result["texts"] / statistics.median(result["seconds"][name])


def ratios(result: dict, name: str) -> list[float]:
    """Hearth's rate over the other engine's, in each round."""
    seconds = result["seconds"]
    return [theirs / ours for ours, theirs in zip(seconds[OURS], seconds[name])]


def rate_cell(result: dict, name: str) -> str:
    value = rate(result, name)
    if result["texts"] == 1:
        return f"{1e3 / value:.3g} ms"
    return f"{value:.4g}"


def share_cell(result: dict) -> str:
    peak = result["peaks"].get(unit_of(result["type"]), 0.0)
    if not peak:
        return "-"
    gops = result["operations"] / statistics.median(result["seconds"][OURS]) / 1e9
    return f"{gops:.0f} of {peak:.0f}, {100 * gops / peak:.0f} %"


def other_cell(result: dict, name: str) -> str:
    if name not in result["seconds"]:
        return "-"
    text = rate_cell(result, name)
    if result["texts"] > 1:
        text += f" ({result['batch'][name]})"
    if OURS in result["seconds"]:
        found = ratios(result, name)
        text += f"; **{statistics.median(found):.2f}**, {min(found):.2f} .. {max(found):.2f}"
    return text


def names_in(results: list[dict]) -> list[str]:
    return list(dict.fromkeys(name for result in results for name in result["seconds"]))


def rates_table(results: list[dict]) -> list[str]:
    """A table with a row for each type, case and number of threads."""
    others = [name for name in names_in(results) if name != OURS]
    lines = ["| threads | texts x tokens | type | Hearth | GOPS of peak | "
             + " | ".join(others) + " |", "|---:|---:|---|---:|---:|" + "---:|" * len(others)]
    order = sorted(range(len(results)), key=lambda i: (
        results[i]["threads"], -results[i]["texts"] * results[i]["tokens"],
        results[i]["tokens"], i))
    for result in (results[i] for i in order):
        ours = OURS in result["seconds"]
        cells = [str(result["threads"]), f"{result['texts']} x {result['tokens']}", result["type"],
                 rate_cell(result, OURS) if ours else "-", share_cell(result) if ours else "-"]
        cells += [other_cell(result, name) for name in others]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def distances_table(distances: list[dict]) -> list[str]:
    names = list(dict.fromkeys(one["engine"] for one in distances))
    lines = ["| type | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for kind in dict.fromkeys(one["type"] for one in distances):
        found = {one["engine"]: f"{one['distance']:.2e}, {one['length']:.2e}"
                 for one in distances if one["type"] == kind}
        cells = [found.get(name, "-") for name in names]
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return lines


def report(told: dict) -> str:
    parts = []
    results = told["results"]
    if results:
        parts += ["Texts a second (of one text: milliseconds); in brackets how many at a time are "
                  "best; in bold Hearth's rate over the other's, then the least and the largest "
                  "of a round.", "", *rates_table(results), ""]
        stolen, others = (max(result[key] for result in results) for key in ("stolen", "others"))
        parts += [f"Of the CPU time {100 * stolen:.1f} % at most was stolen, {100 * others:.1f} % "
                  "others'.", ""]
    if told["distances"]:
        parts += ["Largest difference of an element from the vectors in float64, over the largest "
                  "element; length of the difference:", "", *distances_table(told["distances"]), ""]
    parts += [f"- {note}" for note in told["notes"]]
    return "\n".join(parts).rstrip()
