# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Tests of the benchmark itself, without a machine: TAP on standard output."""

import contextlib
import io
import json
import os
import tempfile
from xml.etree import ElementTree

import peers
import plot
import results
import rows

# What the programs printed once, shortened.

SEND_LAT = """\
---------------------------------------------------------------------------------------
                    Send Latency Test
 Number of qps   : 1		Transport type : IB
 Mtu             : 1024[B]
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
#, usec
1, 21.7515
2, 22.0822
3, 22.0825
4, 8836.02
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 64      2000          21.75          8836.02      35.87    	       1609.29     	1998.70		6055.18 		8255.06
---------------------------------------------------------------------------------------
"""

SEND_BW = """\
Post List requested - CQ moderation will be the size of the post list
---------------------------------------------------------------------------------------
 TX depth        : 128
 local address: LID 0000 QPN 0x0024 PSN 0xe41cc2
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 64         16000            3.14               0.49   		   0.007977
---------------------------------------------------------------------------------------
"""

RSTREAM = """\
name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer
custom    64      1       2k      250k        0.42s      0.00     104.05
"""

CM_ID = """\
[{"ifindex":0,"ifname":"rxe0","cm-idn":0,"state":"LISTEN","ps":"TCP","pid":183,\
"comm":"rstream","src-addr":"0.0.0.0:7471"},{"ifindex":0,"ifname":"rxe0",\
"cm-idn":1,"state":"CONNECT","ps":"TCP","pid":183,"comm":"rstream",\
"src-addr":"10.77.0.1:7472"}]
"""

RSTREAM_EARLY = """\
rpoll: Connection refused
name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer
"""

TCP_LAT = """\
tcp_lat:
    latency        =     1661130 ns
    msg_rate       =         602 /sec
    msg_size       =          64 bytes
    loc_cpus_used  =         150 % cpus
"""

TCP_BW = """\
tcp_bw:
    bw              =       4479488 bytes/sec
    msg_rate        =         69992 /sec
    send_cost       =  297466833199 ns/GB
"""

PING = """\
{
  "test": "lat",
  "msg_per_s": 4333.99034099,
  "bytes_per_s": 277375.381823,
  "lat_us": {
    "min": 18.44,
    "p50": 36.992,
    "p90": 79.104,
    "p99": 2187.264,
    "max": 6523.564,
    "mean": 114.7314735
  },
  "histogram": [
    [18.44, 1],
    [36.992, 5]
  ]
}
"""

RATE = '{ "test": "rate", "messages": 41, "seconds": 0.5, "msg_per_s": 82 }'


class Tap:
    """Counts and prints."""

    def __init__(self):
        self.count = self.failed = 0

    def same(self, got, want, name):
        self.count += 1
        if got == want:
            print("ok %d - %s" % (self.count, name))
            return
        self.failed += 1
        print("not ok %d - %s" % (self.count, name))
        print("#  got %r\n# want %r" % (got, want))

    def raises(self, what, call, name):
        try:
            got = call()
        except what:
            got = None
        self.same(got, None, name)


def rounded(figures):
    return {k: round(v, 3) for k, v in figures.items() if k != "histogram"}


