"""A container per worker, through the docker SDK; `runtime="runsc"` puts gVisor's kernel between it and the host's."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from typing import Any

from sandbox import policy
from sandbox.backends.process import job, require_trust
from sandbox.environments import IMAGE_PACKAGES
from sandbox.leftovers import owned_name, stale
from sandbox.model import DEFAULTS, BackendStatus, Options, SandboxError, WorkerSpec
from sandbox.transport import KEPT_ERRORS, ExitReport, ResponseReader, last_line
from sandbox.worker import WorkerHandle, arguments

PREPARE = "sandbox/engine/prepare.sh builds it"
_KILLED = 137
"""The exit status of a container whose first process SIGKILL ended before kb did.

No process inside can send it to the first one, except under gVisor, so it was the kernel, for memory. The engine learns that by an event that it may miss.
"""

_REMOVALS = 6  # attempts, with a pause before each that grows by a second
_unremoved: set[str] = set()  # ids of this process's containers that the engine did not remove when it was asked

_HEADER = struct.Struct(">BxxxI")  # before each piece that the engine sends: its stream (2 is stderr) and its length


class Docker:
    """See the module's docstring."""

    name = "docker"

    def __init__(self, options: Options = DEFAULTS) -> None:
        self._runtime = options.runtime
        self._image = options.image or policy.IMAGE
        self._installation = None if options.image else options.environment

    def status(self) -> BackendStatus:
        """Return whether an engine answers and has runtime and image; see Backend."""
        try:
            client = connect()
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
            if not client.images(image := self._environment_image(client)):
                return BackendStatus(self.name, False, f"the engine has no image {image}, which is of an environment")
            return BackendStatus(self.name, True, f"engine {info['ServerVersion']}, runtime {runtime}, {image}")

    def _environment_image(self, client: Any) -> str:
        """Return the name of the image that programs run in."""
        if self._installation is None:
            return self._image
        return self._installation.image(client.inspect_image(self._image)["Id"])

    def sweep(self) -> None:
        """Remove what interrupted runs left behind; see Backend."""
        with contextlib.closing(connect()) as client:
            label = {"label": f"{policy.LABEL}.host={socket.gethostname()}"}
            for container in client.containers(all=True, filters=label):
                if container["Id"] in _unremoved or any(stale(name.lstrip("/")) for name in container["Names"]):
                    _remove(client, container["Id"])

    def launch(self, spec: WorkerSpec) -> WorkerHandle:
        """Start a worker; see Backend."""
        client = connect()
        try:
            transport = ContainerTransport(client, self._create(client, spec))
        except BaseException:
            client.close()
            raise
        settings: dict[str, Any] = {
            "uid": None,
            "seccomp": True,
            "tmp": policy.TMP,
            "shared": list(policy.SHARED),
        }
        return WorkerHandle(transport, settings, lambda program: job(program, watched=self._gvisor(), shared=[]))

    def _gvisor(self) -> bool:
        return "runsc" in (self._runtime or "")

    def _create(self, client: Any, spec: WorkerSpec) -> str:
        """Return the id of a new container that is not started yet."""
        from docker.errors import APIError
        from docker.types import DeviceRequest

        host = policy.container(spec, gvisor=self._gvisor())
        if self._runtime:
            host["runtime"] = self._runtime
        if spec.device == "cuda":
            require_trust(spec)
            host["device_requests"] = [DeviceRequest(count=spec.gpus, capabilities=[["gpu"]])]
        packages = (IMAGE_PACKAGES,) if self._installation else ()
        try:
            created = client.create_container(
                self._environment_image(client),
                arguments(),
                entrypoint=["python3"],
                name=owned_name(),
                labels={f"{policy.LABEL}.host": socket.gethostname()},
                user=f"{policy.UID}:{policy.UID}",
                environment={**policy.environment(policy.TMP, *packages), "PATH": policy.CONTAINER_PATH},
                hostname=policy.HOSTNAME,
                working_dir="/",
                stdin_open=True,
                host_config=client.create_host_config(**host),
            )
        except (APIError, OSError) as error:
            raise SandboxError(f"docker makes no container: {_reason(error)}") from error
        return str(created["Id"])


