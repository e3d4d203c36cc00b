#!/usr/bin/env python3
"""podctl's state in a real etcd of three members, while some of them are gone.

By hand, for it needs etcd (tried with Debian's 3.4.23, and with 3.5.24 and 3.6.5 built from the Go
module go.etcd.io/etcd/server/v3, whose package etcdmain has Main):

    tests/gitops/etcd_members.py --podctl build/release/podctl [--etcd ETCD]

Everything lives in a folder of its own that goes at the end; all ports are free ones of loopback.
Says what was tried, line by line, and ends with 1 at the first thing that is not as it should be.
Takes about ten minutes, for outages have to last longer than podctl's patience.
"""
import argparse
import json
import os
import re
import shutil
import signal
import time
import urllib.request

from real_world import RealWorld, check, free_port, names, note, play, said, wait_until

PODS = names(30)


class Member:
    def __init__(self, number):
        self.name, self.process = f"m{number}", None
        self.client, self.peer = free_port(), free_port()

    def asked(self, path, body, seconds=2):
        ask = urllib.request.Request(f"http://127.0.0.1:{self.client}{path}", method="POST",
                                     data=json.dumps(body).encode())
        with urllib.request.urlopen(ask, timeout=seconds) as answer:
            return json.load(answer)

    def status(self):
        """None: it does not answer."""
        try:
            return self.asked("/v3/maintenance/status", {})
        except OSError:
            return None


class World(RealWorld):
    def __init__(self, options, folder):
        super().__init__(options.podctl, folder)
        self.etcd = options.etcd
        self.members = [Member(number) for number in range(3)]
        for member in self.members:
            self.start_member(member)
        self.wait_for_all()
        note(f"etcd {self.members[0].status()['version']}")

    def start_member(self, member):
        peers = ",".join(f"{one.name}=http://127.0.0.1:{one.peer}" for one in self.members)
        member.process = self.start(
            [self.etcd, "--name", member.name, "--data-dir", str(self.folder / member.name),
             "--listen-client-urls", f"http://127.0.0.1:{member.client}",
             "--advertise-client-urls", f"http://127.0.0.1:{member.client}",
             "--listen-peer-urls", f"http://127.0.0.1:{member.peer}",
             "--initial-advertise-peer-urls", f"http://127.0.0.1:{member.peer}",
             "--initial-cluster", peers], member.name + ".log")

    def wait_for_all(self):
        def all_answer():
            told = [member.status() for member in self.members]
            return all(one and one.get("leader", "0") != "0" for one in told)
        wait_until("all members answer, and have a leader", all_answer)

    def leader(self):
        for member in self.members:
            told = member.status()
            if told and told["leader"] == told["header"]["member_id"]:
                return member
        check("there is a leader", False)

    def followers(self):
        leader = self.leader()
        return [member for member in self.members if member is not leader]

    def kill(self, member):
        member.process.kill()
        member.process.wait()

    def place(self, prefix, first=None):
        """A state there; the member `first` is the first that podctl asks."""
        order = sorted(self.members, key=lambda member: member is not first)
        return "etcd://" + ",".join(f"127.0.0.1:{one.client}" for one in order) + "/" + prefix

    def in_the_middle(self, prefix, first=None, delay=3, early=False, **more):
        """An apply of the pods, of which some were created, or (early) are only being created."""
        folder = self.spec(prefix, self.place(prefix, first), PODS)
        self.slow_creates(delay)
        run = self.begin(folder, "apply", "--auto-approve", **more)
        if early:
            self.wait_for_first_creates(run)
        else:
            self.wait_for_creates(12)
        return folder, run

    def aside(self, folder):
        return sorted(path.name for path in folder.glob("podctl.errored-*"))


def one_life(world):
    folder = world.spec("life", world.place("life"), PODS)
    run = world.podctl(folder, "state", "init")
    check("state init reads the prefix", run.returncode == 0, said(run))
    run = world.podctl(folder, "apply", "--auto-approve")
    check("an apply of thirty pods", run.returncode == 0 and "30 added" in run.stdout, said(run))
    world.whole(folder, PODS, "with all members there")
    for member in world.members:
        (folder / "podctl.yaml").write_text((folder / "podctl.yaml").read_text().replace(
            world.place("life"), world.place("life", member)))
        run = world.podctl(folder, "plan")
        check(f"the plan is the same where {member.name} is the first to be asked",
              "No changes" in run.stdout, said(run))
    world.spec("life", world.place("life"), PODS)
    world.begin_anew(folder)


