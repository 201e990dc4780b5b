"""kb worker: run batches of kb verify --broker on this machine."""

from __future__ import annotations

import argparse

import sandbox
from kb.cli.broker import VARIABLE, broker_address
from kb.cli.common import Failure, add_sandbox_options, add_torch_option, interpreter_options, make_parser
from kb.corpus.environments import known_environments
from kb.corpus.loader import entry_folders
from kb.verify.environments import installation
from sandbox.builds import is_built


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    command = make_parser(
        "worker",
        "Take batches of programs from a Redis and run them in this machine's sandbox, until Ctrl-C.",
        "Exit status: 0 ended by a signal, 1 the sandbox or the broker does not work, 2 usage. With --ping 0 where a worker of this machine is alive, else 1.",
    )
    command.add_argument(
        "--broker",
        default=VARIABLE,
        metavar="URL",
        help="redis://[:PASSWORD@]HOST[:PORT]/DB, or rediss:// for TLS (default: what the variable KB_BROKER holds)",
    )
    command.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="take batches for this device (default cpu)"
    )
    command.add_argument("--concurrency", type=int, default=1, metavar="N", help="batches side by side (default 1)")
    command.add_argument("--image", help="the container image")
    add_torch_option(command)
    command.add_argument(
        "--redeliver-after",
        type=int,
        default=0,
        metavar="SECONDS",
        help="when another worker gets the batch of a machine that has gone (default 1800; longer than any batch)",
    )
    command.add_argument(
        "--ping", action="store_true", help="only say by the exit status whether a worker of this machine is alive"
    )
    add_sandbox_options(command)
    return command


def run(arguments: argparse.Namespace) -> int:
    """Work until a signal ends it."""
    broker = broker_address(arguments.broker)
    try:
        from sandbox.cluster.app import REDELIVER_AFTER
        from sandbox.cluster.worker import WorkerSettings, is_alive, start_worker
    except ImportError as error:
        raise Failure(f"{error}; workers need more packages: pip install 'kb-torch[sandbox,cluster]'") from None
    if arguments.ping:
        return 0 if is_alive(broker) else 1
    backend, python = interpreter_options(arguments)
    environments = []
    if not (python or arguments.image):  # whoever names one knows its packages
        chosen = sandbox.choose(backend, sandbox.Options(runtime=arguments.runtime)).name
        places = map(installation, known_environments(entry_folders()))
        environments = [place for place in places if is_built(place, chosen)]
    settings = WorkerSettings(
        device=arguments.device,
        concurrency=max(arguments.concurrency, 1),
        backend=backend,
        runtime=arguments.runtime,
        image=arguments.image,
        python=python,
        trust_gpu=arguments.trust_gpu,
        redeliver_after=arguments.redeliver_after or REDELIVER_AFTER,
        environments=tuple(environments),
    )
    try:
        return start_worker(broker, settings)
    except sandbox.SandboxError as error:
        raise Failure(str(error)) from error
