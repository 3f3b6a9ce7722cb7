# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What the benchmark measures, beside whom, and within which bounds.

A measurement is made once in a round by krmsg and by each of its peers; a row
compares one figure of it. To add a row, add a line to ROWS, and its measurement
comes along.
"""

from collections import namedtuple
import fnmatch

KIB, MIB = 1024, 1024 * 1024

# kind: lat, rate (small messages in batches) or bw (large ones in flight).
# mode: spin, sleep, adapt (sleep, after a spin while waits are short; its peers
# sleep), sqpoll (a submission thread; its peers spin), or write and read, which
# are one-sided: WRITEs that are polled for, and READs
Measurement = namedtuple("Measurement", "kind size batch mode mtu")

# figure: p50, p99, mean (us of half a round trip), rate (messages a second),
# bandwidth (bytes a second). bound: "<=1.05", ">=6", or "-" for none. kernels:
# those for which the row is there. quick: is it there with --quick?
Row = namedtuple("Row", "name measurement figure peer bound kernels quick")

BOTH = ("6.1", "6.12")
LATENCY = ("p50", "p99", "mean")


def lat(size, mode="spin"):
    return Measurement("lat", size, 1, mode, 1500)


def rate(size, batch, mode="spin"):
    return Measurement("rate", size, batch, mode, 1500)


def bw(size, mtu=1500, mode="spin"):
    return Measurement("bw", size, 1, mode, mtu)


# measurement, figure, peer, bound, kernels[, "quick"]
BOUNDS = [
    (lat(64), "p50", "ib_send_lat", "<=1.0", ("6.1",), "quick"),
    (lat(64), "p99", "ib_send_lat", "<=1.1", ("6.1",), "quick"),
    (lat(64), "p50", "ib_send_lat", "<=1.05", ("6.12",), "quick"),
    (lat(64, "sleep"), "p50", "ib_send_lat", "<=0.67", BOTH, "quick"),
    (lat(64, "adapt"), "p50", "ib_send_lat", "<=0.67", BOTH, "quick"),
    (rate(64, 1), "rate", "ib_send_bw", ">=1.0", BOTH, "quick"),
    (rate(64, 1, "sqpoll"), "rate", "ib_send_bw", ">=6", BOTH, "quick"),
    (rate(64, 16), "rate", "ib_send_bw", ">=6", BOTH, "quick"),
    (rate(64, 64), "rate", "ib_send_bw", ">=8", BOTH, "quick"),
    (rate(1 * KIB, 16), "rate", "ib_send_bw", ">=0.97", BOTH),
    (rate(4 * KIB, 16), "rate", "ib_send_bw", ">=0.97", BOTH, "quick"),
    (lat(960), "p50", "ib_send_lat", "<=1.1", ("6.1",)),
    (lat(4 * KIB), "p50", "ib_send_lat", "<=1.2", ("6.1",), "quick"),
    (lat(8 * KIB), "p50", "ib_send_lat", "<=1.1", ("6.1",)),
    (lat(16 * KIB), "p50", "ib_send_lat", "<=1.1", ("6.1",)),
    (bw(64 * KIB), "bandwidth", "ib_send_bw", ">=0.95", BOTH, "quick"),
    (bw(64 * KIB, 9000), "bandwidth", "ib_send_bw", ">=0.95", BOTH, "quick"),
    (bw(1 * MIB), "bandwidth", "ib_send_bw", ">=0.99", BOTH),
    (bw(1 * MIB, 9000), "bandwidth", "ib_send_bw", ">=0.99", BOTH, "quick"),
    (lat(64, "write"), "p50", "ib_write_lat", "<=1.05", BOTH, "quick"),
    (lat(64, "read"), "p50", "ib_read_lat", "<=1.05", BOTH, "quick"),
    (lat(4 * KIB, "write"), "p50", "ib_write_lat", "<=1.05", BOTH),
    (lat(4 * KIB, "read"), "p50", "ib_read_lat", "<=1.05", BOTH),
    (bw(64 * KIB, mode="write"), "bandwidth", "ib_write_bw", ">=0.97", BOTH,
     "quick"),
    (bw(64 * KIB, mode="read"), "bandwidth", "ib_read_bw", ">=0.97", BOTH,
     "quick"),
    (bw(1 * MIB, mode="write"), "bandwidth", "ib_write_bw", ">=0.97", BOTH),
    (bw(1 * MIB, mode="read"), "bandwidth", "ib_read_bw", ">=0.97", BOTH),

    # No bound: to be seen beside the others, and for the plots.
    (lat(8), "p50", "ib_send_lat", "-", BOTH),
    (lat(64), "p99", "ib_send_lat", "-", ("6.12",), "quick"),
    (lat(960), "p50", "ib_send_lat", "-", ("6.12",)),
    (lat(4 * KIB), "p50", "ib_send_lat", "-", ("6.12",), "quick"),
    (lat(8 * KIB), "p50", "ib_send_lat", "-", ("6.12",)),
    (lat(16 * KIB), "p50", "ib_send_lat", "-", ("6.12",)),
    (lat(64 * KIB), "p50", "ib_send_lat", "-", BOTH),
    (lat(1 * MIB), "p50", "ib_send_lat", "-", BOTH),
    (lat(4 * MIB), "p50", "ib_send_lat", "-", BOTH),
    (lat(64), "p50", "ib_write_lat", "-", BOTH),
    (lat(64), "p50", "ib_read_lat", "-", BOTH),
    (lat(4 * KIB), "p50", "ib_write_lat", "-", BOTH),
    (lat(4 * KIB), "p50", "ib_read_lat", "-", BOTH),
    (rate(8, 16), "rate", "ib_send_bw", "-", BOTH),
    (rate(512, 16), "rate", "ib_send_bw", "-", BOTH),
    (rate(16 * KIB, 16), "rate", "ib_send_bw", "-", BOTH),
    (bw(4 * MIB), "bandwidth", "ib_send_bw", "-", BOTH),
    (bw(64 * KIB), "bandwidth", "ib_read_bw", "-", BOTH, "quick"),
    (bw(1 * MIB), "bandwidth", "ib_read_bw", "-", BOTH),
    (bw(64 * KIB, 9000), "bandwidth", "ib_read_bw", "-", BOTH),
    (bw(1 * MIB, 9000), "bandwidth", "ib_read_bw", "-", BOTH),
    (lat(64, "sleep"), "mean", "tcp", "-", BOTH, "quick"),
    (lat(4 * KIB, "sleep"), "mean", "tcp", "-", BOTH),
    (rate(64, 16), "rate", "tcp", "-", BOTH, "quick"),
    (rate(4 * KIB, 16), "rate", "tcp", "-", BOTH),
    (bw(64 * KIB), "bandwidth", "tcp", "-", BOTH),
    (bw(1 * MIB), "bandwidth", "tcp", "-", BOTH),
    (bw(1 * MIB, 9000), "bandwidth", "tcp", "-", BOTH),
]

# Ahead of these at all sizes. RDS takes no message above 1 MiB. Both print a
# mean, or are stopped by the clock: a mean is compared with a mean.
SIZES = [8, 64, 960, 4 * KIB, 16 * KIB, 64 * KIB, 1 * MIB, 4 * MIB]
RATES = [8, 64, 512, 4 * KIB, 16 * KIB]
BANDWIDTHS = [64 * KIB, 1 * MIB, 4 * MIB]


def ahead():
    for peer in ("rstream", "rds"):
        for size in SIZES:
            if peer == "rds" and size > MIB:
                continue
            quick = ("quick",) if size == 64 else ()
            yield (lat(size), "mean", peer, "<=1.0", BOTH) + quick
        for size in RATES:
            quick = ("quick",) if size == 64 else ()
            yield (rate(size, 16), "rate", peer, ">=1.0", BOTH) + quick
        for size in BANDWIDTHS:
            if peer == "rds" and size > MIB:
                continue
            yield (bw(size), "bandwidth", peer, ">=1.0", BOTH)
    yield (lat(64, "sleep"), "mean", "rds", "<=1.0", BOTH, "quick")


def size_text(size):
    """1048576 is 1M."""
    for unit, text in ((MIB, "M"), (KIB, "K")):
        if size >= unit and size % unit == 0:
            return "%d%s" % (size // unit, text)
    return "%d" % size


def measurement_text(m):
    """lat-64-spin, rate-64-b16, bw-64K-mtu9000"""
    text = "%s-%s" % (m.kind, size_text(m.size))
    if m.kind == "lat":
        text += "-" + m.mode
    if m.kind == "rate":
        text += "-b%d" % m.batch
    if m.kind != "lat" and m.mode != "spin":
        text += "-" + m.mode
    if m.mtu != 1500 or m.kind == "bw":
        text += "-mtu%d" % m.mtu
    return text


def make_row(m, figure, peer, bound, kernels, quick=None):
    name = measurement_text(m)
    if figure in LATENCY:
        name += "-" + figure
    return Row("%s:%s" % (name, peer), m, figure, peer, bound, kernels,
               quick == "quick")


ROWS = [make_row(*line) for line in BOUNDS + list(ahead())]


def select(kernel, patterns=(), mtus=(), quick=False):
    """The rows for a kernel: those whose name matches one of the patterns."""
    def wanted(row):
        if kernel not in row.kernels or (quick and not row.quick):
            return False
        if mtus and row.measurement.mtu not in mtus:
            return False
        return not patterns or any(
            p in row.name or fnmatch.fnmatchcase(row.name, p)
            for p in patterns)
    return [row for row in ROWS if wanted(row)]


def measurements(rows):
    """What to measure for rows: measurement and peers, in the order of MTU."""
    todo = {}
    for row in rows:
        peers = todo.setdefault(row.measurement, [])
        if row.peer not in peers:
            peers.append(row.peer)
    return sorted(todo.items(), key=lambda item: item[0].mtu)


def bound_of(row):
    """("<=", 1.05), or None without a bound."""
    if row.bound == "-":
        return None
    return row.bound[:2], float(row.bound[2:])