def the_leader_is_killed(world):
    leader = world.leader()
    folder, run = world.in_the_middle("leader", first=leader)
    world.kill(leader)
    check(f"the apply ends well without {leader.name}, the leader that it had asked first",
          run.end() == 0 and "30 added" in run.text(), run.said())
    world.slow_creates(0)
    world.whole(folder, PODS, "with two members left")
    world.start_member(leader)
    world.wait_for_all()
    world.whole(folder, PODS, "with the old leader back, and asked first")
    check("nothing was written aside", not world.aside(folder), str(world.aside(folder)))
    world.begin_anew(folder)


def stopped_in_the_middle(world, what, prefix, pick):
    member = pick()
    folder, run = world.in_the_middle(prefix, first=member)
    member.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    code = run.end()
    check(f"the apply ends well while {member.name}, {what}, stands still "
          f"({time.monotonic() - began:.0f} s)", code == 0 and "30 added" in run.text(),
          run.said())
    began = time.monotonic()
    world.whole(folder, PODS, "while it stands still")
    note(f"that took {time.monotonic() - began:.0f} s")
    member.process.send_signal(signal.SIGCONT)
    world.wait_for_all()
    world.whole(folder, PODS, "when it goes on")
    check("nothing was written aside", not world.aside(folder), str(world.aside(folder)))
    world.begin_anew(folder)


def a_follower_is_stopped(world):
    stopped_in_the_middle(world, "a follower that it had asked first", "follower",
                          lambda: world.followers()[0])


def the_leader_is_stopped(world):
    stopped_in_the_middle(world, "the leader that it had asked first", "stopped", world.leader)


def no_quorum_for_a_moment(world):
    folder, run = world.in_the_middle("moment")
    gone = world.members[:2]
    for member in gone:
        world.kill(member)
    time.sleep(15)
    for member in gone:
        world.start_member(member)
    check("an apply that was without a quorum for 15 s goes on, and ends well",
          run.end() == 0 and "30 added" in run.text(), run.said())
    world.slow_creates(0)
    world.wait_for_all()
    world.whole(folder, PODS, "after it")
    check("nothing was written aside", not world.aside(folder), str(world.aside(folder)))
    world.begin_anew(folder)


def no_quorum(world):
    # Those under way are answered when the lock has not been renewed for 30 s and more.
    folder, run = world.in_the_middle("none", delay=40, early=True)
    gone = [world.leader(), world.followers()[0]]
    before = len(world.nodes())
    for member in gone:
        world.kill(member)
    began = time.monotonic()
    code = run.end()
    check(f"an apply whose quorum is gone ends with 1 ({time.monotonic() - began:.0f} s later)",
          code == 1, run.said())
    print("".join("      | " + line for line in run.lines[-12:]), flush=True)
    aside = world.aside(folder)
    check("what it knows is written aside, and its last words name the file",
          len(aside) == 1 and aside[0] in run.text(), run.said() + str(aside))
    made = sorted(world.nodes())
    run = world.podctl(folder, "state", "list", "--state", str(folder / aside[0]))
    known = sorted(line.removeprefix("pod.") for line in run.stdout.split()
                   if line.startswith("pod."))
    check(f"it knows each of the {len(made)} nodes that were made", set(made) <= set(known),
          f"{made}\n{known}")
    note(f"{len(made) - before} of them were begun after that")
    began = time.monotonic()
    run = world.podctl(folder, "plan")
    check(f"a plan meanwhile is an error ({time.monotonic() - began:.0f} s)",
          run.returncode == 1 and "No changes" not in run.stdout, said(run))
    note("which says: " + run.stderr.strip().replace("\n", " / "))
    world.slow_creates(0)
    for member in gone:
        world.start_member(member)
    world.wait_for_all()
    run = world.podctl(folder, "apply", "--auto-approve", "--lock-timeout", "90s")
    check("with all members back the next apply saves that first, and goes on",
          run.returncode == 0 and not world.aside(folder), said(run))
    world.whole(folder, PODS, "after it")
    world.begin_anew(folder)


