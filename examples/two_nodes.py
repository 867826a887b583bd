# SPDX-License-Identifier: Apache-2.0
"""Run a training script on two nodes that are one Linux machine, over a network with a given delay.

    sudo python examples/two_nodes.py --delay 20 -n 2 train.py --epochs 3

Each node is a network namespace with a host name of its own. A pair of virtual devices joins them, with
`tc qdisc … netem delay` on both. A kernel without netem gets two TUN devices and a process between them,
which holds each packet back. The ranks run under `samara launch`, half of them on each node, and talk over
TCP only. Namespaces, devices and processes are removed at the end, also after Ctrl-C.

Exit status 3: this machine cannot do it; the last line says why.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import fcntl
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

DEVICE = "samara0"  # on both nodes, so that one setting names it
ADDRESSES = ("10.77.0.1", "10.77.0.2")
MTU = 65520  # large packets: the process between the nodes moves whole pages of data
CANNOT = 3  # exit status
_QUEUE = 10000  # packets that a device may hold; 20 ms of 10 Gb/s are 400 of them
_END_SECONDS = 3.0
_LONG_DELAY = 5e-3  # seconds from which on the number of messages matters more than the copies

# TCP keeps as much on its way as its buffers hold: 20 ms of 10 Gb/s are 25 MB. These are set in the nodes.
_TCP = {
    "tcp_rmem": "4096 4194304 33554432",
    "tcp_wmem": "4096 4194304 33554432",
    "tcp_slow_start_after_idle": "0",
}

# What `samara launch` is, whether or not its program is installed.
LAUNCH = (sys.executable, "-c", "from samara.cli.main import main; main()", "launch")

# hydra calls this as it calls ssh: options, the host, and a command line for the host's shell.
_ENTER = """#!/bin/sh
while :; do case "$1" in -*) shift ;; *) break ;; esac; done
host=$1; shift
exec ip netns exec "{prefix}$host" unshare --uts sh -c "hostname $host; exec $*"
"""


class CannotRunError(Exception):
    """This machine cannot make two nodes."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--delay", type=float, default=0.0, help="milliseconds each way")
    parser.add_argument("--relay", action="store_true", help="TUN devices even if there is netem")
    parser.add_argument("-n", dest="ranks", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of each rank")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with TwoNodes(options.delay, options.relay) as nodes:
            program = [options.script, *options.arguments]
            status = nodes.launch(options.ranks, options.threads, program)
            sent = " and ".join(f"{count / 1e6:.1f}" for count in nodes.traffic())
            print(f"the nodes sent {sent} MB", file=sys.stderr)
            return status
    except CannotRunError as reason:
        print(f"NOT RUN: {reason}", file=sys.stderr)
        return CANNOT
    except KeyboardInterrupt:
        return 130


class TwoNodes:
    """Two joined network namespaces, from `with` to its end."""

    def __init__(self, delay_ms=0.0, relay=False):
        self.delay = delay_ms / 1e3
        self.relay = relay
        self.prefix = f"samara-{os.getpid()}-"
        self.names = [f"{self.prefix}node{k}" for k in (1, 2)]
        self._undo = contextlib.ExitStack()

    def __enter__(self):
        self._check()
        _remove_stale()
        with self._undo:
            for name in self.names:
                self._undo.callback(_remove, name)
                _ip("netns", "add", name)
                _ip("-n", name, "link", "set", "lo", "up")
            if self.relay or not self._join_by_veth():
                self._join_by_relay()
            for name, address in zip(self.names, ADDRESSES, strict=True):
                _ip("-n", name, "address", "add", f"{address}/30", "dev", DEVICE)
                _ip("-n", name, "link", "set", DEVICE, "mtu", str(MTU), "up")
                _ip("-n", name, "link", "set", DEVICE, "txqueuelen", str(_QUEUE))
                for key, value in _TCP.items():
                    words = ("sh", "-c", f"echo '{value}' > /proc/sys/net/ipv4/{key}")
                    _ip("netns", "exec", name, *words)
            self._undo = self._undo.pop_all()
        return self

    def __exit__(self, *_):
        self._undo.close()

    def launch(self, ranks, threads, program):
        """Run a script with its arguments on both nodes; returns the exit status of `samara launch`."""
        each = -(-ranks // 2)
        with tempfile.TemporaryDirectory(prefix="samara-nodes-") as folder:
            enter = Path(folder) / "enter"
            enter.write_text(_ENTER.format(prefix=self.prefix), encoding="ascii")
            enter.chmod(0o755)
            # mpiexec runs on the first node. Both nodes reach it there.
            words = ["ip", "netns", "exec", self.names[0], *LAUNCH, "-n", str(ranks)]
            words += ["--threads", str(threads), "--hosts", f"node1:{each},node2:{each}"]
            started = subprocess.Popen(
                [*words, *program], env=_environment(enter, self.delay), preexec_fn=_end_with_parent
            )
            try:
                return started.wait()
            except BaseException:
                with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                    started.send_signal(signal.SIGINT)
                    started.wait(2 * _END_SECONDS)
                started.kill()
                raise

    def traffic(self):
        """Bytes that each node has sent."""
        found = []
        for name in self.names:
            path = f"/sys/class/net/{DEVICE}/statistics/tx_bytes"
            found.append(int(_run("ip", "netns", "exec", name, "cat", path)))
        return found

    def _check(self):
        if sys.platform != "linux":
            raise CannotRunError("network namespaces are a feature of Linux")
        for tool in ("ip", "unshare"):
            if shutil.which(tool) is None:
                raise CannotRunError(f"the program {tool} is missing (iproute2, util-linux)")
        if os.geteuid() != 0:
            raise CannotRunError("only root may make network namespaces; use sudo")

    def _join_by_veth(self):
        """Join the nodes by a pair of devices; returns False if the kernel cannot delay packets."""
        first, second = self.names
        pair = ("type", "veth", "peer", "name", DEVICE, "netns", second)
        _ip("-n", first, "link", "add", DEVICE, *pair)
        if self.delay == 0:
            return True
        slow = ("root", "netem", "delay", f"{self.delay * 1e6:.0f}us", "limit", str(_QUEUE))
        try:
            for name in self.names:
                _run("tc", "-n", name, "qdisc", "add", "dev", DEVICE, *slow)
        except CannotRunError:
            _ip("-n", first, "link", "delete", DEVICE)
            return False
        return True

    def _join_by_relay(self):
        """Join the nodes by two TUN devices and a process between them."""
        files = []
        for number, name in enumerate(self.names):
            made = f"{DEVICE}t{os.getpid() % 10000}{number}"[:15]
            files.append(_tun(made))
            self._undo.callback(os.close, files[-1])
            _ip("link", "set", made, "netns", name, "name", DEVICE)
        numbers = [str(file) for file in files]
        process = subprocess.Popen(
            [sys.executable, __file__, "--between", *numbers, str(self.delay)],
            pass_fds=files,
            stdin=subprocess.PIPE,  # its end tells the process that this one has ended
            start_new_session=True,  # Ctrl-C does not reach it
        )
        self._undo.callback(_end, process)


def _environment(enter, delay):
    """The variables for hydra and for MPICH: TCP over the device between the nodes, no shared memory.

    Of MPICH's two ways over TCP, libfabric moves large messages in half the time of UCX, but asks the
    receiver before it sends one, which takes two more delays. UCX need not ask.
    """
    found = {"MPIR_CVAR_CH4_NETMOD": "ucx" if delay >= _LONG_DELAY else "ofi"}
    found |= {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": DEVICE, "UCX_RNDV_THRESH": "inf"}
    found |= {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": DEVICE}
    hydra = {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": str(enter), "HYDRA_IFACE": DEVICE}
    return found | os.environ | hydra


def _end_with_parent():
    """Let the kernel end this process when its parent is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG


def _run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotRunError(f"`{' '.join(words)}` failed: {done.stderr.strip()}")
    return done.stdout


def _ip(*words):
    return _run("ip", *words)


def _remove(name):
    """Remove a namespace and what still runs in it."""
    with contextlib.suppress(CannotRunError):
        for pid in _ip("netns", "pids", name).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        _ip("netns", "delete", name)


def _remove_stale():
    """Remove the namespaces of programs that were killed."""
    for line in _ip("netns", "list").splitlines():
        name = line.split()[0]
        _, _, rest = name.partition("samara-")
        pid = rest.partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            _remove(name)


def _end(process):
    process.stdin.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _tun(name):
    """The file of a new TUN device: it reads and writes packets."""
    tunsetiff, iff_tun, iff_no_pi = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
    try:
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, tunsetiff, struct.pack("16sH", name.encode(), iff_tun | iff_no_pi))
    except OSError as error:
        raise CannotRunError(
            f"the kernel has no netem, and TUN devices do not work either: {error}"
        ) from None
    return file


# ---- the process between the nodes


def between(files, delay, stop=0):
    """Pass packets between two TUN devices, `delay` seconds after they came, until there is input at `stop`.

    The end of that input, by default standard input, counts.
    """
    with contextlib.suppress(OSError):  # ranks that poll must not hold it up
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    waiting = deque()  # (when it leaves, the device it leaves by, the packet), in this order
    while True:
        pause = max(waiting[0][0] - time.monotonic(), 0) if waiting else None
        for file in select.select([*files, stop], [], [], pause)[0]:
            if file == stop:
                return
            other = files[0] if file == files[1] else files[1]
            waiting.extend((time.monotonic() + delay, other, packet) for packet in _packets(file))
        while waiting and waiting[0][0] <= time.monotonic():
            _, file, packet = waiting.popleft()
            with contextlib.suppress(OSError):  # a full device loses it, as networks do
                os.write(file, packet)


def _packets(file):
    """What a device has to read now, at most a few packets."""
    for _ in range(16):
        try:
            yield os.read(file, MTU + 64)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.EIO:  # the device is not up
                raise
            return


if __name__ == "__main__":
    if sys.argv[1:2] == ["--between"]:
        raise SystemExit(between([int(sys.argv[2]), int(sys.argv[3])], float(sys.argv[4])))
    raise SystemExit(main())