def parsers(t):
    lat, rate = rows.lat(64), rows.rate(64, 16)
    bw = rows.bw(64)
    got = peers.parse_perftest(SEND_LAT, lat)
    t.same(rounded(got), {"p50": 35.87, "p99": 6055.18, "mean": 1609.29},
           "perftest: latency")
    t.same([n for _, n in got["histogram"]], [1, 2, 1],
           "perftest: results that are alike are counted together")
    t.same(all(abs(us / real - 1) < 0.004 for (us, _), real in
               zip(got["histogram"], (21.7515, 22.0823, 8836.02))), True,
           "perftest: to 0.4 percent")
    t.same(rounded(peers.parse_perftest(SEND_BW, rate)),
           {"rate": 7977.0, "bandwidth": 510528.0}, "perftest: rate")
    t.same(rounded(peers.parse_perftest(SEND_BW, bw)),
           {"rate": 8028.16, "bandwidth": 513802.24}, "perftest: bandwidth")
    t.raises(peers.Unparsable, lambda: peers.parse_perftest(
        SEND_BW, rows.rate(128, 16)), "perftest: of another size")
    t.raises(peers.Unparsable, lambda: peers.parse_perftest(
        SEND_BW, lat), "perftest: too few figures")
    t.raises(peers.Unparsable, lambda: peers.parse_perftest("", lat),
             "perftest: nothing")
    t.same(peers.parse_rstream(RSTREAM, lat), {"mean": 104.05},
           "rstream: latency")
    t.same(rounded(peers.parse_rstream(RSTREAM, bw)),
           {"rate": 9610.764, "bandwidth": 615088.9}, "rstream: bandwidth")
    t.raises(peers.Unparsable,
             lambda: peers.parse_rstream(RSTREAM_EARLY, lat),
             "rstream: no server")
    t.same([peers.cm_listens(CM_ID, port) for port in (7471, 71, 7472)],
           [True, False, False], "rdma: who listens")
    t.same(peers.active_mtu("\tmax_mtu:\t4096 (5)\n\tactive_mtu:\t1024 (3)\n"),
           1024, "ibv_devinfo: the MTU")
    t.same([peers.path_mtu(n) for n in (1500, 4200, 9000)],
           [1024, 4096, 4096], "the MTU that is expected")
    t.same(peers.cm_listens("[]", 7471), False, "rdma: nobody")
    t.same(rounded(peers.parse_tcp(TCP_LAT, lat)), {"mean": 1661.13},
           "qperf: latency")
    t.same(peers.parse_tcp(TCP_BW, rate),
           {"rate": 69992.0, "bandwidth": 4479488.0}, "qperf: bandwidth")
    t.raises(peers.Unparsable, lambda: peers.parse_tcp(TCP_BW, lat),
             "qperf: another test")
    t.raises(peers.Unparsable, lambda: peers.parse_tcp(
        TCP_LAT.replace(" ns", " us"), lat), "qperf: another unit")
    t.same(peers.parse_json(PING, lat),
           {"p50": 36.992, "p99": 2187.264, "mean": 114.7314735,
            "histogram": [[18.44, 1], [36.992, 5]]}, "krmsg ping")
    t.same(peers.parse_json(RATE, rate),
           {"rate": 80.0, "bandwidth": 5120.0},
           "krmsg perf: 41 messages are 40 times as long as one")
    t.raises(peers.Unparsable, lambda: peers.parse_json(
        RATE.replace("0.5", "0"), rate), "krmsg perf: no time")
    t.raises(peers.Unparsable, lambda: peers.parse_json(RATE, lat),
             "JSON without the figures")
    t.same([peers.slot(rows.lat(n * 1024)) for n in (1, 3, 4, 8, 16, 24, 64)],
           [None, None, 8192, 16384, 32768, 32768, None],
           "slots that take a message")
    t.same([peers.slot(m) for m in (rows.rate(64, 16), rows.rate(4096, 16),
                                    rows.bw(65536))],
           [None, 16384, None], "slots that take several messages")
    t.raises(peers.Unparsable, lambda: peers.parse_json("krmsg: no", lat),
             "no JSON")


def plans(t):
    both = [peers.PEERS[name][0](rows.rate(64, 16), 1, "port")
            for name in peers.PEERS]
    t.same(all(plan.server and plan.client for plan in both), True,
           "all programs have two ends")
    plan = peers.PEERS["ib_send_bw"][0](rows.rate(64, 16), 1, None)
    t.same(plan.client[3:], ["ib_send_bw", "-x", "1", "-F", "-s", "64", "-n",
                             str(peers.count(rows.rate(64, 16), 1)), "-l",
                             "16", "10.77.0.1"], "the batch of ib_send_bw")
    t.same(plan.server[3:], plan.client[3:-1], "and its server's")
    t.same("-e" in peers.PEERS["ib_send_lat"][0](
        rows.lat(64, "sleep"), 1, None).client, True, "ib_send_lat sleeps")
    large = rows.bw(1 << 20)
    t.same([str(peers.count(large, 1)) in peers.PEERS[name][0](
        large, 1, "port").client for name in (
            "krmsg", "ib_send_bw", "ib_read_bw", "rstream", "rds")],
           [True] * 5, "as many large messages of each")
    t.same(peers.count(rows.rate(64, 16), 1) % 16, 0, "whole batches")
    t.same([peers.count(m, 0.1) for m in (rows.lat(4 << 20), rows.bw(4 << 20))],
           [5, 16], "few of the largest")


