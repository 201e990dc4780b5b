"""Every protection that the design promises is set, in the policy and in the container that the engine makes of it."""

import os
from pathlib import Path

import pytest

from sandbox import Limits, Program, policy, run
from sandbox.backends.bubblewrap import Bubblewrap
from sandbox.backends.docker import Docker
from sandbox.model import DEFAULTS, WorkerSpec

MIB = 1 << 20
SPEC = WorkerSpec(memory=512 * MIB, pids=40, shm=8 * MIB, tmp=16 * MIB, cpus=0.5, gpus=0, device="cpu", preload=())


@pytest.fixture
def inspected():
    import docker

    transport = Docker(DEFAULTS).launch(SPEC).transport
    try:
        with docker.APIClient() as client:
            yield client.inspect_container(transport._container)
    finally:
        transport.close()


@pytest.mark.docker
def test_the_engine_gets_every_protection(inspected):
    host = inspected["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["Privileged"] is False
    assert host["Memory"] == host["MemorySwap"] == 512 * MIB
    assert host["PidsLimit"] == 40
    assert host["NanoCpus"] == 500_000_000
    assert host["ShmSize"] == 8 * MIB
    assert f"size={16 * MIB}" in host["Tmpfs"]["/tmp"]
    assert {"nosuid", "nodev"} <= set(host["Tmpfs"]["/tmp"].split(","))
    assert host["IpcMode"] == "private"
    assert host["LogConfig"]["Type"] == "none"
    assert not host["Binds"]
    assert not host["Mounts"] if "Mounts" in host else True
    assert not host["Devices"]
    assert not host["DeviceRequests"]
    assert {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]} == {"core": 0, "nofile": 1024}
    assert inspected["Config"]["User"] == "65534:65534"
    assert inspected["Config"]["Labels"][f"{policy.LABEL}.host"]
    assert inspected["Name"].startswith(f"/kb-sandbox-{os.getpid()}-")
    assert not {line.partition("=")[0] for line in inspected["Config"]["Env"]} - {
        *policy.environment("/tmp"),
        "HOSTNAME",
    }


@pytest.mark.docker
def test_containers_are_removed(inspected):
    run([Program("pass"), Program("import os\nos.kill(os.getpid(), 9)")], backend="docker", preload=())
    import docker

    with docker.APIClient() as client:
        names = [name for found in client.containers(all=True) for name in found["Names"]]
    mine = [name for name in names if name.startswith(f"/kb-sandbox-{os.getpid()}-")]
    assert mine == [inspected["Name"]]


@pytest.mark.bubblewrap
def test_bubblewrap_unshares_everything_and_mounts_only_what_python_needs():
    source = """
import os
namespaces = {name: os.readlink(f"/proc/self/ns/{name}") for name in ("ipc", "mnt", "net", "pid", "uts")}
print(namespaces)
print(sorted(os.listdir("/")), sorted(os.listdir("/etc")), os.listdir("/sys/class/net") if os.path.exists("/sys/class") else [])
"""
    outcome = run([Program(source)], backend="bubblewrap", preload=())[0]
    namespaces, listed = outcome.stdout.splitlines()
    for name in ("ipc", "mnt", "net", "pid", "uts"):
        assert str(Path(f"/proc/self/ns/{name}").readlink()) not in namespaces
    for absent in ("home", "opt", "var", "run", "srv", "boot", "shadow", "ssh", "resolv.conf"):
        assert f"'{absent}'" not in listed


@pytest.mark.bubblewrap
def test_a_limit_on_processes_or_memory_is_told_in_the_status():
    status = Bubblewrap(DEFAULTS).status()
    assert status.works
    assert "held by control groups" in status.detail or "held by rlimits" in status.detail


def test_address_space_is_never_limited():
    chosen = policy.rlimits(Limits(), data=True, processes=True)
    assert "RLIMIT_AS" not in chosen
    assert chosen["RLIMIT_DATA"] == Limits().memory
    assert chosen["RLIMIT_NPROC"] == Limits().pids
    assert chosen["RLIMIT_CORE"] == 0


def test_gvisor_gets_room_for_its_own_threads():
    assert policy.container(SPEC)["pids_limit"] == 40
    assert policy.container(SPEC, gvisor=True)["pids_limit"] > 1000


def test_the_environment_is_fixed():
    environment = policy.environment("/tmp")
    assert environment["PYTHONHASHSEED"] == "0"
    assert environment["LC_ALL"] == "C.UTF-8"
    assert environment["OMP_NUM_THREADS"] == "1"
    assert not [name for name in environment if "PROXY" in name.upper() or "TOKEN" in name]
