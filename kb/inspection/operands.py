"""What is known of a tensor, an array, a module or a loader without reading a value: its metadata.

Nothing here runs the program's own code. Types are compared by their place in the method resolution order and not by `isinstance`, attributes are
read from the instance's own dictionary, and tensors are asked with their `__torch_function__` switched off. No question needs the GPU to be done with
its work.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.text.languages import Lang

__all__ = ["Expectation", "Operand", "children", "describe", "is_module", "is_tensor", "members", "own_attributes"]

Kind = Literal["tensor", "array", "module", "loader", "sequence"]

_MAX_PARAMETERS = 500
"""Parameters and buffers of a module that are looked at."""
_MAX_CHILDREN = 1000
"""Modules inside a module that are looked at."""

_SIZES: dict[str, tuple[tuple[str, int], ...]] = {
    "Linear": (("in_features", -1),),
    "Conv1d": (("in_channels", -2),),
    "Conv2d": (("in_channels", -3),),
    "Conv3d": (("in_channels", -4),),
    "ConvTranspose1d": (("in_channels", -2),),
    "ConvTranspose2d": (("in_channels", -3),),
    "ConvTranspose3d": (("in_channels", -4),),
    "BatchNorm1d": (("num_features", 1),),
    "BatchNorm2d": (("num_features", 1),),
    "BatchNorm3d": (("num_features", 1),),
    "GroupNorm": (("num_channels", 1),),
    "RNN": (("input_size", -1),),
    "LSTM": (("input_size", -1),),
    "GRU": (("input_size", -1),),
    "RNNCell": (("input_size", -1),),
    "LSTMCell": (("input_size", -1),),
    "GRUCell": (("input_size", -1),),
    "MultiheadAttention": (("embed_dim", -1),),
}
"""The attributes of a layer that fix a size of its first input, and the axis of that size."""
_DIMENSIONS = {
    "Conv1d": (2, 3), "Conv2d": (3, 4), "Conv3d": (4, 5), "ConvTranspose1d": (2, 3), "ConvTranspose2d": (3, 4), "ConvTranspose3d": (4, 5),
    "BatchNorm1d": (2, 3), "BatchNorm2d": (4,), "BatchNorm3d": (5,),
}  # fmt: skip
"""How many dimensions a layer's first input may have."""
_INDEXED = ("Embedding", "EmbeddingBag")
"""The layers whose input is indices."""


class Expectation(NamedTuple):
    """A size that a layer's first input must have: the attribute that fixes it, the axis and the size."""

    attribute: str
    axis: int
    size: int


class Operand(NamedTuple):
    """What is known of an object that the failing expression uses. `name` is as the reader wrote it.

    An argument of a layer that has no name in the reader's code has the layer's name for it, and `owner` is the layer.

    `dtype` and `device` of a module are those of its parameters, joined by commas where they differ. `trainable` counts a module's parameters that
    require a gradient, of `parameters` in all. `size` is in bytes.
    """

    name: str
    kind: Kind
    type: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    device: str = ""
    requires_grad: bool = False
    is_leaf: bool = True
    is_contiguous: bool = True
    size: int = 0
    training: bool | None = None
    expectations: tuple[Expectation, ...] = ()
    dimensions: tuple[int, ...] = ()
    takes_indices: bool = False
    parameters: int = 0
    trainable: int = 0
    settings: tuple[tuple[str, str], ...] = ()
    """Sizes of a layer and settings of a loader, as they are written in a call."""
    has_weight: bool = False
    """Whether a module has a parameter of that name, as layers with one weight have."""
    owner: str = ""

    def quoted(self, lang: Lang) -> str:
        """Return the name as code, with the layer that it belongs to."""
        if not self.owner:
            return f"`{self.name}`"
        return f"`{self.owner}` 的 `{self.name}`" if lang == "zh" else f"`{self.name}` of `{self.owner}`"


def is_tensor(value: object) -> bool:
    """Tell whether a value is a tensor."""
    return _is_a(value, "torch", "Tensor")


def is_module(value: object) -> bool:
    """Tell whether a value is a module."""
    return _is_a(value, "torch.nn", "Module")


