"""A gang of four, and in turn each of its processes killed and stopped, each of its connections
cut, each of its disks full:

    gang_proof_test.py GANG_MATERIAL [CASE ...]

Where one hub or one link less must not change anything, it goes on and ends well. Else all members
end, each that can tells who failed first and why, and of the job nothing is left: no process, no
port. Without cases: some of them, or with PODCTL_TEST_ALL=1 all.

Figures are printed and not judged, since a slow machine is no failure: what counts is that
something comes to be known at all, where it could not be in any other way (before a silence of ten
minutes), and what it is that is known.
"""

import concurrent.futures
import functools
import os
import signal
import sys
import time
import traceback

import gang_members
from gang_members import Failure, Gang, await_that, expect

MEMBERS = 4
SILENCE = 4  # seconds, of those cases that are about a silence
ASSEMBLY = 90  # seconds, of these, for the first word of each: they start beside many others
NEVER = 600  # seconds of silence: whatever is told earlier was told by somebody
HANG = 15  # seconds; more than they differ by in their starts

# What a machine that is lost is waited for, and how long one that is through speaks on.
CONSTANTS = {
    "gang.py": {"KILL_TIME": 1.0, "LINGER": 1.0},
    "ship.py": {"HANDOVER": 1.0},
}

PROCESSES = ("leader", "guard", "command", "shipper")
PAIRS = ((0, 1), (2, 0), (2, 1), (3, 0), (3, 1))  # of a member and a hub
MODES = ("refuse", "drop", "reset", "cut")


def links_between(pair):
    """Between two hubs each calls the other."""
    member, hub = pair
    return {(member, hub), (hub, member)} if member < 2 else {pair}


ALL_LINKS = {(member, hub) for member in range(MEMBERS) for hub in range(2) if member != hub}


class Stage:
    """Makes the gang of one case, on addresses of its own."""

    def __init__(self, material, bucket, wires, number):
        self.material, self.bucket, self.wires, self.number = material, bucket, wires, number
        self.gang = None

    def make(self, silence, wired=False, **config):
        self.gang = Gang(
            self.material,
            self.bucket,
            MEMBERS,
            "127.1.%d" % self.number,
            wires=self.wires if wired else None,
            constants=CONSTANTS,
            silence=silence,
            assembly=max(silence, ASSEMBLY),
            beat=silence / 10.0 if silence < NEVER else 1,
            grace=1,
            **config,
        )
        return self.gang


def figures(told, ended):
    return "told by all after %.1f s, all ended after %.1f s" % (told, ended)


def expect_asked(gang, but=()):
    """They were sent TERM before KILL."""
    for member in gang.members:
        if member.place not in but:
            expect("asked\n" in member.log(), "member %d was not asked to end" % member.place)


# ---- Processes.


def killed(stage, which, place):
    gang = stage.make(NEVER, logs=which == "shipper")
    gang.start()
    gang.await_attempt(1)
    member = gang.members[place]
    if which == "shipper":
        await_that(lambda: member.pid_of("shipper"), "what brings its log")
    pid = member.send(which, signal.SIGKILL)
    struck = time.monotonic()
    if which in ("guard", "shipper"):
        await_that(lambda: member.pid_of(which) not in (None, pid), "another " + which)
        gang.expect_nobody_is_told()
        gang.end_well()
        if which == "shipper":
            gang.expect_kept(member)
        return "nothing is told"
    cause = {
        "leader": "lost its supervisor, which was killed",
        "command": "was killed by signal 9 (exit code 137)",
    }
    expected = (member.number, "killed", cause[which])
    took = gang.expect_told({each: expected for each in range(MEMBERS)}, struck)
    expect_asked(gang, (place,) if which == "command" else ())
    gang.expect_nothing_left()
    return figures(*took)


