# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Plots as SVG: lines over linear or logarithmic axes, with a legend."""

from collections import namedtuple
from xml.sax.saxutils import escape
import math
import os

import results
import rows

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 84, 170, 48, 58
# Told apart by the colour blind, too; krmsg is the first.
COLOURS = {"krmsg": "#d55e00", "ib_send_lat": "#0072b2",
           "ib_send_bw": "#0072b2", "ib_write_lat": "#56b4e9",
           "ib_read_lat": "#7a7a7a", "ib_read_bw": "#56b4e9",
           "rstream": "#009e73", "rds": "#b07aa1", "tcp": "#000000"}
NAMES = {"rds": "RDS", "tcp": "TCP (qperf)", "rstream": "rsockets"}

# points: (x, y); step: a staircase, as of a distribution
Series = namedtuple("Series", "name points")
# scale: "log" or "linear"; ticks: (value, text), or None for some of its own
Axis = namedtuple("Axis", "label scale ticks")


def short(value):
    """12000 is 12k."""
    for unit, text in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return "%g%s" % (float("%.4g" % (value / unit)), text)
    return "%g" % float("%.4g" % value)


def log_ticks(low, high):
    """1, 2, 5 of each power of ten; only powers when there are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if math.log10(high / low) <= 3 else (1,)
    found = [s * 10.0 ** e for e in range(first, last + 1) for s in steps]
    return [(v, short(v)) for v in found
            if low * 0.999 <= v <= high * 1.001]


def linear_ticks(low, high):
    """Five to ten round values."""
    raw = (high - low) / 6 or 1
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= raw)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [(i * step, short(i * step)) for i in range(first, last + 1)]


class Scale:
    """From values to places of the picture."""

    def __init__(self, axis, values, start, end):
        low, high = min(values), max(values)
        self.log = axis.scale == "log"
        if self.log:
            # some room at both ends, and never an empty range
            low, high = low / 1.15, high * 1.15
        elif not axis.ticks:
            low = min(low, 0)
            high = high * 1.05 if high > low else low + 1
        ticks = axis.ticks or (log_ticks if self.log
                               else linear_ticks)(low, high)
        if axis.ticks and not self.log:
            low, high = ticks[0][0], ticks[-1][0]
        self.low, self.high, self.ticks = low, high, ticks
        self.start, self.end = start, end

    def __call__(self, value):
        if self.log:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def text(x, y, words, extra=""):
    return '<text x="%.1f" y="%.1f"%s>%s</text>' % (x, y, extra,
                                                    escape(words))


def line(x1, y1, x2, y2, colour, width=1):
    return ('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" '
            'stroke-width="%g"/>' % (x1, y1, x2, y2, colour, width))


def frame(title, x_axis, y_axis, x, y):
    """Background, grid, ticks and labels."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    yield '<rect width="100%" height="100%" fill="#fff"/>'
    yield text(LEFT, 28, title, ' font-size="16" font-weight="bold"')
    for value, words in x.ticks:
        yield line(x(value), TOP, x(value), bottom, "#e4e4e4")
        yield text(x(value), bottom + 18, words, ' text-anchor="middle"')
    for value, words in y.ticks:
        yield line(LEFT, y(value), right, y(value), "#e4e4e4")
        yield text(LEFT - 8, y(value) + 4, words, ' text-anchor="end"')
    yield line(LEFT, bottom, right, bottom, "#444")
    yield line(LEFT, TOP, LEFT, bottom, "#444")
    yield text((LEFT + right) / 2, HEIGHT - 14, x_axis.label,
               ' text-anchor="middle"')
    yield text(0, 0, y_axis.label, ' text-anchor="middle" transform='
               '"translate(20 %.1f) rotate(-90)"' % ((TOP + bottom) / 2))


def curve(series, x, y, markers):
    colour = COLOURS.get(series.name, "#666")
    width = 2.6 if series.name == "krmsg" else 1.8
    places = [(x(px), y(py)) for px, py in series.points]
    yield ('<polyline fill="none" stroke="%s" stroke-width="%g" '
           'stroke-linejoin="round" points="%s"/>' %
           (colour, width, " ".join("%.1f,%.1f" % p for p in places)))
    if markers:
        for px, py in places:
            yield '<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>' % (
                px, py, colour)


def legend(all_series):
    x, y = WIDTH - RIGHT + 18, TOP + 12
    for series in all_series:
        colour = COLOURS.get(series.name, "#666")
        yield line(x, y - 4, x + 22, y - 4, colour, 3)
        yield text(x + 30, y, NAMES.get(series.name, series.name))
        y += 22


def chart(title, x_axis, y_axis, all_series, markers=True):
    """The text of an SVG file."""
    points = [p for series in all_series for p in series.points]
    x = Scale(x_axis, [p[0] for p in points], LEFT, WIDTH - RIGHT)
    y = Scale(y_axis, [p[1] for p in points], HEIGHT - BOTTOM, TOP)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
           'viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" '
           'fill="#222">' % (WIDTH, HEIGHT, WIDTH, HEIGHT)]
    out += frame(title, x_axis, y_axis, x, y)
    # krmsg on top of the others
    for series in sorted(all_series, key=lambda s: s.name == "krmsg"):
        out += curve(series, x, y, markers)
    out += legend(all_series)
    out.append("</svg>")
    return "\n".join(out) + "\n"