class ContainerTransport:
    """The conversation with a worker that is a container's first process."""

    def __init__(self, client: Any, container: str) -> None:
        from docker.errors import APIError

        self._client = client
        self._container = container
        self._errors = b""
        self._report: ExitReport | None = None
        self._attached: Any = None
        try:
            self._attached = client.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            self._socket: Any = getattr(self._attached, "_sock", self._attached)
            self._socket.settimeout(None)
            client.start(container)
        except (APIError, OSError) as error:
            _remove(client, container)
            self._disconnect()
            reason = _reason(error)
            if "gpu" in reason:
                reason = "the engine has no GPU to give (it needs an NVIDIA GPU and the NVIDIA container toolkit)"
            raise SandboxError(f"docker does not start the container: {reason}") from error
        self._responses = ResponseReader(self._read)

    def _read(self) -> bytes:
        """Return the next piece of standard output; empty at the end."""
        while header := self._exactly(_HEADER.size):
            stream, size = _HEADER.unpack(header)
            data = self._exactly(size)
            if stream != 2:
                return data
            self._errors = (self._errors + data)[-KEPT_ERRORS:]
        return b""

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(min(size - len(data), 1 << 16))
            if not piece:
                return b""
            data += piece
        return bytes(data)

    def send(self, line: bytes) -> None:
        """Send one line; see Transport."""
        self._socket.sendall(line)

    def receive(self, timeout: float) -> dict[str, Any] | None:
        """Return the next response; see Transport."""
        return self._responses.receive(timeout)

    def close(self) -> ExitReport:
        """End the worker; see Transport."""
        if self._report is None:
            self._responses.stop()
            state = self._final_state()
            exited = "" if state.get("Running") else f"its first process ended with status {state.get('ExitCode')}"
            out_of_memory = state.get("OOMKilled") is True or state.get("ExitCode") == _KILLED
            self._report = ExitReport(out_of_memory, last_line(self._errors) or exited)
            _remove(self._client, self._container)
            self._disconnect()
            self._client.close()
        return self._report

    def _final_state(self) -> dict[str, Any]:
        """Return how the container ended, empty where the engine does not say."""
        with contextlib.suppress(Exception):
            state: dict[str, Any] = self._client.inspect_container(self._container)["State"]
            return state
        return {}

    def _disconnect(self) -> None:
        if self._attached is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._attached.close()
            self._socket.close()


def connect(timeout: int = 60) -> Any:
    """Return a client for this thread alone, which waits so many seconds for an answer. Raises SandboxError with what to do when no engine answers."""
    try:
        import docker
        from docker.errors import DockerException
        from docker.utils import kwargs_from_env
    except ImportError as error:
        raise SandboxError("the docker package is not installed: pip install 'kb-torch[sandbox]'") from error
    try:
        client = docker.APIClient(timeout=timeout, version="auto", **kwargs_from_env())
        client.ping()
    except (DockerException, OSError) as error:
        where = os.environ.get("DOCKER_HOST", "the default socket")
        raise SandboxError(f"no Docker engine answers at {where}: start one, e.g. sandbox/engine/prepare.sh") from error
    return client


def _reason(error: Exception) -> str:
    return str(getattr(error, "explanation", None) or error)


def _remove(client: Any, container: str) -> None:
    """Kill and remove a container; one that is already gone is fine.

    The engine refuses while a kill has not taken effect, which lasts seconds on a busy host under gVisor, so it is asked again.
    What it refuses to the end, and what an engine that does not answer still has, is left to the next sweep, also of this process.
    """
    from docker.errors import APIError, NotFound

    _unremoved.add(container)
    for attempt in range(_REMOVALS):
        time.sleep(attempt)
        try:
            client.remove_container(container, v=True, force=True)
        except NotFound:
            pass
        except APIError:  # an OSError as well, but an answer
            continue
        except OSError:
            return
        _unremoved.discard(container)
        return