def describe(name: str, value: object) -> Operand | None:
    """Return what is known of a value, or None where it is nothing that PyTorch's messages are about."""
    if is_tensor(value):
        return _tensor(name, value)
    if is_module(value):
        return _module(name, value)
    if _is_a(value, "torch.utils.data", "DataLoader"):
        return _loader(name, value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(value) is numpy.ndarray:
        return _array(name, value)
    if type(value) in (list, tuple):
        return Operand(name, "sequence", type(value).__name__, settings=(("len", str(len(value))),))  # type: ignore[arg-type]
    return None


def members(module: object, registry: str) -> dict[str, Any]:
    """Return what a module has registered: its `_parameters`, `_buffers` or `_modules`."""
    registered = own_attributes(module).get(registry)
    return dict(registered) if isinstance(registered, dict) else {}


def children(module: object) -> Iterator[tuple[str, object]]:
    """Yield the modules inside a module, at most so many, nearest first, with what is written behind the module's name to reach them."""
    queue: list[tuple[str, object]] = [("", module)]
    seen = {id(module)}
    for path, parent in queue:
        for name, child in members(parent, "_modules").items():
            if child is None or id(child) in seen or len(queue) > _MAX_CHILDREN:
                continue
            seen.add(id(child))
            queue.append((f"{path}[{name}]" if name.isdigit() else f"{path}.{name}", child))
            yield queue[-1]


def _is_a(value: object, module: str, name: str) -> bool:
    """Tell whether the value's type is or derives from that of a module that the program has imported."""
    wanted = getattr(sys.modules.get(module), name, None)
    return wanted is not None and wanted in type(value).__mro__


def own_attributes(value: object) -> dict[str, Any]:
    """Return the instance's own attributes, past any `__getattr__` or `__getattribute__`."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return attributes if isinstance(attributes, dict) else {}


def _tensor(name: str, value: Any) -> Operand | None:
    torch = sys.modules["torch"]
    dispatch = type(value).__torch_dispatch__
    if dispatch is not torch.Tensor.__torch_dispatch__ and not type(value).__module__.startswith("torch."):
        return None  # its metadata would come from the program's own code
    with torch._C.DisableTorchFunction():  # noqa: SLF001 - the only way to keep the program's __torch_function__ out
        sizes = getattr(value, "shape", None) if not getattr(value, "is_nested", False) else None
        shape = tuple(sizes) if sizes is not None and all(type(size) is int for size in sizes) else None
        is_strided = value.layout is torch.strided and shape is not None
        return Operand(
            name,
            "tensor",
            type(value).__name__,
            shape=shape,
            dtype=_short(value.dtype),
            device=str(value.device),
            requires_grad=bool(value.requires_grad),
            is_leaf=_is_leaf(value),
            is_contiguous=not is_strided or bool(value.is_contiguous()),
            size=value.dtype.itemsize * _product(shape) if is_strided and shape is not None else 0,
        )


def _is_leaf(value: Any) -> bool:
    """Tell whether a tensor is a leaf. A view whose base was changed in place refuses to say; it has a history, so it is none."""
    try:
        return bool(value.is_leaf)
    except RuntimeError:
        return False


def _module(name: str, value: object) -> Operand:
    tensors, parameters, trainable = [], 0, 0
    for part in [value, *(child for _, child in children(value))]:
        for parameter in members(part, "_parameters").values():
            if parameter is not None and parameters < _MAX_PARAMETERS and (facts := _tensor("", parameter)):
                tensors.append(facts)
                parameters += 1
                trainable += facts.requires_grad
    own = own_attributes(value)
    kind = _layer(value)
    sizes = tuple(
        Expectation(attribute, axis, own[attribute])
        for attribute, axis in _SIZES.get(kind, ())
        if type(own.get(attribute)) is int
    )
    if kind == "LayerNorm" and type(own.get("normalized_shape")) is tuple:
        shape = own["normalized_shape"]
        sizes = tuple(Expectation("normalized_shape", at - len(shape), size) for at, size in enumerate(shape))
    if kind in ("RNN", "LSTM", "GRU"):
        dimensions: tuple[int, ...] = (2, 3)
    else:
        dimensions = _DIMENSIONS.get(kind, ())
    return Operand(
        name,
        "module",
        type(value).__name__,
        dtype=", ".join(dict.fromkeys(facts.dtype for facts in tensors)),
        device=", ".join(dict.fromkeys(facts.device for facts in tensors)),
        training=own.get("training") if type(own.get("training")) is bool else None,
        expectations=sizes,
        dimensions=dimensions,
        takes_indices=kind in _INDEXED,
        has_weight=members(value, "_parameters").get("weight") is not None,
        parameters=parameters,
        trainable=trainable,
        settings=tuple(
            (attribute, str(own[attribute]))
            for attribute in dict.fromkeys([*(size.attribute for size in sizes), "out_features", "out_channels", "num_embeddings"])
            if type(own.get(attribute)) in (int, tuple)
        ),
    )  # fmt: skip


def _layer(value: object) -> str:
    """Return the name of the class of torch.nn that the module is or derives from."""
    return next((base.__name__ for base in type(value).__mro__ if base.__module__.startswith("torch.nn.modules.")), "")


def _loader(name: str, value: object) -> Operand:
    own = own_attributes(value)
    shown = ("batch_size", "num_workers", "drop_last", "pin_memory")
    settings = tuple((key, str(own[key])) for key in shown if type(own.get(key)) in (int, bool))
    return Operand(name, "loader", type(value).__name__, settings=settings)


def _array(name: str, value: Any) -> Operand:
    flags = value.flags
    return Operand(
        name,
        "array",
        "ndarray",
        shape=tuple(value.shape),
        dtype=value.dtype.name,
        is_contiguous=bool(flags.c_contiguous),
        size=int(value.nbytes),
    )


def _short(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total
