# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs, and what follows from them: medians, ratios, verdicts, the table."""

import json
import math
import random
import statistics

import rows

UNITS = {"p50": "us", "p99": "us", "mean": "us", "rate": "1/s",
         "bandwidth": "MiB/s"}
RESAMPLES = 400
# Above this the control says nothing: the machine was not left alone.
NOISE_MOST = 0.25


def shown(figure, value):
    """A figure as it is printed; bandwidth is kept in bytes."""
    if figure == "bandwidth":
        return "%.2f" % (value / (1 << 20))
    return "%.0f" % value if figure == "rate" else "%.2f" % value


def figures_text(m, figures):
    names = {"lat": ("p50", "p99", "mean"), "rate": ("rate",),
             "bw": ("bandwidth",)}[m.kind]
    return ", ".join("%s %s %s" % (name, shown(name, figures[name]),
                                   UNITS[name])
                     for name in names if name in figures)


class Record:
    """The runs of one boot."""

    def __init__(self, head):
        self.head = head
        self.runs = []
        self.failures = []
        self.histograms = {}

    def add(self, m, program, nr, control, figures):
        kept = {k: v for k, v in figures.items() if k != "histogram"}
        self.runs.append({"measurement": rows.measurement_text(m),
                          "program": program, "round": nr, "control": control,
                          **kept})
        if figures.get("histogram"):
            self.merge(rows.measurement_text(m), program,
                       figures["histogram"])

    def merge(self, measurement, program, histogram):
        key = "%s:%s" % (measurement, program)
        merged = dict(self.histograms.get(key, []))
        for us, n in histogram:
            merged[us] = merged.get(us, 0) + n
        self.histograms[key] = sorted([us, n] for us, n in merged.items())

    def failed(self, m, program, nr, control, why):
        self.failures.append({"measurement": rows.measurement_text(m),
                              "program": program, "round": nr,
                              "control": control, "why": why})

    def save(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({**self.head, "runs": self.runs,
                       "failures": self.failures,
                       "histograms": self.histograms}, f)


def values(boot, measurement, program, figure, control=False):
    """The figures of a program by round."""
    return {run["round"]: run[figure] for run in boot["runs"]
            if run["measurement"] == measurement and figure in run and
            run["program"] == program and run["control"] == control}


def spread(first, second):
    """By how much the medians of two series of the same program may differ:
    the ratio of medians is taken of rounds drawn anew many times; nine of ten
    of these ratios lie within 1 / (1 + spread) and 1 + spread."""
    common = sorted(set(first) & set(second))
    if not common:
        return None
    draw = random.Random(1)
    logs = []
    for _ in range(RESAMPLES):
        some = [draw.choice(common) for _ in common]
        a = statistics.median(first[i] for i in some)
        b = statistics.median(second[i] for i in some)
        logs.append(abs(math.log(a / b)))
    logs.sort()
    return math.exp(logs[math.ceil(0.9 * len(logs)) - 1]) - 1


def control_spread(boot, measurement, figure):
    """The larger one of those of krmsg and of its first peer."""
    known = []
    for program in sorted({run["program"] for run in boot["runs"]
                           if run["control"] and
                           run["measurement"] == measurement}):
        one = spread(values(boot, measurement, program, figure),
                     values(boot, measurement, program, figure, True))
        if one is not None:
            known.append(one)
    return max(known, default=None)


def verdict(bound, ratio, noise):
    """pass; noise: within the control's spread of the bound, which passes;
    NOISY: it is so only because the spread is too wide to tell; MISS."""
    if bound is None:
        return "-"
    side, limit = bound
    if side == "<=":
        good, near = ratio <= limit, ratio <= limit * (1 + noise)
    else:
        good, near = ratio >= limit, ratio >= limit / (1 + noise)
    if good:
        return "pass"
    if not near:
        return "MISS"
    return "noise" if noise <= NOISE_MOST else "NOISY"


def result(boot, row):
    """What came of a row, as it goes into the JSON file."""
    measurement = rows.measurement_text(row.measurement)
    ours = values(boot, measurement, "krmsg", row.figure)
    theirs = values(boot, measurement, row.peer, row.figure)
    noise = control_spread(boot, measurement, row.figure)
    out = {"row": row.name, "figure": row.figure, "unit": UNITS[row.figure],
           "bound": row.bound, "krmsg": None, "peer": None, "ratio": None,
           "spread": noise, "pairs": len(set(ours) & set(theirs)),
           "verdict": "ERROR"}
    # Half of the pairs, at least, or there is no figure to speak of.
    if noise is None or 2 * out["pairs"] < boot["pairs"]:
        return out
    both = sorted(set(ours) & set(theirs))
    out["krmsg"] = statistics.median(ours[i] for i in both)
    out["peer"] = statistics.median(theirs[i] for i in both)
    out["ratio"] = out["krmsg"] / out["peer"]
    out["verdict"] = verdict(rows.bound_of(row), out["ratio"], noise)
    return out


def table(boot, found):
    """The lines of the table."""
    yield "Linux %s, %d processors, %d pairs of about %g s" % (
        boot["release"], boot["cpus"], boot["pairs"], boot["seconds"])
    yield "%-30s %11s %11s %-5s %7s %7s %7s  %s" % (
        "", "krmsg", "peer", "", "ratio", "spread", "bound", "")
    for one in found:
        if one["ratio"] is None:
            yield "%-30s %11s %11s %-5s %7s %7s %7s  ERROR (%d pairs)" % (
                one["row"], "-", "-", one["unit"], "-", "-", one["bound"],
                one["pairs"])
            continue
        yield "%-30s %11s %11s %-5s %7.3f %6.1f%% %7s  %s" % (
            one["row"], shown(one["figure"], one["krmsg"]),
            shown(one["figure"], one["peer"]), one["unit"], one["ratio"],
            100 * one["spread"], one["bound"], one["verdict"])


def status(found):
    """The exit status: 2 for errors, 1 for a bound that is missed, or of
    which nothing can be said."""
    verdicts = {one["verdict"] for one in found}
    if "ERROR" in verdicts:
        return 2
    return 1 if verdicts & {"MISS", "NOISY"} else 0