# What to draw of a boot. Each returns (title, x, y, series, markers) or None.

def order(programs):
    """krmsg first, the others by name."""
    return sorted(programs, key=lambda name: (name != "krmsg", name))


def median(boot, m, program, figure):
    found = list(results.values(boot, rows.measurement_text(m), program,
                                figure).values())
    return results.statistics.median(found) if found else None


def measured(boot):
    """The measurements of a boot, with the programs that have runs."""
    known = {rows.measurement_text(row.measurement): row.measurement
             for row in rows.ROWS}
    found = {}
    for run in boot["runs"]:
        m = known.get(run["measurement"])
        if m is not None:
            found.setdefault(m, set()).add(run["program"])
    return found


def cdf(histogram):
    """Points of the distribution, in percent; not more than are seen."""
    total = sum(n for _, n in histogram)
    points, seen = [], 0
    for us, n in sorted(histogram):
        if us <= 0:
            seen += n
            continue
        points.append((us, 100 * seen / total))
        seen += n
        points.append((us, 100 * seen / total))
    return points


def cut(all_series):
    """What is beyond the slowest p99.5 is not drawn, or a single message that
    took a second would press all others together."""
    def at(points, percent):
        return next(px for px, py in points if py >= percent)

    last = max(at(series.points, 99.5) for series in all_series)
    return [Series(series.name, [p for p in series.points if p[0] <= last])
            for series in all_series]


def latency_cdf(boot, m):
    name = rows.measurement_text(m)
    all_series = [Series(program, cdf(boot["histograms"][key]))
                  for program in order({run["program"]
                                        for run in boot["runs"]})
                  for key in ["%s:%s" % (name, program)]
                  if key in boot["histograms"]]
    if not all_series:
        return None
    ticks = [(v, "%d %%" % v) for v in range(0, 101, 10)]
    return ("Latency of %s B, %sing" % (rows.size_text(m.size),
                                        m.mode.replace("spin", "spinn")),
            Axis("half a round trip, us", "log", None),
            Axis("messages that were as fast", "linear", ticks),
            cut(all_series), False)


def by_size(boot, wanted, figure, title, unit, divide=1):
    """A figure over sizes, of the measurements that are wanted."""
    lines = {}
    for m, programs in measured(boot).items():
        if not wanted(m):
            continue
        for program in programs:
            value = median(boot, m, program, figure)
            if value is not None:
                lines.setdefault(program, []).append((m.size, value / divide))
    if not lines:
        return None
    sizes = sorted({x for points in lines.values() for x, _ in points})
    return (title, Axis("bytes of a message", "log",
                        [(s, rows.size_text(s)) for s in sizes]),
            Axis(unit, "log", None),
            [Series(program, sorted(lines[program]))
             for program in order(lines)], True)


def by_batch(boot):
    lines = {}
    for m, programs in measured(boot).items():
        if m.kind != "rate" or m.size != 64 or m.mode != "spin":
            continue
        for program in programs:
            value = median(boot, m, program, "rate")
            if value is not None:
                lines.setdefault(program, []).append((m.batch, value))
    lines = {k: v for k, v in lines.items() if len(v) > 1}
    if not lines:
        return None
    batches = sorted({x for points in lines.values() for x, _ in points})
    return ("Messages of 64 B a second, by batch",
            Axis("messages to a call", "log",
                 [(b, str(b)) for b in batches]),
            Axis("messages a second", "log", None),
            [Series(program, sorted(lines[program]))
             for program in order(lines)], True)


def all_of(boot):
    """Name of the file, and what is in it."""
    yield "latency-cdf-spin", latency_cdf(boot, rows.lat(64))
    yield "latency-cdf-sleep", latency_cdf(boot, rows.lat(64, "sleep"))
    yield "latency-by-size", by_size(
        boot, lambda m: m.kind == "lat" and m.mode == "spin", "mean",
        "Latency by size, spinning, mean", "half a round trip, us")
    yield "rate-by-size", by_size(
        boot, lambda m: m.mode == "spin" and
        (m.batch == 16 or (m.kind == "bw" and m.mtu == 1500)),
        "rate", "Messages a second, by size", "messages a second")
    for mtu in sorted({row.measurement.mtu for row in rows.ROWS}):
        yield "bandwidth-by-size-mtu%d" % mtu, by_size(
            boot, lambda m, mtu=mtu: m.kind == "bw" and m.mode == "spin" and
            m.mtu == mtu,
            "bandwidth", "Bandwidth by size, MTU %d" % mtu, "MiB a second",
            1 << 20)
    yield "rate-by-batch", by_batch(boot)


def all_plots(boot, directory):
    """Draw what there is to draw; the paths."""
    paths = []
    for name, what in all_of(boot):
        if what is None:
            continue
        title, x_axis, y_axis, all_series, markers = what
        path = os.path.join(directory, "%s-%s.svg" %
                            (name, os.path.basename(boot["kernel"])))
        with open(path, "w", encoding="utf-8") as f:
            f.write(chart("%s, Linux %s" % (title, boot["release"]), x_axis,
                          y_axis, all_series, markers))
        paths.append(path)
    return paths
