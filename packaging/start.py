#!/usr/bin/env python3
"""How long two builds of podctl take from their start to their end, in one run:

  start.py SHARED SLIM

The two take turns, so that whatever else the machine does falls upon both; what counts is the median.
Ends with 1 where SLIM takes more than 0.6 times as long as SHARED. Needs Python 3.9.
"""

import os
import statistics
import sys
import time

ROUNDS = 200
MOST = 0.6


def once(path, out):
    begin = time.perf_counter()
    child = os.posix_spawn(path, [path, "version"], {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
                           file_actions=[(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)])
    _, status = os.waitpid(child, 0)
    taken = time.perf_counter() - begin
    if status != 0:
        sys.exit(f"start.py: {path} version ended with {os.waitstatus_to_exitcode(status)}")
    return 1000 * taken


def main():
    if len(sys.argv) != 3:
        sys.exit("start.py SHARED SLIM")
    times = {path: [] for path in sys.argv[1:]}
    with open(os.devnull, "w", encoding="utf-8") as out:
        for _ in range(10):  # from the disk to the cache
            for path in times:
                once(path, out.fileno())
        for _ in range(ROUNDS):
            for path, taken in times.items():
                taken.append(once(path, out.fileno()))
    shared, slim = (statistics.median(taken) for taken in times.values())
    ratio = slim / shared
    print(f"podctl version, median of {ROUNDS}: with Debian's libraries {shared:.2f} ms, with its own {slim:.2f} ms: "
          f"{ratio:.2f} of it (at most {MOST})")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