def stopped(stage, which, place):
    if which == "command":
        return stopped_command(stage, place)
    gang = stage.make(SILENCE, logs=which == "shipper")
    gang.start()
    gang.await_attempt(1)
    member = gang.members[place]
    if which == "shipper":
        await_that(lambda: member.pid_of("shipper"), "what brings its log")
    pid = member.send(which, signal.SIGSTOP)
    struck = time.monotonic()
    if which in ("guard", "shipper"):
        time.sleep(2 * SILENCE)
        gang.expect_nobody_is_told()
        gang.touch("done")
        for each in gang.members:
            await_that(lambda: each.exit_code() is not None, "the end of %d" % each.place)
        if which == "shipper":
            os.kill(pid, signal.SIGCONT)  # nobody waits for it, and nobody ends it
        gang.end_well()
        if which == "shipper":
            gang.expect_kept(member)
        return "nothing is told"
    silent = (member.number, "connection", "was silent for ")
    others = {each: silent for each in range(MEMBERS) if each != place}
    took = gang.expect_told(others, struck)
    # Nobody was there who could have ended anything; it comes to itself, and does.
    os.kill(pid, signal.SIGCONT)
    gang.expect_told({place: (..., "connection", "")}, time.monotonic())
    expect_asked(gang)
    gang.expect_nothing_left()
    return figures(*took)


def stopped_command(stage, place):
    """In a step that needs all of them, it is all that stand still."""
    gang = stage.make(NEVER, command=gang_members.TOGETHER, hang=HANG)
    gang.start()
    gang.await_attempt(1)
    for member in gang.members:
        await_that(lambda: "step 3\n" in member.log(), "steps of %d" % member.place)
    gang.members[place].send("command", signal.SIGSTOP)
    struck = time.monotonic()
    cause = "no worker has written a line for %ds" % HANG
    expected = {each: (None, "hang", cause) for each in range(MEMBERS)}
    took = gang.expect_told(expected, struck)
    expect_asked(gang)
    gang.expect_nothing_left()
    return figures(*took)


# ---- Connections.


def less(stage, mode, links):
    """What must not change anything."""
    gang = stage.make(SILENCE, wired=True)
    if mode == "cut":
        gang.set_wires(links, mode)  # in their handshakes, too
    gang.start()
    gang.await_attempt(1)
    gang.set_wires(links, mode)
    time.sleep(2.5 * SILENCE)
    gang.expect_nobody_is_told()
    gang.end_well()
    return "nothing is told"


def alone(stage, mode, place):
    """A member that neither hears the others nor is heard."""
    gang = stage.make(SILENCE, wired=True)
    gang.start()
    gang.await_attempt(1)
    gang.set_wires([link for link in ALL_LINKS if place in link], mode)
    struck = time.monotonic()
    member = gang.members[place]
    expected = {each: (member.number, "connection", "was silent for ") for each in range(MEMBERS)}
    # Of the others it knows as much as they of it.
    of_itself = (..., "connection", "was silent for ")
    if place not in gang.hubs:
        of_itself = (member.number, "connection", "heard nothing from worker 4 and worker 5 for ")
    expected[place] = of_itself
    took = gang.expect_told(expected, struck)
    expect_asked(gang)
    gang.expect_nothing_left()
    return figures(*took)


def split(stage, mode):
    """Two halves, each with a hub."""
    gang = stage.make(SILENCE, wired=True)
    gang.start()
    gang.await_attempt(1)
    gang.set_wires([(0, 1), (1, 0), (2, 1), (3, 0)], mode)
    struck = time.monotonic()
    expected = {each: (..., "connection", "was silent for ") for each in range(MEMBERS)}
    took = gang.expect_told(expected, struck)
    expect_asked(gang)
    gang.expect_nothing_left()
    return figures(*took)


# ---- Disks.


