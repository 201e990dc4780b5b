"""Which of the operands does not fit, in one sentence in both languages.

An entry says what its message is about (`inspect: dtype`). Each function here compares the operands in that respect. It says nothing where all are alike
and where it cannot tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

from kb.inspection.crash_context import CrashContext
from kb.inspection.operands import Operand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.text.languages import Lang

__all__ = ["ASPECTS", "Mismatch", "find_mismatch"]

_MAX_NAMES = 3
_LARGE = 64 << 20
"""Bytes from which a tensor is worth naming where memory is short."""
_INDEX_TYPES = ("int64", "int32")
_TYPES = {
    "Double": "float64", "double": "float64", "Float": "float32", "float": "float32", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
    "Int": "int32", "Short": "int16", "Byte": "uint8", "unsigned char": "uint8", "Char": "int8", "Bool": "bool", "bool": "bool",
}  # fmt: skip
"""The names of types in messages."""
_TYPE_WORD = re.compile(rf"\b({'|'.join(_TYPES)})\b")
_NUMBER = re.compile(r"\d+")
_MATRIX_PRODUCT = re.compile(r"@|\b(?:matmul|mm|bmm|mv|baddbmm|addmm)\(")


class Mismatch(NamedTuple):
    """The names of the operands that do not fit, and why, in both languages."""

    names: tuple[str, ...]
    sentence: dict[Lang, str]


def find_mismatch(aspect: str, context: CrashContext) -> Mismatch | None:
    """Return which operand does not fit in that respect, or None where all do or it cannot be told."""
    compare = ASPECTS.get(aspect)
    return compare(context) if compare else None


def _device(context: CrashContext) -> Mismatch | None:
    operands = context.involved
    placed = [operand for operand in operands if operand.device and operand.kind in ("tensor", "module")]
    split = next((operand for operand in placed if ", " in operand.device), None)
    if split is not None:
        return Mismatch(
            (split.name,),
            {
                "en": f"The parameters of {split.quoted('en')} are on different devices: {split.device}.",
                "zh": f"{split.quoted('zh')} 的参数分散在不同设备上：{split.device}。",
            },
        )
    misplaced = _misplaced(placed)
    if not misplaced:
        return None
    wrong, right = _split(placed, "device", misplaced)
    en = f"{_list(wrong, 'en')} {_are(wrong)} on {wrong[0].device}; {_list(right, 'en')} {_are(right)} on {right[0].device}"
    zh = f"{_list(wrong, 'zh')} 在 {wrong[0].device} 上，{_list(right, 'zh')} 在 {right[0].device} 上"
    if wrong[0].device == "meta":
        return Mismatch(
            _names(wrong), {"en": f"{en}: what is on meta has no data yet.", "zh": f"{zh}：meta 上的张量还没有数据。"}
        )
    target = next((operand for operand in right if operand.kind == "tensor" and not operand.owner), None)
    where = f"{target.name}.device" if target else f'"{right[0].device}"'
    if wrong[0].owner:
        return Mismatch(_names(wrong), {"en": f"{en}.", "zh": f"{zh}。"})
    call = f"{wrong[0].name}.to({where})"
    return Mismatch(_names(wrong), {"en": f"{en}: move it there, `{call}`.", "zh": f"{zh}：用 `{call}` 搬过去。"})


def _dtype(context: CrashContext) -> Mismatch | None:
    operands = context.involved
    tensors = [operand for operand in operands if operand.kind == "tensor"]
    if table := next((operand for operand in operands if operand.takes_indices), None):
        return next((_no_index(tensor, table) for tensor in tensors if tensor.dtype not in _INDEX_TYPES), None)
    typed = [
        operand for operand in operands if operand.dtype and ", " not in operand.dtype and operand.kind != "sequence"
    ]
    said = {_TYPES[word] for word in _TYPE_WORD.findall(context.message)}
    if len(said) > 1:
        typed = [operand for operand in typed if operand.dtype in said]
    mistyped = _mistyped(typed)
    if not mistyped:
        return None
    wrong, right = _split(typed, "dtype", mistyped)
    to = right[0].dtype
    return Mismatch(
        _names(wrong),
        {
            "en": f"{_list(wrong, 'en')} {_are(wrong)} {wrong[0].dtype}; {_list(right, 'en')} {_are(right)} {to}.",
            "zh": f"{_list(wrong, 'zh')} 是 {wrong[0].dtype}，{_list(right, 'zh')} 是 {to}。",
        },
    )


def _no_index(tensor: Operand, table: Operand) -> Mismatch:
    return Mismatch(
        (tensor.name,),
        {
            "en": f"{tensor.quoted('en')} is {tensor.dtype}; {table.quoted('en')} takes whole numbers, int64 or int32.",
            "zh": f"{tensor.quoted('zh')} 是 {tensor.dtype}，而 {table.quoted('zh')} 要的是整数，int64 或 int32。",
        },
    )


def _shape(context: CrashContext) -> Mismatch | None:
    operands = context.involved
    tensors = [operand for operand in operands if operand.shape is not None]
    layer = next((operand for operand in operands if operand.kind == "module"), None)
    if layer and tensors and (layer.expectations or layer.dimensions):
        return _size_of_layer(context, layer, tensors[0])
    if len(tensors) < 2:
        return None
    conflict = (
        _of_product
        if _MATRIX_PRODUCT.search(context.expression.code)
        else _of_batch
        if layer or "batch_size" in context.message
        else _of_broadcast
    )
    for first, second in combinations(tensors, 2):
        pair = conflict(first.shape or (), second.shape or ())
        if pair and first.shape and second.shape and _speaks_of(context, first.shape[pair[0]], second.shape[pair[1]]):
            return _two_shapes(first, second, *pair)
    return None


def _two_shapes(first: Operand, second: Operand, first_axis: int, second_axis: int) -> Mismatch:
    """Return that dimension `first_axis` of the first does not go with dimension `second_axis` of the second."""
    first_shape, second_shape = list(first.shape or ()), list(second.shape or ())
    first_size, second_size = first_shape[first_axis], second_shape[second_axis]
    en = f"{first.quoted('en')} is {first_shape}, {second.quoted('en')} is {second_shape}"
    zh = f"{first.quoted('zh')} 是 {first_shape}，{second.quoted('zh')} 是 {second_shape}"
    if first_axis == second_axis:
        en += f": they differ in dimension {first_axis}, {first_size} and {second_size}."
        zh += f"：第 {first_axis} 维不同，一个 {first_size}，一个 {second_size}。"
    else:
        en += f": dimension {first_axis} of the first ({first_size}) does not go with dimension {second_axis} of the second ({second_size})."
        zh += f"：前者的第 {first_axis} 维（{first_size}）与后者的第 {second_axis} 维（{second_size}）对不上。"
    return Mismatch((second.name,), {"en": en, "zh": zh})


def _size_of_layer(context: CrashContext, layer: Operand, tensor: Operand) -> Mismatch | None:
    shape = tensor.shape or ()
    if layer.dimensions and len(shape) not in layer.dimensions:
        allowed_en = " or ".join(map(str, layer.dimensions))
        allowed_zh = " 或 ".join(map(str, layer.dimensions))
        return Mismatch(
            (tensor.name,),
            {
                "en": f"{tensor.quoted('en')} is {list(shape)}, {len(shape)} dimensions; {layer.quoted('en')} takes {allowed_en}.",
                "zh": f"{tensor.quoted('zh')} 是 {list(shape)}，{len(shape)} 维；{layer.quoted('zh')} 要 {allowed_zh} 维。",
            },
        )
    for attribute, axis, size in layer.expectations:
        if not -len(shape) <= axis < len(shape) or shape[axis] == size or not _speaks_of(context, shape[axis], size):
            continue
        at = axis % len(shape)
        return Mismatch(
            (tensor.name,),
            {
                "en": f"{tensor.quoted('en')} is {list(shape)}: dimension {at} is {shape[axis]}; {layer.quoted('en')} takes {size} (`{attribute}`).",
                "zh": f"{tensor.quoted('zh')} 是 {list(shape)}：第 {at} 维是 {shape[axis]}，而 {layer.quoted('zh')} 要 {size}（`{attribute}`）。",
            },
        )
    return None


def _grad(context: CrashContext) -> Mismatch | None:
    tensors = [operand for operand in context.involved if operand.kind == "tensor"]
    frozen = next((operand for operand in context.nearby if operand.parameters and not operand.trainable), None)
    if frozen is not None:
        count = frozen.parameters
        return Mismatch(
            (frozen.name,),
            {
                "en": f"None of the {count} parameters of {frozen.quoted('en')} requires a gradient.",
                "zh": f"{frozen.quoted('zh')} 的 {count} 个参数都不需要梯度（`requires_grad=False`）。",
            },
        )
    if not tensors:
        return None
    first = tensors[0]
    if not first.requires_grad:
        en = f"{first.quoted('en')} does not require a gradient."
        zh = f"{first.quoted('zh')} 不需要梯度（`requires_grad=False`）。"
    elif first.is_leaf:
        en = f"{first.quoted('en')} is a leaf that requires a gradient."
        zh = f"{first.quoted('zh')} 是需要梯度的叶子张量。"
    else:
        en = f"{first.quoted('en')} was computed from tensors that require a gradient, so it carries a graph."
        zh = f"{first.quoted('zh')} 由需要梯度的张量算出，带着计算图。"
    return Mismatch((first.name,), {"en": en, "zh": zh})


def _mode(context: CrashContext) -> Mismatch | None:
    operands = context.involved
    module = next((operand for operand in operands if operand.training is not None), None)
    if module is None:
        return None
    if module.training:
        return Mismatch(
            (module.name,),
            {
                "en": f"{module.quoted('en')} is in training mode.",
                "zh": f"{module.quoted('zh')} 处于训练模式。",
            },
        )
    return Mismatch(
        (module.name,),
        {
            "en": f"{module.quoted('en')} is in evaluation mode.",
            "zh": f"{module.quoted('zh')} 处于评估模式。",
        },
    )


def _size(context: CrashContext) -> Mismatch | None:
    large = [operand for operand in context.everything if operand.size >= _LARGE]
    largest = max(large, key=lambda operand: operand.size, default=None)
    if largest is None or largest.shape is None:
        return None
    amount = _amount(largest.size)
    return Mismatch(
        (largest.name,),
        {
            "en": f"The largest of them is {largest.quoted('en')}, {list(largest.shape)} {largest.dtype}: {amount}.",
            "zh": f"其中最大的是 {largest.quoted('zh')}，{list(largest.shape)} {largest.dtype}，{amount}。",
        },
    )


def _layout(context: CrashContext) -> Mismatch | None:
    broken = next((operand for operand in context.everything if not operand.is_contiguous), None)
    if broken is None:
        return None
    return Mismatch(
        (broken.name,),
        {
            "en": f"{broken.quoted('en')} is not contiguous: its elements are not in memory in the order of its dimensions.",
            "zh": f"{broken.quoted('zh')} 不连续：元素在内存中的顺序与维度顺序不一致。",
        },
    )


ASPECTS: dict[str, Callable[[CrashContext], Mismatch | None]] = {
    "device": _device,
    "dtype": _dtype,
    "shape": _shape,
    "grad": _grad,
    "mode": _mode,
    "size": _size,
    "layout": _layout,
}
"""What an entry's message can be about, with the function that compares the operands."""


