"""Programs on workers, with a real Redis and real worker processes: what they return, and what happens when something dies."""

import json
import multiprocessing
import pickle
import random
import signal
import threading
import time
from importlib import metadata

import pytest
from kombu import Connection, Exchange, Producer

import sandbox
from sandbox import Limits, Program, cluster
from sandbox.cluster.app import QUEUES, TASK, Queue, make_app, started_key, waiting_key
from tests.redis_server import WAIT, await_that

pytestmark = [pytest.mark.redis, pytest.mark.torch, pytest.mark.slow]


def programs(count, source="print({n})", **options):
    return [Program(source.format(n=n), name=f"p{n}", group=f"g{n // 2}", **options) for n in range(count)]


def run(broker, asked, **options):
    """The outcomes that workers give; a run in which nobody works ends."""
    return cluster.run(asked, broker=broker.url, preload=(), patience=WAIT, **options)


def only_queue(broker):
    (queue,) = cluster.offers(broker.url)
    return queue


def test_outcomes_are_those_of_this_machine_in_the_same_order(broker, make_worker):
    make_worker("--concurrency", "2")
    asked = [
        *programs(5),
        Program("import sys\nprint('x', file=sys.stderr)\nraise ValueError('y')", name="fails"),
        Program("import time\ntime.sleep(60)", name="hangs", limits=Limits(seconds=0.5)),
    ]
    told = []
    here = sandbox.run(asked, backend="process", isolation="group", preload=())
    there = run(broker, asked, on_outcome=lambda index, outcome: told.append((index, outcome)))
    assert [(o.name, o.ended, o.exit_code, o.stdout, o.raised and o.raised.message) for o in there] == [
        (o.name, o.ended, o.exit_code, o.stdout, o.raised and o.raised.message) for o in here
    ]
    assert sorted(index for index, _ in told) == list(range(len(asked)))
    assert [outcome for _, outcome in sorted(told, key=lambda pair: pair[0])] == there
    assert broker.client.keys("kb:wanted:*") == []


def test_programs_that_may_take_too_long_together_are_sent_in_parts(broker, make_worker):
    make_worker()
    outcomes = run(broker, programs(5, limits=Limits(seconds=700)), isolation="all")
    assert [outcome.stdout for outcome in outcomes] == [f"{n}\n" for n in range(5)]
    with pytest.raises(cluster.ClusterError, match="p0 may take 1820 s"):
        run(broker, programs(2, limits=Limits(seconds=1700)))


def test_without_a_worker_the_user_is_told_what_to_start(broker):
    with pytest.raises(cluster.ClusterError, match="no worker for cpu"):
        cluster.run(programs(1), broker=broker.url)


def test_without_a_broker_it_is_said(broker):
    broker.stop()
    with pytest.raises(cluster.ClusterError, match="cannot be reached"):
        cluster.run(programs(1), broker=broker.url, torch="2.13.0")


def test_a_machine_without_a_gpu_never_gets_a_cuda_batch(broker, make_worker):
    make_worker()
    with pytest.raises(cluster.ClusterError, match="no worker for cuda"):
        cluster.run(programs(1, device="cuda"), broker=broker.url, device="cuda")


def test_setting_cancel_takes_back_what_is_queued_and_ends_what_runs(broker, make_worker):
    make_worker()
    cancel = threading.Event()
    threading.Timer(4, cancel.set).start()
    outcomes = run(broker, programs(6, "import time\ntime.sleep(15)"), cancel=cancel)
    assert {outcome.ended for outcome in outcomes} == {"cancelled"}
    (after,) = run(broker, programs(1))
    assert after.stdout == "0\n"


def test_a_batch_that_kills_its_process_twice_is_refused(broker, make_worker):
    make_worker("--concurrency", "2")
    killer = (
        "import os, signal\nparent = os.getppid()\nwhile 'kb\\0worker' not in open(f'/proc/{parent}/cmdline').read():\n"
        "    parent = int(open(f'/proc/{parent}/stat').read().rpartition(')')[2].split()[1])\nos.kill(parent, signal.SIGKILL)\nimport time\ntime.sleep(9)"
    )
    outcomes = run(broker, [Program(killer, name="killer", group="k"), *programs(3)])
    assert outcomes[0].ended == "refused"
    assert "WorkerLostError" in outcomes[0].detail
    assert [outcome.stdout for outcome in outcomes[1:]] == ["0\n", "1\n", "2\n"]


def test_a_broker_that_loses_its_memory_gets_everything_again(broker, make_worker):
    make_worker()

    def restart():
        broker.stop()
        time.sleep(1)
        broker.start()

    timer = threading.Timer(3, restart)
    timer.start()
    outcomes = run(broker, programs(8, "import time\ntime.sleep(1)\nprint({n})"))
    timer.join(WAIT)
    assert not timer.is_alive()
    assert [outcome.stdout for outcome in outcomes] == [f"{n}\n" for n in range(8)]


def test_a_batch_that_a_worker_took_and_never_began_is_sent_again(broker, make_worker):
    """A worker that is killed right after it took a message leaves no trace of it: here the test takes it."""
    version = metadata.version("torch").partition("+")[0]
    waiting = waiting_key(Queue(version, "cpu").name, 6)
    outcomes = []
    runner = threading.Thread(target=lambda: outcomes.extend(run(broker, programs(4), torch=version)), daemon=True)
    runner.start()
    await_that(lambda: broker.client.rpop(waiting), runner.is_alive, "a batch is queued")
    make_worker()
    runner.join(WAIT)
    assert [outcome.stdout for outcome in outcomes] == [f"{n}\n" for n in range(4)]


