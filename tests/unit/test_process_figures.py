"""What /proc says about a process, compared with what is known of it otherwise."""

import os
import resource
import subprocess
import sys

from tests.support.process_figures import cpu_s_of, descriptors_of, memory_of, peak_memory_of, ran_s_of, waited_s_of

MIB = 1024 * 1024
ALL = (cpu_s_of, descriptors_of, memory_of, peak_memory_of, ran_s_of, waited_s_of)


def test_memory_grows_with_what_is_held_and_the_peak_stays() -> None:
    before = memory_of(os.getpid())
    held = bytearray(os.urandom(1)) * (64 * MIB)
    assert memory_of(os.getpid()) >= before + 32 * MIB
    peak = peak_memory_of(os.getpid())
    assert peak >= before + 32 * MIB
    del held
    assert peak_memory_of(os.getpid()) >= peak - MIB


def test_processor_time_is_that_of_the_system() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    assert cpu_s_of(os.getpid()) >= used.ru_utime + used.ru_stime - 0.1
    before = ran_s_of(os.getpid())
    sum(range(1_000_000))
    assert ran_s_of(os.getpid()) > before
    assert waited_s_of(os.getpid()) >= 0


def test_descriptors_are_counted() -> None:
    before = descriptors_of(os.getpid())
    reader, writer = os.pipe()
    assert descriptors_of(os.getpid()) == before + 2
    os.close(reader)
    os.close(writer)


def test_a_process_that_has_ended_has_no_figures() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert [figure(child.pid) for figure in ALL] == [0] * len(ALL)
