# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""How each program is run, and what it prints.

A program has two ends, each on a processor of its own. parse() makes the same
figures of all of them: p50, p99, mean in us, histogram as [us, count] pairs;
rate in messages a second, bandwidth in bytes a second.
"""

from collections import namedtuple
import json
import math
import re

ADDR = "10.77.0.1"
PORT = 7471
SERVER_CPU, CLIENT_CPU = "0", "1"
RDS_BENCH = "build/selftests/rds_bench"

# server, client: arguments, None where a server stays. ready: how to know that
# the server listens: ("file", path), ("line", text), ("tcp", port), or
# ("cm", PORT): the client fails until it does. rdma: does it need packets
# of the RDMA device?
Plan = namedtuple("Plan", "server client ready rdma")


class Unparsable(Exception):
    """A program printed something else than its figures."""


def count(m, seconds):
    """About how many messages take so long on emulated processors, for
    programs that know no time."""
    one = 20 + m.size / 40
    if m.kind == "lat":
        one = 2 * (120 if m.mode == "sleep" else 15) + 2 * m.size / 40
    least = 5 if m.kind == "lat" else 16
    n = max(int(seconds * 1e6 / one), least)
    return max(n // m.batch, 4) * m.batch if m.batch > 1 else n


# krmsg

def one_sided(m):
    return m.mode in ("write", "read")


def slot(m):
    """Bytes of a slot that copies messages of some KiB, None for the default:
    three quarters of it, and of a batch several to a frame."""
    if m.kind == "bw" or m.size > 24 * 1024 or one_sided(m):
        return None
    if m.kind == "rate":
        return 16384 if 1024 <= m.size <= 12288 else \
            32768 if m.size > 12288 else None
    if m.size <= 3072:
        return None
    return next(s for s in (8192, 16384, 32768) if m.size <= s // 4 * 3)


def plan_krmsg(m, seconds, port_file):
    size = ["-s", str(m.size)]
    if slot(m):
        size += ["--slot", str(slot(m))]
    if one_sided(m):
        command, args = "perf", ["--test", "%s-%s" % (m.mode, m.kind),
                                 "-c", str(count(m, seconds))]
    elif m.kind == "lat":
        command, args = "ping", ["-c", str(count(m, seconds))]
    else:
        command, args = "perf", ["--test", m.kind]
        if m.kind == "rate":
            args += ["-b", str(m.batch), "-t", str(seconds)]
        else:
            # as many as the others, or the last ones in flight would count
            args += ["-c", str(count(m, seconds))]
    server = ["krmsg", command, "-l", "0", "--once", "--cpu", SERVER_CPU,
              "--port-file", port_file]
    if m.mode == "adapt":
        server += ["--adapt"]
    # a thread is on a processor of the host's choice, and a process that spins
    # takes it away
    mode = {"adapt": ["spin", "--adapt"], "write": ["spin"], "read": ["spin"],
            "sqpoll": ["sleep", "--sqpoll"]}.get(m.mode, [m.mode])
    client = ["krmsg", command, ADDR, "PORT", "--cpu", CLIENT_CPU, "--json",
              *size, *args, "--mode", *mode]
    return Plan(server, client, ("file", port_file), True)


def parse_json(text, m):
    """What krmsg and rds_bench print."""
    try:
        got = json.loads(text)
        if m.kind == "lat":
            us = got["lat_us"]
            return {"p50": us["p50"], "p99": us["p99"], "mean": us["mean"],
                    "histogram": got["histogram"]}
        # The receiver measured from the first message to the last, which is
        # one message less: of a few large ones it would be an advantage. Of
        # one-sided operations the sender measures, from before the first.
        rate = (got["messages"] - (not one_sided(m))) / got["seconds"]
        return {"rate": rate, "bandwidth": rate * m.size}
    except (ValueError, KeyError, ZeroDivisionError) as e:
        raise Unparsable("no figures in JSON: %r" % (e,)) from e


# perftest

def plan_perftest(program):
    def plan(m, seconds, _):
        args = [program, "-x", "1", "-F", "-s", str(m.size)]
        n = count(m, seconds)
        if m.kind == "lat":
            # it prints each result, and needs some to print percentiles
            args += ["-n", str(max(n, 20)), "-H"]
            if m.mode in ("sleep", "adapt"):
                args += ["-e"]
        elif m.kind == "rate":
            args += ["-n", str(n), "-l", str(m.batch)]
        else:
            args += ["-n", str(n)]
        return Plan(pinned(SERVER_CPU, args),
                    pinned(CLIENT_CPU, args + [ADDR]), ("tcp", 18515), True)
    return plan


def pinned(cpu, args):
    return ["taskset", "-c", cpu] + args


def bucket(us):
    """Results to 0.4 percent, as krmsg keeps them."""
    if us <= 0:
        return 0.0
    return float("%.6g" % math.exp(round(math.log(us) / 0.004) * 0.004))


def parse_perftest(text, m):
    samples, last = {}, None
    for line in text.splitlines():
        one = re.match(r"(\d+), ([0-9.]+)$", line)
        if one:
            us = bucket(float(one.group(2)))
            samples[us] = samples.get(us, 0) + 1
        words = line.split()
        if words and words[0] == str(m.size) and len(words) >= 5:
            last = words
    try:
        figures = [float(word) for word in last]
    except (TypeError, ValueError) as e:
        raise Unparsable("no line of figures for %d bytes" % m.size) from e
    if m.kind == "lat":
        # bytes iterations min max typical average deviation 99% 99.9%
        if len(figures) < 8:
            raise Unparsable("too few figures: %s" % figures)
        return {"p50": figures[4], "p99": figures[7], "mean": figures[5],
                "histogram": sorted([us, n] for us, n in samples.items())}
    # bytes iterations peak average, in MiB/s; Mpps. Each has its decimals:
    # the rate tells more of small messages, the bandwidth of large ones.
    if m.kind == "rate":
        return {"rate": figures[4] * 1e6, "bandwidth": figures[4] * 1e6 * m.size}
    return {"rate": figures[3] * (1 << 20) / m.size,
            "bandwidth": figures[3] * (1 << 20)}


# rsockets

def plan_rstream(m, seconds, _):
    n = count(m, seconds)
    args = ["rstream", "-p", str(PORT), "-S", str(m.size)]
    if m.kind == "lat":
        args += ["-I", str(n), "-C", "1"]
    else:
        args += ["-I", "1", "-C", str(n)]
    if m.mode == "sleep":
        args += ["-T", "b"]
    return Plan(pinned(SERVER_CPU, args),
                pinned(CLIENT_CPU, args + ["-s", ADDR]), ("cm", PORT), True)


def parse_rstream(text, m):
    """name bytes xfers iters total time Gb/sec usec/xfer"""
    for line in text.splitlines():
        words = line.split()
        if len(words) == 8 and words[0] == "custom":
            us = float(words[7])
            if us <= 0:
                break
            if m.kind == "lat":
                return {"mean": us}
            return {"rate": 1e6 / us, "bandwidth": m.size * 1e6 / us}
    raise Unparsable("no line of figures")


# RDS

def plan_rds(m, seconds, _):
    end = [ADDR, str(PORT)]
    return Plan([RDS_BENCH, "-l", "--cpu", SERVER_CPU, *end],
                [RDS_BENCH, "--cpu", CLIENT_CPU, "--mode", m.mode,
                 "--test", "lat" if m.kind == "lat" else "rate",
                 "-s", str(m.size), "-c", str(count(m, seconds)), *end],
                ("line", "listening"), True)


# TCP: qperf counts whole seconds, and its server stays.

def plan_tcp(m, seconds, _):
    test = "tcp_lat" if m.kind == "lat" else "tcp_bw"
    client = ["qperf", ADDR, "-t", str(max(1, round(seconds))), "-m",
              str(m.size), "-e", "9", "-vv", "-uu", test]
    return Plan(pinned(SERVER_CPU, ["qperf"]), pinned(CLIENT_CPU, client),
                ("tcp", 19765), False)


# -uu: no units that would vary, as ns, bytes/sec and /sec
QPERF = re.compile(r"^ +(\w+) += +([0-9.,]+) +(\S+)", re.M)


def parse_tcp(text, m):
    got = {name: (float(value.replace(",", "")), unit)
           for name, value, unit in QPERF.findall(text)}
    try:
        if m.kind == "lat":
            ns, unit = got["latency"]
            if unit == "ns":
                return {"mean": ns / 1000}
        else:
            value, unit = got["bw"]
            if unit == "bytes/sec":
                return {"rate": value / m.size, "bandwidth": value}
    except KeyError as e:
        raise Unparsable("qperf printed no %s" % e) from e
    raise Unparsable("qperf: unknown unit %s" % unit)


def cm_listens(text, port):
    """Does something listen, by "rdma -j resource show cm_id"?"""
    return any(one.get("state") == "LISTEN" and
               one.get("src-addr", "").endswith(":%d" % port)
               for one in json.loads(text))


def active_mtu(text):
    """The MTU of the port, by ibv_devinfo."""
    found = re.search(r"active_mtu:\s+(\d+)", text)
    return int(found.group(1)) if found else None


def path_mtu(mtu):
    """What RoCE makes of the MTU of the network: its headers need room."""
    return max(n for n in (256, 512, 1024, 2048, 4096) if n + 80 <= mtu)


# name: plan, parse, does its server stay for later runs?
PEERS = {
    "krmsg": (plan_krmsg, parse_json, False),
    "rstream": (plan_rstream, parse_rstream, False),
    "rds": (plan_rds, parse_json, False),
    "tcp": (plan_tcp, parse_tcp, True),
}
for name_ in ("ib_send_lat", "ib_write_lat", "ib_read_lat", "ib_send_bw",
              "ib_write_bw", "ib_read_bw"):
    PEERS[name_] = (plan_perftest(name_), parse_perftest, False)