def test_a_run_for_which_nobody_works_ends(broker):
    outcomes = cluster.run(programs(2), broker=broker.url, torch="0.0", preload=(), patience=1)
    assert [outcome.ended for outcome in outcomes] == ["refused", "refused"]
    assert "no worker gave a sign of life for 1 s" in outcomes[0].detail
    assert [key for key in broker.client.keys("kb:*") if key != QUEUES.encode()] == [], "nothing stays behind"


def test_a_message_that_is_pickled_is_not_opened(broker, make_worker, tmp_path):
    class Opened:
        def __reduce__(self):
            return open, (str(tmp_path / "opened"), "w")

    worker = make_worker()
    with Connection(broker.url) as connection:
        producer = Producer(connection.channel(), serializer="pickle")
        task = {"task": TASK, "id": "0" * 32}
        producer.publish([[Opened()], {}, {}], routing_key=only_queue(broker).name, headers=task)
        producer.publish({"method": "ping", "arguments": Opened()}, exchange=Exchange("celery.pidbox", "fanout"))
        producer.publish({"type": Opened()}, exchange=Exchange("celeryev", "topic"), routing_key="worker.heartbeat")
    outcomes = run(broker, programs(2))
    assert [outcome.ended for outcome in outcomes] == ["exit", "exit"]
    assert not (tmp_path / "opened").exists()
    assert worker.process.poll() is None


@pytest.mark.parametrize("answer", [pickle.dumps({"status": "SUCCESS"}), b'{"status": "SUCCESS", "result": 5}', b"5"])
def test_an_answer_of_another_form_is_refused_and_the_others_are_taken(broker, make_worker, answer):
    def forge():
        await_that(
            lambda: chosen.extend(waiting()) or chosen, lambda: True, "a batch is queued that no worker has begun"
        )
        broker.client.set(f"celery-task-meta-{chosen[0]}", answer)

    def waiting():
        batches = [key.decode().rpartition(":")[2] for key in broker.client.keys("kb:wanted:*")]
        return [batch for batch in batches if not broker.client.exists(started_key(batch))]

    chosen = []
    make_worker()
    forger = threading.Thread(target=forge)
    forger.start()
    outcomes = run(broker, programs(6, "import time\ntime.sleep(1)\nprint({n})"))
    forger.join(WAIT)
    refused = [outcome for outcome in outcomes if outcome.ended == "refused"]
    assert len(refused) == 2, "the two of one batch"
    assert all(outcome.detail.startswith("a worker answered in another form") for outcome in refused)
    assert sum(outcome.ended == "exit" for outcome in outcomes) == 4


def test_a_batch_of_another_form_runs_nothing(broker, make_worker):
    make_worker()
    with make_app(broker.url) as app, app.connection_for_write() as connection:
        message = [{"programs": "import os"}]
        result = app.send_task(TASK, message, queue=only_queue(broker).name, connection=connection)
        with pytest.raises(Exception, match="agreed form"):
            result.get(timeout=60)


def test_workers_that_are_killed_paused_and_restarted_change_no_result(broker, make_worker):
    """At least fifty blows while the programs run; every outcome comes once and is that of a quiet run."""
    workers = [make_worker() for _ in range(3)]
    asked = programs(60, "import time\ntime.sleep(0.3)\nprint({n})")
    done, told = threading.Event(), []
    blows = 0

    def strike():
        nonlocal blows
        chooser = random.Random(7)
        while not done.wait(chooser.uniform(0.2, 1.0)):
            worker = chooser.choice(workers[1:])  # one is left alone, so that the run comes to an end
            blow = chooser.choice(["kill", "pause", "end"])
            if blow == "pause":
                worker.signal(signal.SIGSTOP)
                done.wait(chooser.uniform(0, 1))
                worker.signal(signal.SIGCONT)
            else:
                worker.signal(signal.SIGKILL if blow == "kill" else signal.SIGTERM)
                done.wait(0.5)  # so that one that was told to end meanwhile has a moment to
                worker.stop()
                worker.start()
            blows += 1

    striker = threading.Thread(target=strike)
    striker.start()
    try:
        while blows < 50:
            told.clear()
            outcomes = run(broker, asked, on_outcome=lambda index, _: told.append(index))
            assert [outcome.stdout for outcome in outcomes] == [f"{n}\n" for n in range(60)], json.dumps(
                [outcome.detail for outcome in outcomes if outcome.ended != "exit"]
            )
            assert sorted(told) == list(range(60))
    finally:
        done.set()
        striker.join(WAIT)


def test_a_process_that_is_forked_after_a_run_does_not_wait_for_the_broker(broker, make_worker):
    """Kombu closes what is open in every process that multiprocessing forks, and waits there for answers that the parent gets."""
    make_worker()
    run(broker, programs(1))
    child = multiprocessing.get_context("fork").Process(target=time.time)
    child.start()
    child.join(WAIT)
    child.kill()
    assert child.exitcode == 0