def with_full_disk(stage, place, **config):
    gang = stage.make(NEVER, **config)
    gang.members[place].take_small_disk()
    gang.start()
    gang.await_attempt(1)
    gang.members[place].fill_disk()
    how = {"tmpfs": "a tmpfs", "rlimit": "a limit of the size of files (RLIMIT_FSIZE)"}
    return gang, "by " + how[gang.members[place].disk]


def full(stage, place):
    """Another one fails; all begin again, and end."""
    restart = {"attempts": 1, "on": ["failure"], "backoff": [0, 1]}
    gang, how = with_full_disk(stage, place, restart=restart)
    other = gang.members[(place + 1) % MEMBERS]
    gang.touch("fail.%d.1" % other.place)
    gang.await_attempt(2)
    gang.end_well(2)
    for member in gang.members:
        expected = (1, other.number, "failure", "ended with exit code 3")
        expect(member.first() == expected, "%d tells %r" % (member.place, member.first()))
    return "attempt 2 ended well, " + how


def full_and_killed(stage, place):
    """Who takes over where nothing can be written."""
    gang, how = with_full_disk(stage, place)
    member = gang.members[place]
    member.send("leader", signal.SIGKILL)
    struck = time.monotonic()
    expected = (member.number, "killed", "lost its supervisor, which was killed")
    took = gang.expect_told({each: expected for each in range(MEMBERS)}, struck)
    gang.expect_nothing_left()
    return figures(*took) + ", " + how


# ---- The end, and who was first.


def guards_killed_at_the_end(stage):
    """Within the second in which there is none."""
    gang = stage.make(NEVER)
    gang.start()
    gang.await_attempt(1)
    guards = [member.pid_of("guard") for member in gang.members]
    gang.touch("done")
    for guard in guards:
        os.kill(guard, signal.SIGKILL)
    gang.end_well()
    for member in gang.members:
        words = gang_members.slurp(os.path.join(member.home, "stderr"))
        expect(b"dismiss_guard" not in words, "member %d did not say goodbye" % member.place)
    return "all ended well"


def silent_when_hubs_are_through(stage):
    """Who is left runs on, and one of them is silent: somebody has to notice."""
    gang = stage.make(SILENCE)
    gang.start()
    gang.await_attempt(1)
    for hub in gang.hubs:
        gang.touch("done.%d" % hub)
        await_that(lambda: gang.members[hub].pid_of("command") is None, "the end of %d" % hub)
    silent = gang.members[3]
    pid = silent.send("leader", signal.SIGSTOP)
    struck = time.monotonic()
    expected = {each: (silent.number, "connection", "was silent for ") for each in (0, 1, 2)}
    took = gang.expect_told(expected, struck, gang.hubs)
    os.kill(pid, signal.SIGCONT)
    await_that(lambda: silent.exit_code() is not None, "the end of who was silent")
    gang.expect_nothing_left()
    return figures(*took)


def cut_when_through(stage):
    """The others end, and cannot tell it any more."""
    gang = stage.make(SILENCE, wired=True)
    gang.start()
    gang.await_attempt(1)
    lost = gang.members[3]
    gang.touch("done.3")
    await_that(lambda: lost.pid_of("command") is None, "the end of its command")
    time.sleep(SILENCE)  # the others know that
    gang.set_wires([(3, 0), (3, 1)], "drop")
    gang.touch("done")
    for member in gang.members[:3]:
        await_that(lambda: member.exit_code() is not None, "the end of %d" % member.place)
        expect(member.exit_code() == 0, "member %d ended badly" % member.place)
    struck = time.monotonic()
    await_that(lambda: lost.exit_code() is not None, "the end of who cannot hear of theirs")
    gang.expect_nothing_left()
    return "it ended %.1f s after the others" % (time.monotonic() - struck)