def _split(operands: Sequence[Operand], attribute: str, wrong: str) -> tuple[list[Operand], list[Operand]]:
    """Return the operands whose attribute is `wrong`, and the others. What the reader has no name for is left out where there is a name."""
    misfits = [operand for operand in operands if getattr(operand, attribute) == wrong]
    fitting = [operand for operand in operands if getattr(operand, attribute) != wrong]
    return _named(misfits), _named(fitting)


def _named(operands: list[Operand]) -> list[Operand]:
    return [operand for operand in operands if not operand.owner] or operands[:1]


def _misplaced(operands: Sequence[Operand]) -> str:
    """Return the device on which something should not be, or nothing where there are not two: meta, else the CPU, else the rarer one."""
    devices = [operand.device for operand in operands]
    distinct = list(dict.fromkeys(devices))
    if len(distinct) != 2:
        return ""
    unwanted = next((device for device in ("meta", "cpu") if device in distinct), "")
    return unwanted or min(reversed(distinct), key=devices.count)


def _mistyped(operands: Sequence[Operand]) -> str:
    """Return the type that does not fit, or nothing where there are not two: what no layer has, else integers, else what is not float32."""
    distinct = list(dict.fromkeys(operand.dtype for operand in operands))
    if len(distinct) != 2:
        return ""
    layers = {operand.dtype for operand in operands if operand.kind == "module"}
    if len(layers) == 1:
        return next(dtype for dtype in distinct if dtype not in layers)
    whole = [dtype for dtype in distinct if "float" not in dtype]
    if len(whole) == 1:
        return whole[0]
    return next((dtype for dtype in reversed(distinct) if dtype != "float32"), "")