def rules(t):
    names = [(row.name, kernel) for row in rows.ROWS for kernel in row.kernels]
    t.same(len(names), len(set(names)), "each row is there once")
    t.same({row.peer for row in rows.ROWS} - set(peers.PEERS), set(),
           "all peers are known")
    t.same({row.figure for row in rows.ROWS} - set(results.UNITS), set(),
           "all figures are known")
    t.same([rows.bound_of(row) for row in rows.select(
        "6.12", ["lat-64-spin-p50:ib_send_lat"])], [("<=", 1.05)],
           "one bound of 6.12")
    t.same([row.name for row in rows.select("6.1", ["bw-1M*:ib_send_bw"],
                                            [9000])],
           ["bw-1M-mtu9000:ib_send_bw"], "rows by pattern and MTU")
    t.same(rows.select("5.10"), [], "no rows of an unknown kernel")
    todo = rows.measurements(rows.select("6.1"))
    t.same([m.mtu for m, _ in todo], sorted(m.mtu for m, _ in todo),
           "the MTU changes once")
    t.same({row.measurement.size for row in rows.ROWS} >= {8, 64, 4 << 20},
           True, "8 B to 4 MiB")
    low, high = ("<=", 1.0), (">=", 6.0)
    t.same([results.verdict(low, r, 0.1) for r in (1.0, 1.09, 1.11)],
           ["pass", "noise", "MISS"], "verdicts of at most")
    t.same([results.verdict(high, r, 0.1) for r in (6.0, 5.5, 5.4)],
           ["pass", "noise", "MISS"], "verdicts of at least")
    t.same([results.verdict(low, r, 0.3) for r in (1.0, 1.2, 1.4)],
           ["pass", "NOISY", "MISS"], "a control that is too wide")
    t.same(results.verdict(None, 9.9, 0.1), "-", "no bound, no verdict")
    t.same([results.status([{"verdict": v} for v in some]) for some in (
        ["pass", "noise", "-"], ["pass", "MISS"], ["NOISY"],
        ["MISS", "ERROR"])], [0, 1, 1, 2], "exit status")


def boot_of(ours, theirs, again=1.0):
    """A boot with one measurement: ib_send_lat, rounds as given."""
    record = results.Record({"kernel": "6.1", "release": "6.1.0-test",
                             "cpus": 2, "pairs": len(ours), "seconds": 1})
    m = rows.lat(64)
    for nr, (a, b) in enumerate(zip(ours, theirs)):
        for name, value in (("krmsg", a), ("ib_send_lat", b)):
            if value is None:
                record.failed(m, name, nr, False, "test")
                continue
            record.add(m, name, nr, False, {
                "p50": value, "p99": 3 * value, "mean": 2 * value,
                "histogram": [[value, 90], [3 * value, 10]]})
            record.add(m, name, nr, True, {"p50": value * again})
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "bench.json")
        record.save(path)
        with open(path, encoding="utf-8") as f:
            return json.load(f)


