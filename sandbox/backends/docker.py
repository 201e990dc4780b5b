"""A container per worker, through the docker SDK; `runtime="runsc"` puts gVisor's kernel between it and the host's."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from typing import Any

from sandbox import policy
from sandbox.backends.leftovers import owned_name, stale
from sandbox.backends.process import job, require_trust
from sandbox.link import Answers, Death, last_line
from sandbox.model import DEFAULTS, BackendStatus, Options, SandboxError, Setup
from sandbox.worker import Started, arguments

PREPARE = "sandbox/engine/prepare.sh builds it"
_HEADER = struct.Struct(">BxxxI")  # of each piece that the engine sends: its stream (2 is stderr) and its length


class Docker:
    """See the module's docstring."""

    name = "docker"

    def __init__(self, options: Options = DEFAULTS) -> None:
        self._runtime = options.runtime
        self._image = options.image or policy.IMAGE

    def status(self) -> BackendStatus:
        """Tells whether it works here, found by trying."""
        try:
            client = _client()
        except SandboxError as error:
            return BackendStatus(self.name, False, str(error))
        with contextlib.closing(client):
            info = client.info()
            runtime = self._runtime or info.get("DefaultRuntime", "runc")
            if runtime not in info.get("Runtimes", {}):
                return BackendStatus(
                    self.name, False, f"the engine knows no runtime {runtime}: register it, or use runc"
                )
            if not client.images(self._image):
                return BackendStatus(self.name, False, f"the engine has no image {self._image}: {PREPARE}")
            return BackendStatus(self.name, True, f"engine {info['ServerVersion']}, runtime {runtime}, {self._image}")

    def sweep(self) -> None:
        """Removes what interrupted runs left behind."""
        with contextlib.closing(_client()) as client:
            for found in client.containers(all=True, filters={"label": f"{policy.LABEL}.host={socket.gethostname()}"}):
                if any(stale(name.lstrip("/")) for name in found["Names"]):
                    _remove(client, found["Id"])

    def launch(self, setup: Setup) -> Started:
        """Starts a worker; does not wait for it."""
        client = _client()
        try:
            link = ContainerLink(client, self._create(client, setup))
        except BaseException:
            client.close()
            raise
        settings: dict[str, Any] = {
            "uid": None,
            "seccomp": True,
            "tmp": policy.TMP,
            "shared": list(policy.SHARED),
        }
        return Started(link, settings, lambda program: job(program, watched=self._gvisor(), shared=[]))

    def _gvisor(self) -> bool:
        return "runsc" in (self._runtime or "")

    def _create(self, client: Any, setup: Setup) -> str:
        """The id of a new container; it is not started yet."""
        from docker.errors import APIError
        from docker.types import DeviceRequest

        host = policy.container(setup, gvisor=self._gvisor())
        if self._runtime:
            host["runtime"] = self._runtime
        if setup.device == "cuda":
            require_trust(setup)
            host["device_requests"] = [DeviceRequest(count=setup.gpus, capabilities=[["gpu"]])]
        try:
            created = client.create_container(
                self._image,
                arguments(),
                entrypoint=["python3"],
                name=owned_name(),
                labels={f"{policy.LABEL}.host": socket.gethostname()},
                user=f"{policy.UID}:{policy.UID}",
                environment={**policy.environment(policy.TMP), "PATH": policy.CONTAINER_PATH},
                hostname=policy.HOSTNAME,
                working_dir="/",
                stdin_open=True,
                host_config=client.create_host_config(**host),
            )
        except (APIError, OSError) as error:
            raise SandboxError(f"docker makes no container: {_reason(error)}") from error
        return str(created["Id"])


class ContainerLink:
    """The conversation with a worker that is a container's first process."""

    def __init__(self, client: Any, container: str) -> None:
        from docker.errors import APIError

        self._client = client
        self._container = container
        self._errors = b""
        self._death: Death | None = None
        self._attached: Any = None
        try:
            self._attached = client.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            self._socket: Any = getattr(self._attached, "_sock", self._attached)
            self._socket.settimeout(None)
            client.start(container)
        except (APIError, OSError) as error:
            _remove(client, container)
            self._hang_up()
            reason = _reason(error)
            if "gpu" in reason:
                reason = "the engine has no GPU to give (it needs an NVIDIA GPU and the NVIDIA container toolkit)"
            raise SandboxError(f"docker does not start the container: {reason}") from error
        self._answers = Answers(self._read)

    def _read(self) -> bytes:
        """The next piece of standard output; empty at the end."""
        while header := self._exactly(_HEADER.size):
            stream, size = _HEADER.unpack(header)
            data = self._exactly(size)
            if stream != 2:
                return data
            self._errors = (self._errors + data)[-4096:]
        return b""

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._socket.recv(min(size - len(data), 1 << 16))
            if not piece:
                return b""
            data += piece
        return data

    def send(self, line: bytes) -> None:
        """Sends one line."""
        self._socket.sendall(line)

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """Returns the next answer; see Link."""
        return self._answers.receive(timeout)

    def close(self) -> Death:
        """Ends the worker; see Link."""
        if self._death is None:
            self._answers.stop()
            state: dict[str, Any] = {}
            with contextlib.suppress(Exception):
                state = self._client.inspect_container(self._container)["State"]
            exited = "" if state.get("Running") else f"its first process ended with status {state.get('ExitCode')}"
            self._death = Death(bool(state.get("OOMKilled")), last_line(self._errors) or exited)
            _remove(self._client, self._container)
            self._hang_up()
            self._client.close()
        return self._death

    def _hang_up(self) -> None:
        if self._attached is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._attached.close()
            self._socket.close()


def _client() -> Any:
    """A client of its own for each thread; raises SandboxError with what to do when no engine answers."""
    try:
        import docker
        from docker.errors import DockerException
        from docker.utils import kwargs_from_env
    except ImportError as error:
        raise SandboxError("the docker package is not installed: pip install 'kb-torch[sandbox]'") from error
    try:
        client = docker.APIClient(timeout=60, version="auto", **kwargs_from_env())
        client.ping()
    except (DockerException, OSError) as error:
        where = os.environ.get("DOCKER_HOST", "the default socket")
        raise SandboxError(f"no Docker engine answers at {where}: start one, e.g. sandbox/engine/prepare.sh") from error
    return client


def _reason(error: Exception) -> str:
    return str(getattr(error, "explanation", None) or error)


def _remove(client: Any, container: str) -> None:
    """Kills and removes a container; one that is already gone is what is wanted."""
    from docker.errors import APIError

    with contextlib.suppress(APIError, OSError):
        client.remove_container(container, v=True, force=True)