def _speaks_of(context: CrashContext, *sizes: int) -> bool:
    """Tell whether the error's message has these numbers. What it does not speak of cannot be why it was raised."""
    numbers = set(_NUMBER.findall(context.message))
    return all(str(size) in numbers for size in sizes)


def _of_broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, int] | None:
    """Return the dimensions, one of each shape, in which the shapes cannot be broadcast, or None where they can."""
    for back in range(1, min(len(left), len(right)) + 1):
        if left[-back] != right[-back] and 1 not in (left[-back], right[-back]):
            return len(left) - back, len(right) - back
    return None


def _of_product(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, int] | None:
    """Return the dimensions over which a matrix product sums, where their sizes differ."""
    if not left or not right:
        return None
    row = len(right) - min(2, len(right))
    return (len(left) - 1, row) if left[-1] != right[row] else None


def _of_batch(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, int] | None:
    """Return the first dimensions, which count samples, where their sizes differ."""
    return (0, 0) if left and right and left[0] != right[0] else None


def _names(operands: Sequence[Operand]) -> tuple[str, ...]:
    return tuple(operand.name for operand in operands)


def _list(operands: Sequence[Operand], lang: Lang) -> str:
    """Return the names as a list in the language; of many the first, and how many more."""
    names = [operand.quoted(lang) for operand in operands[:_MAX_NAMES]]
    more = len(operands) - len(names)
    if lang == "zh":
        return "、".join(names) + (f" 等 {len(operands)} 个" if more else "")
    if more:
        return f"{', '.join(names)} and {more} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _are(operands: Sequence[Operand]) -> str:
    return "is" if len(operands) == 1 else "are"


def _amount(size: int) -> str:
    """Return bytes in the unit that PyTorch's messages use."""
    amount, unit = float(size), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.2f} {unit}"
