"""A gang of 256, with all the times that podctl gives it: how long until all have heard of one that
ended with 3, have begun again together, and have heard of one that was stopped.

    gang_scale_test.py GANG_MATERIAL

With PODCTL_TEST_ALL=1 alone. The figures are for people: only order and completeness are judged,
and that it comes to an end at all. They are those of one machine that is all 256: what each worker
looks through when it ends its processes is the process table of all of them.
"""

import os
import signal
import sys
import time
import traceback

import gang_members
from gang_members import Failure, Gang, await_that, expect

MEMBERS = 256
WAVE = 32  # so many begin at once: each would have cores of its own
BYTES = 20 << 20  # of each process, of which a member has two
LONG = 1200.0  # seconds after which nothing more is waited for
SILENCE = 30
FAILS, STOPS = 100, 200

COMMAND = r"""
echo "$PODCTL_ATTEMPT" >"$HOME/up"
if [ "$MEMBER.$PODCTL_ATTEMPT" = %d.1 ]; then
  until [ -e "$FOLDER/fail" ]; do kill -0 "$TEST" 2>/dev/null || exit 0; sleep 0.1; done
  : >"$FOLDER/failed"
  exit 3
fi
exec sleep 3600
""" % FAILS


def skip(why):
    print("[ RUN      ] workers.AGangOf256\ngang_scale_test.py: Skipped\n" + why)


def available_memory():
    for line in gang_members.slurp("/proc/meminfo").decode().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0


def moments(gang, holds, since, but=()):
    """For each member after how many seconds it held, in their order."""
    found = {}
    members = [member for member in gang.members if member.place not in but]

    def all_hold():
        for member in members:
            if member.place not in found and holds(member):
                found[member.place] = time.time() - since
        return len(found) == len(members)

    await_that(all_hold, "the last of %d members" % len(members), LONG)
    return sorted(found.values())


def told(what, seconds):
    middle = seconds[len(seconds) // 2]
    text = "%s: the first after %.1f s, half of them after %.1f s, all %d after %.1f s"
    print(text % (what, seconds[0], middle, len(seconds), seconds[-1]), flush=True)


def begin(gang):
    begun = time.time()
    for at in range(0, MEMBERS, WAVE):
        wave = gang.members[at : at + WAVE]
        for member in wave:
            member.start()
        for member in wave:
            await_that(lambda: member.attempt() == 1, "member %d" % member.place, LONG)
    print("%d members were begun within %.0f s" % (MEMBERS, time.time() - begun), flush=True)

    def guarded():
        lines = gang_members.processes_of(gang.folder, False).values()
        return sum("gang.py" in line for line in lines) == 2 * MEMBERS

    await_that(guarded, "guards", LONG)


def expect_first(gang, expected, but=()):
    for member in gang.members:
        if member.place not in but:
            expect(member.first() == expected, "%d tells %r" % (member.place, member.first()))


def one_fails(gang):
    failed = gang.members[FAILS]
    gang.touch("fail")
    await_that(lambda: os.path.exists(os.path.join(gang.folder, "failed")), "the failure", LONG)
    since = os.stat(os.path.join(gang.folder, "failed")).st_mtime
    told("told of an exit", moments(gang, lambda member: member.first() is not None, since))
    told("began again together", moments(gang, lambda member: member.attempt() == 2, since))
    expect_first(gang, (1, failed.number, "failure", "ended with exit code 3"))


def one_is_stopped(gang):
    silent = gang.members[STOPS]
    stopped = silent.send("leader", signal.SIGSTOP)
    since = time.time()

    def tells(member):
        first = member.first()
        return first is not None and first[0] == 2

    told("told of a silence of %d s" % SILENCE, moments(gang, tells, since, (STOPS,)))
    expected = (2, silent.number, "connection", "was silent for %ds" % SILENCE)
    expect_first(gang, expected, (STOPS,))
    ends = moments(gang, lambda member: member.exit_code() is not None, since, (STOPS,))
    told("ended for it", ends)
    os.kill(stopped, signal.SIGCONT)
    moments(gang, lambda member: member.exit_code() is not None, since)
    gang.expect_nothing_left()
    print("nothing is left after %.0f s" % (time.time() - since), flush=True)


def run(program):
    gang = Gang(
        gang_members.load_material(program),
        gang_members.Bucket(),
        MEMBERS,
        "127.2.0",
        command=COMMAND,
        silence=SILENCE,
        assembly=LONG,
        grace=5,
        restart={"attempts": 1, "on": ["failure"], "backoff": [0, 1]},
    )
    try:
        begin(gang)
        one_fails(gang)
        one_is_stopped(gang)
        return 0
    except Exception as error:
        print("FAILED: " + (str(error) if isinstance(error, Failure) else traceback.format_exc()))
        return 1
    finally:
        gang.remove()


def main(program):
    if not os.environ.get("PODCTL_TEST_ALL"):
        return skip("it is 512 processes, and minutes: only with ./dev test --all")
    need, there = 2 * MEMBERS * BYTES, available_memory()
    if there < need:
        what = "it needs %.0f GiB of memory, and %.1f are free"
        return skip(what % (need / (1 << 30), there / (1 << 30)))
    gang_members.PATIENCE = LONG
    sys.exit(run(program))


if __name__ == "__main__":
    main(*sys.argv[1:])
