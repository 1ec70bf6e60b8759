"""What a start costs: CPU time to the first accepted connection, and resident memory when idle.

Starts the real command several times on a free port of loopback, connects as soon as the ready line is
printed, waits until the connection is accepted (an answered request), and reads the process's own counters
from /proc. CPU time, not wall time: a busy machine changes the latter only.

    python benchmarks/bench_start.py [--rounds N]
"""

import argparse
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

CPU_BUDGET_MS = 250
MEMORY_BUDGET_MB = 45
CLUSTER_INFO = {"code": 106, "flag": 0, "language": "PYTHON", "opaque": 1, "version": 513}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = [measure() for _ in range(parser.parse_args().rounds)]
    cpu_ms = [cpu for cpu, _ in rounds]
    memory_mb = [memory for _, memory in rounds]
    report("CPU time from exec to the first accepted connection", cpu_ms, "ms", CPU_BUDGET_MS)
    report("resident memory when idle", memory_mb, "MB", MEMORY_BUDGET_MB)


def measure() -> tuple[float, float]:
    """Start the server once; give its CPU time in milliseconds and its resident memory in megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cosmodrome", "namesrv", "--bindAddress", "127.0.0.1", "--listenPort", "0"]
        process = subprocess.Popen(
            [*command, "--data-dir", folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().rpartition(":")[2])
            ask(port)
            return cpu_time_ms(process.pid), resident_mb(process.pid)
        finally:
            process.terminate()
            process.wait()
            process.stdout.close() if process.stdout else None


def ask(port: int) -> None:
    """Send one request and wait for the whole answer."""
    header = json.dumps(CLUSTER_INFO).encode()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(struct.pack(">ii", 4 + len(header), len(header)) + header)
        (length,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
        connection.recv(length, socket.MSG_WAITALL)


def cpu_time_ms(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Resident memory of a process now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def report(what: str, values: list[float], unit: str, budget: float) -> None:
    """Print the middle and the spread beside the budget."""
    spread = f"{min(values):.1f} to {max(values):.1f}"
    print(f"{what}: {statistics.median(values):.1f} {unit} ({spread}, {len(values)} starts; budget {budget} {unit})")


main()