def follower_begun_later(stage):
    """One fails, and another dies of it at once, before it could have been told. It had been begun
    some seconds later, and so lived for less long."""
    command = gang_members.PATIENT.replace("sleep 0.2", "sleep 0.02")
    gang = stage.make(NEVER, command=command)
    first, follower = gang.members[2], gang.members[3]
    gang.touch("after.3", "2\n")
    for member in gang.members[:3]:
        member.start()
    time.sleep(4)
    follower.start()
    gang.await_attempt(1)
    gang.touch("fail.2.1")
    struck = time.monotonic()
    expected = (first.number, "failure", "ended with exit code 3")
    took = gang.expect_told({each: expected for each in range(MEMBERS)}, struck)
    gang.expect_nothing_left()
    return figures(*took)


# ---- All of them.


def all_cases():
    cases = {}
    for place in range(MEMBERS):
        for which in PROCESSES:
            cases["killed-%s-%d" % (which, place)] = functools.partial(
                killed, which=which, place=place
            )
            cases["stopped-%s-%d" % (which, place)] = functools.partial(
                stopped, which=which, place=place
            )
        cases["full-%d" % place] = functools.partial(full, place=place)
        cases["full-and-killed-%d" % place] = functools.partial(full_and_killed, place=place)
        for mode in ("drop", "reset"):
            cases["alone-%d-%s" % (place, mode)] = functools.partial(alone, mode=mode, place=place)
    for pair in PAIRS:
        for mode in MODES:
            links = links_between(pair)
            cases["link-%d%d-%s" % (pair + (mode,))] = functools.partial(
                less, mode=mode, links=links
            )
    for hub in range(2):
        # Nobody can call it; it calls the other one.
        links = [link for link in ALL_LINKS if link[1] == hub]
        for mode in ("refuse", "drop"):
            cases["door-%d-%s" % (hub, mode)] = functools.partial(less, mode=mode, links=links)
    cases["split-drop"] = functools.partial(split, mode="drop")
    cases["guards-killed-at-the-end"] = guards_killed_at_the_end
    cases["silent-when-hubs-are-through"] = silent_when_hubs_are_through
    cases["cut-when-through"] = cut_when_through
    cases["follower-begun-later"] = follower_begun_later
    return cases


# One of each kind, and within half a minute all of them.
SHORT = (
    "killed-leader-0",
    "killed-command-3",
    "killed-guard-1",
    "killed-shipper-2",
    "stopped-leader-1",
    "link-20-drop",
    "link-31-cut",
    "alone-0-drop",
    "full-1",
)


def attempt(name, case, stage):
    """Why it failed; "": it did not."""
    begun = time.monotonic()
    try:
        found = case(stage)
        print("ok %s: %s (%.0f s)" % (name, found, time.monotonic() - begun), flush=True)
        return ""
    except Exception as error:  # what it was is told, and the others go on
        words = str(error) if isinstance(error, Failure) else traceback.format_exc()
        return "%s\n%s" % (words, stage.gang.account() if stage.gang else "")
    finally:
        if stage.gang:
            stage.gang.remove()


def main(program, *names):
    gang_members.enter_namespace()
    cases = all_cases()
    at_once = 5
    if not names:
        everything = os.environ.get("PODCTL_TEST_ALL")
        names = tuple(cases) if everything else SHORT
        at_once = 5 if everything else len(SHORT)
    material = gang_members.load_material(program)
    bucket, wires = gang_members.Bucket(), gang_members.Wires()
    failed = []
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        begun = {}
        for number, name in enumerate(names):
            stage = Stage(material, bucket, wires, number)
            begun[pool.submit(attempt, name, cases[name], stage)] = name
        for each in concurrent.futures.as_completed(begun):
            if each.result():
                failed.append(begun[each])
                print("FAILED %s: %s" % (begun[each], each.result()), flush=True)
    print("%d of %d cases failed" % (len(failed), len(names)))
    if failed:
        print("again: gang_proof_test.py GANG_MATERIAL " + " ".join(failed))
    sys.stdout.flush()
    os._exit(1 if failed else 0)  # wires go on in a thread of their own


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main(*sys.argv[1:])