def tables(t):
    row = rows.select("6.1", ["lat-64-spin-p50:ib_send_lat"])[0]
    boot = boot_of([11, 10, 30], [10, 10, 10])
    one = results.result(boot, row)
    t.same((one["krmsg"], one["peer"], one["ratio"], one["spread"],
            one["pairs"], one["verdict"]), (11, 10, 1.1, 0.0, 3, "MISS"),
           "medians, and a control without spread")
    one = results.result(boot_of([11, 10, 30], [10, 10, 10], 1.15), row)
    t.same((round(one["spread"], 6), one["verdict"]), (0.15, "noise"),
           "a control that differs by 15 percent")
    text = list(results.table(boot, [one]))
    t.same(text[0], "Linux 6.1.0-test, 2 processors, 3 pairs of about 1 s",
           "the head of the table")
    t.same(text[2].split(), ["lat-64-spin-p50:ib_send_lat", "11.00", "10.00",
                             "us", "1.100", "15.0%", "<=1.0", "noise"],
           "a line of the table")
    one = results.result(boot_of([11, None, None], [10, 10, 10]), row)
    t.same((one["pairs"], one["verdict"]), (1, "ERROR"), "too few pairs")
    t.same(list(results.table(boot, [one]))[2].split()[-4:],
           ["<=1.0", "ERROR", "(1", "pairs)"], "the line of an error")
    one = results.result(boot_of([11, None, 9], [10, 10, 10]), row)
    t.same((one["pairs"], one["krmsg"]), (2, 10), "a run that failed")
    t.same(boot["histograms"]["lat-64-spin:krmsg"],
           [[10, 90], [11, 90], [30, 100], [33, 10], [90, 10]],
           "histograms of all runs in one")
    noisy = {i: 10 + i for i in range(9)}
    t.same(results.spread(noisy, noisy), 0.0, "no spread of the same")
    t.same(0.1 < results.spread(noisy, dict(enumerate(
        [18, 10, 17, 11, 16, 12, 15, 13, 14]))) < 0.6, True,
           "spread of one that scatters")
    t.same(results.spread({}, {}), None, "no spread of nothing")


def plots(t):
    t.same([words for _, words in plot.log_ticks(9, 1100)],
           ["10", "20", "50", "100", "200", "500", "1k"], "ticks, log")
    t.same([words for _, words in plot.linear_ticks(0, 33)],
           ["0", "10", "20", "30"], "ticks, linear")
    t.same([plot.short(v) for v in (0.5, 1500, 415e3, 2e6)],
           ["0.5", "1.5k", "415k", "2M"], "short numbers")
    t.same(plot.cdf([[2, 3], [1, 1]]),
           [(1, 0), (1, 25), (2, 25), (2, 100)], "a distribution")
    scale = plot.Scale(plot.Axis("", "linear", [(0, ""), (100, "")]),
                       [20, 30], 0, 10)
    t.same((scale(0), scale(50), scale(100)), (0, 5, 10), "a linear axis")
    scale = plot.Scale(plot.Axis("", "log", None), [1, 100], 0, 1)
    t.same(round(scale(10), 6), 0.5, "a logarithmic axis")
    boot = boot_of([11, 10, 30], [10, 10, 10])
    with tempfile.TemporaryDirectory() as tmp:
        paths = plot.all_plots(boot, tmp)
        t.same([os.path.basename(p) for p in paths],
               ["latency-cdf-spin-6.1.svg", "latency-by-size-6.1.svg"],
               "the plots for which there are figures")
        root = ElementTree.parse(paths[0]).getroot()
    space = "{http://www.w3.org/2000/svg}"
    words = [e.text for e in root.iter(space + "text")]
    t.same([w in words for w in ("krmsg", "ib_send_lat", "50 %",
                                 "half a round trip, us")], [True] * 4,
           "legend, ticks and labels are there")
    inside = [plot.LEFT - 1 <= float(x) <= plot.WIDTH - plot.RIGHT + 1 and
              plot.TOP - 1 <= float(y) <= plot.HEIGHT - plot.BOTTOM + 1
              for e in root.iter(space + "polyline")
              for x, y in [p.split(",") for p in e.get("points").split()]]
    t.same((len(inside) > 6, all(inside)), (True, True),
           "the curves are within the frame")
    svg = plot.chart("a < b & c", plot.Axis("x", "linear", None),
                     plot.Axis("y", "log", None),
                     [plot.Series("krmsg", [(1, 5), (2, 5)])])
    t.same(ElementTree.fromstring(svg)[1].text, "a < b & c",
           "text is escaped; one value alone is no fault")


def main():
    t = Tap()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for part in (parsers, plans, rules, tables, plots):
            part(t)
    print(out.getvalue(), end="")
    print("1..%d" % t.count)
    return 1 if t.failed else 0