def killed_without_a_quorum(world):
    folder, run = world.in_the_middle("both")
    gone = [world.leader(), world.followers()[0]]
    for member in gone:
        world.kill(member)
    wait_until("what it knows is written aside", lambda: world.aside(folder), 150)
    run.kill()
    note(f"killed with {world.aside(folder)} beside the spec, and {len(world.nodes())} nodes made")
    world.slow_creates(0)
    for member in gone:
        world.start_member(member)
    world.wait_for_all()
    run = world.podctl(folder, "apply", "--auto-approve", "--lock-timeout", "90s")
    check("a run that was killed in the outage: the next one goes on",
          run.returncode == 0 and not world.aside(folder), said(run))
    world.whole(folder, PODS, "after it")
    world.begin_anew(folder)


def two_at_once(world):
    folder, first = world.in_the_middle("two")
    run = world.podctl(folder, "apply", "--auto-approve")
    check("the second of two applies ends with 3 and is told whose run it is",
          run.returncode == 3 and "another run holds it" in run.stderr
          and re.search(rf"Process: +{first.process.pid}\b", run.stderr) is not None, said(run))
    leader = world.leader()
    second = world.begin(folder, "apply", "--auto-approve", "--lock-timeout", "120s", host="other")
    world.kill(leader)
    check("one that waits goes on when the first has ended, also with the leader killed",
          first.end() == 0 and second.end() == 0, first.said() + second.said())
    world.start_member(leader)
    world.wait_for_all()
    world.slow_creates(0)
    world.whole(folder, PODS, "after both")
    world.begin_anew(folder)


def begun_at_the_same_moment(world):
    folder = world.spec("same", world.place("same"), names(5))
    runs = [world.begin(folder, "apply", "--auto-approve", host=f"host-{number}")
            for number in range(6)]
    codes = sorted(run.end() for run in runs)
    check("of six begun at once one works, and five end with 3", codes == [0, 3, 3, 3, 3, 3],
          "\n".join(run.said() for run in runs))
    world.whole(folder, names(5), "after them")
    world.begin_anew(folder)


def killed_elsewhere(world):
    folder, run = world.in_the_middle("elsewhere", host="runner-1")
    run.kill()
    world.slow_creates(0)
    world.kill(world.leader())
    began = time.monotonic()
    run = world.podctl(folder, "apply", "--auto-approve", "--lock-timeout", "90s")
    took = time.monotonic() - began
    check(f"a run killed elsewhere is taken over ({took:.0f} s later), with the leader killed too",
          run.returncode == 0 and "gave no sign of life for 60 s" in run.stderr and took > 55,
          said(run))
    world.whole(folder, PODS, "after it")
    world.begin_anew(folder)
    for member in world.members:
        if member.process.poll() is not None:
            world.start_member(member)
    world.wait_for_all()


def slept_while_another_went_on(world):
    folder, slept = world.in_the_middle("slept", early=True, delay=6, host="sleeper")
    slept.send(signal.SIGSTOP)
    other = world.begin(folder, "apply", "--auto-approve", "--lock-timeout", "90s", host="other")
    wait_until("the other one takes over", lambda: "took over" in other.text(), 120)
    world.wait_for_first_creates(other)
    slept.send(signal.SIGCONT)
    check("who slept is refused its save, and ends with 3", slept.end() == 3, slept.said())
    check("and the other one ends well", other.end() == 0, other.said())
    world.slow_creates(0)
    world.whole(folder, PODS, "after both")
    world.begin_anew(folder)


PARTS = (one_life, the_leader_is_killed, a_follower_is_stopped, the_leader_is_stopped,
         no_quorum_for_a_moment, no_quorum, killed_without_a_quorum, two_at_once,
         begun_at_the_same_moment, killed_elsewhere, slept_while_another_went_on)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--podctl", required=True, type=os.path.abspath)
    parser.add_argument("--etcd", default=shutil.which("etcd"), type=os.path.abspath)
    parser.add_argument("--only", action="append", help="one part, by its name; repeatable")
    options = parser.parse_args()
    parts = [part for part in PARTS if not options.only or part.__name__ in options.only]
    play(parts, lambda folder: World(options, folder), "podctl-etcd-")


if __name__ == "__main__":
    main()
