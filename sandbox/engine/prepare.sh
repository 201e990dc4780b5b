#!/bin/sh
# Makes the docker backend usable: an engine that answers, a base image, and the image kb-sandbox.
# Does only what is missing, so it is quick when all is there. Says in one line what it cannot do.
#   KB_BASE    a base image to use instead of python:3.11-slim
#   KB_PYTHON  the interpreter whose pip fetches the wheels (default: python3)
# Where pip looks is set as for pip itself, e.g. PIP_EXTRA_INDEX_URL for PyTorch's builds without CUDA.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(dirname -- "$(dirname -- "$here")")
public_base=python:3.11-slim
own_base=kb-sandbox-base
image=kb-sandbox
python=${KB_PYTHON:-python3}

say() { echo "sandbox: $*" >&2; }
fail() { say "$*"; exit 1; }
answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }
have() { docker image inspect "$1" >/dev/null 2>&1; }

install_engine() {
  command -v dockerd >/dev/null && command -v docker >/dev/null && return
  [ "$(id -u)" = 0 ] || fail "no Docker engine answers and only root can install one: install and start Docker"
  command -v apt-get >/dev/null || fail "no Docker engine answers: install and start Docker"
  say "installing docker.io"
  apt-get install -y -qq docker.io >/dev/null || { apt-get update -qq && apt-get install -y -qq docker.io >/dev/null; }
}

# starts dockerd with the given options and waits until it answers or ends; registers gVisor where it is installed.
# Containers of ours never have a network, and runsc without one needs no look at the host's.
try_engine() {
  mkdir -p /run/kb-sandbox
  # an engine that was killed leaves its number behind, which may by now be another process's
  pgrep -x dockerd >/dev/null 2>&1 || rm -f /var/run/docker.pid
  log=/run/kb-sandbox/dockerd.log
  if [ ! -e /etc/docker/daemon.json ] && command -v runsc >/dev/null; then
    printf '{"runtimes": {"runsc": {"path": "%s", "runtimeArgs": ["--network=none"]}}}\n' "$(command -v runsc)" \
      >/run/kb-sandbox/daemon.json
    set -- --config-file /run/kb-sandbox/daemon.json "$@"
  fi
  setsid dockerd "$@" >"$log" 2>&1 </dev/null &
  engine=$!
  for _ in $(seq 100); do
    answers && return
    kill -0 "$engine" 2>/dev/null || break
    sleep 0.2
  done
  kill "$engine" 2>/dev/null || true
  reason=$(grep -E 'level=(fatal|error)|failed to start' "$log" | tail -n 1 | cut -c 1-300)
  return 1
}

start_engine() {
  answers && return
  install_engine
  answers && return
  [ "$(id -u)" = 0 ] || fail "no Docker engine answers and only root can start one: start Docker"
  say "starting a Docker engine"
  reason=""
  try_engine || try_engine --iptables=false --ip6tables=false --bridge=none || fail "dockerd does not start: $reason"
}

# leaves the name of a base image in $base
choose_base() {
  if [ -n "${KB_BASE:-}" ]; then base=$KB_BASE; return; fi
  for base in "$public_base" "$own_base"; do have "$base" && return; done
  base=$public_base
  timeout 120 docker pull --quiet "$public_base" >/dev/null 2>&1 && return
  base=$own_base
  [ "$(id -u)" = 0 ] || fail "no registry can be reached, and only root can make a base image: run this as root once"
  command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null ||
    fail "no registry can be reached, and debootstrap is missing: install it, or name a base image in KB_BASE"
  mirror=$(apt-get indextargets --format '$(SITE)' 2>/dev/null | grep -v security | sort | uniq -c | sort -rn |
    awk 'NR == 1 { print $2 }')
  say "no registry can be reached: making a base image from Debian packages (about a minute)"
  tree=$(mktemp -d)
  debootstrap --variant=minbase --include=python3,python3-venv bookworm "$tree/root" ${mirror:+"$mirror"} >"$tree/log" 2>&1 ||
    { tail -n 3 "$tree/log" >&2; rm -rf "$tree"; fail "debootstrap failed"; }
  rm -rf "$tree"/root/var/cache/apt/* "$tree"/root/var/lib/apt/lists/* "$tree"/root/usr/share/doc "$tree"/root/usr/share/locale
  tar -C "$tree/root" --numeric-owner -c . | docker import --change 'CMD ["python3"]' - "$own_base" >/dev/null
  rm -rf "$tree"
}

# wheels for the image's Python, from wherever this machine's pip takes them; the build without CUDA if there is one
fetch_wheels() {
  version=$(sed -n 's/^torch==//p' "$root/constraints.txt")
  tag=$(docker run --rm --network none --entrypoint python3 "$base" -c \
    'import sys; print("%d.%d" % sys.version_info[:2])')
  set -- download --quiet --disable-pip-version-check --dest "$1" --only-binary=:all: --python-version "$tag" \
    -c "$root/constraints.txt" numpy setuptools
  "$python" -m pip "$@" "torch==$version+cpu" 2>/dev/null || "$python" -m pip "$@" "torch==$version" ||
    fail "pip cannot fetch torch $version: see above"
}

build_image() {
  recipe=$({ cat "$root/Dockerfile" "$root/constraints.txt"; docker image inspect --format '{{.Id}}' "$base"; } | sha256sum | cut -c 1-16)
  [ "$(docker image inspect --format '{{index .Config.Labels "kb.sandbox.recipe"}}' "$image" 2>/dev/null)" = "$recipe" ] && return
  say "building $image"
  old=$(docker image inspect --format '{{.Id}}' "$image" 2>/dev/null || true)
  context=$(mktemp -d)
  trap 'rm -rf "$context"' EXIT
  cp "$root/Dockerfile" "$root/constraints.txt" "$context"
  mkdir "$context/wheels"
  fetch_wheels "$context/wheels"
  docker build --quiet --network none --target sandbox --tag "$image" --build-arg BASE="$base" \
    --build-arg PIP_OPTIONS=--no-index --build-arg RECIPE="$recipe" "$context" >/dev/null
  [ -z "$old" ] || docker image rm "$old" >/dev/null 2>&1 || true
  docker image prune --force --filter label=kb.stage=build >/dev/null
}

start_engine
choose_base
build_image
say "$image is ready on $(docker version --format 'Docker {{.Server.Version}}')"
