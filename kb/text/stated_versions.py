"""Read the versions of packages, Python and CUDA in a paste, as package managers, environment reports, wheels, paths and people write them."""

from __future__ import annotations

import re
from itertools import islice

from kb.startup.lazy_regex import lazy_pattern
from kb.text.lines import matches_in_lines

__all__ = ["cuda_version", "package_versions", "python_version"]

_MAX_STATEMENTS = 400

_NUMBER = r"\d{1,4}(?:\.\d{1,6}){1,3}[\w.+]{0,30}+"
_KNOWN = (
    "pytorch-lightning|pytorch|torchvision|torchaudio|torch[-_]npu|torch|transformers|accelerate|peft|trl|diffusers|deepspeed|lightning|bitsandbytes"
    "|xformers|flash[-_]attn|triton|numpy|vllm|cuda|cudnn|cann|python|tensorflow|keras|jax|mindspore|paddlepaddle"
    "|huggingface[-_]hub|datasets|tokenizers|timm|torchtext|torchmetrics|torchdata|torch[-_]geometric|mmcv|onnxruntime|onnx"
    "|scikit-learn|scipy|pandas|pillow"
)
_STATED = lazy_pattern(
    rf"(?<![\w.-])(?:(?P<pinned>[a-z][\w.-]{{0,60}})==={{0,1}}|(?P<known>{_KNOWN})"
    rf"(?:[ -]?versions?|[ 的]{{0,2}}(?:版本号?|装的)[是为]?)?(?: \([^()\n]{{1,20}}\))?[\"'`]?[ :：=v(-]{{0,4}})(?P<version>{_NUMBER})"
)
"""A version next to a name: `torch==2.4.1`, `PyTorch version: 2.1.0+cu118`, `torch-2.1.0+cu118-cp310-…`, `torch 2.0.1`."""

_ON_NEXT_LINE = lazy_pattern(
    rf"^(?:name: (?P<shown>[a-z][\w.-]{{0,60}})\nversion: "
    rf"|[^\n]{{0,60}}?\b(?P<asked>{_KNOWN})\.__version__\)?\n(?:out\[\d{{1,5}}\]: ?)?['\"]?)(?P<version>{_NUMBER})",
    re.MULTILINE,
)
"""What `pip show` prints, and what Python answers to `torch.__version__`."""

_LISTED = lazy_pattern(
    rf"[ \t]{{0,20}}+(?:\[(?:pip3?|conda)\] {{1,8}})?(?:[-*] )?`?(?P<name>[a-z][\w.-]{{0,60}})`?(?:[ \t]{{1,60}}+|[ \t]version:[ \t])(?P<version>{_NUMBER})"
    r"(?:[ \t]{1,60}+[\w.]{1,60}+(?:[ \t]{1,60}+[\w./:-]{1,80}+)?)?[ \t]{0,60}+"
)
"""A line of `pip list`, `conda list` or of an environment report: a name, a version, and in conda's case a build and a channel."""

_HAS_VERSION = lazy_pattern(r"\d\.\d")
_PYTHON_PATH = lazy_pattern(r"python(?P<dotted>3\.\d{1,2})(?!\d)|(?:python|\bcp|\bpy)(?P<joined>3\d{1,2})(?!\d)")
_CUDA = lazy_pattern(
    r"\+cu(?P<joined>\d{2,3})\b|cuda used to build pytorch: ?(?P<built>\d{1,2}\.\d)|pytorch-cuda[ =]{1,30}(?P<conda>\d{1,2}\.\d)"
    r"|\bcuda[ -]{0,2}(?:runtime |toolkit |driver )?(?:version)?[ :=v]{0,4}(?P<named>\d{1,2}\.\d)"
    r"|cudatoolkit[ =]{1,30}(?P<toolkit>\d{1,2}\.\d)|release (?P<nvcc>\d{1,2}\.\d), v\d"
)
_CUDA_GROUPS = ("built", "joined", "conda", "named", "toolkit", "nvcc")
"""From the statement that is most certainly about PyTorch's own CUDA to the least."""


def package_versions(lowered: str) -> dict[str, str]:
    """Return the first version stated for each distribution; PyTorch is `torch`, whatever it is called."""
    versions: dict[str, str] = {}
    lines = (line for line in lowered.split("\n") if 'file "' not in line and _HAS_VERSION.search(line))
    for line in islice(lines, _MAX_STATEMENTS):
        statements = list(islice(_STATED.finditer(line), _MAX_STATEMENTS))
        for statement in statements:
            versions.setdefault(
                _distribution(statement["pinned"] or statement["known"]), statement["version"].rstrip(".")
            )
        if not statements and (listed := _LISTED.fullmatch(line)):
            versions.setdefault(_distribution(listed["name"]), listed["version"].rstrip("."))
    if "\nversion: " in lowered or ".__version__" in lowered:
        for below in islice(_ON_NEXT_LINE.finditer(lowered), _MAX_STATEMENTS):
            versions.setdefault(_distribution(below["shown"] or below["asked"]), below["version"].rstrip("."))
    return versions


def _distribution(name: str) -> str:
    name = name.replace("_", "-")
    return "torch" if name == "pytorch" else name


def python_version(lowered: str) -> str:
    """Return the version of Python in the first path that has one, such as `3.8` of `python3.8/site-packages` or `python38`."""
    path = next(matches_in_lines(_PYTHON_PATH, lowered, "python3", "cp3", "py3"), None)
    if path is None:
        return ""
    return path["dotted"] or f"{path['joined'][0]}.{path['joined'][1:]}"


def cuda_version(lowered: str) -> str:
    """Return the CUDA version that PyTorch was built with, or else the one of the toolkit or driver."""
    stated: dict[str, str] = {}
    for match in matches_in_lines(_CUDA, lowered, "cuda", "+cu", "release "):
        stated.setdefault(match.lastgroup or "", match[match.lastgroup or 0])
    version = next((stated[group] for group in _CUDA_GROUPS if group in stated), "")
    return version if "." in version or not version else f"{version[:-1]}.{version[-1]}"
