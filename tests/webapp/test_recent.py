"""Answers of the last moments go when their time is over, and never take more room than they may."""

import threading
import time
from typing import NamedTuple

from webapp.recent import Recent


class Answer(NamedTuple):
    body: bytes


def test_what_is_held_goes_by_itself():
    held = Recent(0.05)
    held.put(held.hash(b"one"), Answer(b"1"))
    assert held.get(held.hash(b"one")) == Answer(b"1")
    for _ in range(100):
        if not held._held:
            break
        time.sleep(0.02)
    assert not held._held
    assert held._bytes == 0


def test_the_oldest_go_when_there_are_too_many():
    held = Recent(60, most_bytes=10)
    for name in (b"a", b"b", b"c"):
        held.put(held.hash(name), Answer(name * 4))
    assert held.get(held.hash(b"a")) is None
    assert held.get(held.hash(b"c")) == Answer(b"cccc")
    held.put(held.hash(b"d"), Answer(b"d" * 11))
    assert held.get(held.hash(b"d")) is None
    assert held._bytes == 8
    held.clear()
    assert held.get(held.hash(b"c")) is None


def test_names_tell_nothing_and_parts_do_not_run_together():
    one, other = Recent(60), Recent(60)
    assert one.hash(b"ab", b"c") != one.hash(b"a", b"bc")
    assert one.hash(b"a") != other.hash(b"a")
    assert one.hash(b"a") == one.hash(b"a")


def test_many_threads_leave_the_count_right():
    held = Recent(60, most_bytes=500)

    def work(seed):
        for i in range(300):
            held.put(held.hash(b"%d" % (i * seed % 37)), Answer(b"x" * (i % 40)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert held._bytes == sum(len(kept.answer.body) for kept in held._held.values()) <= 500
