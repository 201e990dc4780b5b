"""Which operand does not fit: told from metadata alone, and only where the message speaks of it."""

import pytest

from kb.inspection.crash_context import CrashContext
from kb.inspection.expression import Expression
from kb.inspection.mismatch import ASPECTS, find_mismatch
from kb.inspection.operands import Expectation, Operand


def tensor(name, shape=(2, 8), dtype="float32", device="cpu", **facts):
    return Operand(name, "tensor", "Tensor", shape=shape, dtype=dtype, device=device, **facts)


def layer(name="fc", dtype="float32", device="cpu", **facts):
    return Operand(name, "module", "Linear", dtype=dtype, device=device, **facts)


def sentence(aspect, *operands, code="f(x)", message="", lang="en", **context):
    expression = Expression("train.py", 1, (code,), 0, len(code))
    mismatch = find_mismatch(aspect, CrashContext(expression, operands, message=message, **context))
    return mismatch and (mismatch.names, mismatch.sentence[lang])


def test_what_is_on_the_cpu_is_moved_to_the_tensors_on_the_gpu():
    operands = tensor("mask"), tensor("x", device="cuda:0"), layer("self.weight", device="cuda:0")
    names, english = sentence("device", *operands)
    assert names == ("mask",)
    assert english == "`mask` is on cpu; `x` and `self.weight` are on cuda:0: move it there, `mask.to(x.device)`."
    assert sentence("device", *operands, lang="zh")[1] == (
        "`mask` 在 cpu 上，`x`、`self.weight` 在 cuda:0 上：用 `mask.to(x.device)` 搬过去。"
    )


def test_without_a_tensor_to_move_to_the_device_is_written_out():
    assert '`x.to("cuda:1")`' in sentence("device", tensor("x"), layer(device="cuda:1"))[1]


def test_of_two_gpus_the_rarer_one_does_not_fit():
    operands = tensor("a", device="cuda:0"), tensor("b", device="cuda:1"), tensor("c", device="cuda:0")
    assert sentence("device", *operands)[0] == ("b",)


def test_a_module_that_is_split_among_devices_is_named():
    assert sentence("device", tensor("x"), layer("model", device="cpu, cuda:0"))[0] == ("model",)


@pytest.mark.parametrize(
    ("types", "misfit"),
    [
        (("float64", "float32"), "a"),
        (("float32", "float64"), "b"),
        (("int64", "float64"), "a"),
        (("bfloat16", "float16"), "b"),
    ],
)
def test_of_two_types_the_one_that_is_unusual_does_not_fit(types, misfit):
    operands = [tensor(name, dtype=dtype) for name, dtype in zip("ab", types, strict=True)]
    assert sentence("dtype", *operands)[0] == (misfit,)


def test_a_layer_decides_which_type_fits():
    assert sentence("dtype", tensor("x"), layer(dtype="float16"))[0] == ("x",)


def test_types_of_which_the_message_does_not_speak_are_left_out():
    operands = tensor("rows", dtype="int64"), tensor("cache"), tensor("new", dtype="bfloat16")
    message = "got Float for the destination and BFloat16 for the source"
    assert sentence("dtype", *operands) is None
    assert sentence("dtype", *operands, message=message)[0] == ("new",)


def test_indices_are_whole_numbers():
    table = layer("emb", takes_indices=True)
    assert sentence("dtype", table, tensor("ids", dtype="int16"))[1] == (
        "`ids` is int16; `emb` takes whole numbers, int64 or int32."
    )
    assert sentence("dtype", table, tensor("ids", dtype="int64")) is None


def test_a_layer_says_which_size_it_takes():
    operands = layer(expectations=(Expectation("in_features", -1, 100),)), tensor("x", (4, 7200))
    message = "mat1 and mat2 shapes cannot be multiplied (4x7200 and 100x10)"
    assert sentence("shape", *operands, message=message) == (
        ("x",),
        "`x` is [4, 7200]: dimension 1 is 7200; `fc` takes 100 (`in_features`).",
    )
    assert sentence("shape", *operands, message="another error") is None


def test_a_layer_says_how_many_dimensions_it_takes():
    assert sentence("shape", layer("conv", dimensions=(3, 4)), tensor("x", (28, 28)))[1] == (
        "`x` is [28, 28], 2 dimensions; `conv` takes 3 or 4."
    )


@pytest.mark.parametrize(
    ("one", "two", "code", "message", "expected"),
    [
        ((3, 4), (3, 5), "a + b", "size of tensor a (4) must match tensor b (5)", "dimension 1, 4 and 5"),
        ((32, 10), (32,), "a * b", "(10) must match (32)", "dimension 1 of the first (10) does not go with dimension 0"),
        ((5, 64), (100, 64), "a @ b", "(5x64 and 100x64)", "dimension 1 of the first (64) does not go with dimension 0"),
        ((128, 10), (32,), "f(a, b)", "input batch_size (128) to match target batch_size (32)", "dimension 0, 128 and 32"),
        ((3, 4), (1, 4), "a + b", "sizes 3 and 1", None),
        ((3, 4), (3, 5), "a + b", "nothing of these sizes", None),
    ],
)  # fmt: skip
def test_two_shapes_that_do_not_go_together(one, two, code, message, expected):
    told = sentence("shape", tensor("a", one), tensor("b", two), code=code, message=message)
    assert (told and expected in told[1]) if expected else told is None


def test_what_a_layer_was_given_counts_before_what_the_expression_names():
    given = tensor("input", dtype="float64", owner="fc")
    told = sentence("dtype", tensor("x"), inputs=(layer(), given))
    assert told == (("input",), "`input` of `fc` is float64; `fc` is float32.")


def test_gradients():
    assert sentence("grad", tensor("w", requires_grad=True))[1] == "`w` is a leaf that requires a gradient."
    assert "carries a graph" in sentence("grad", tensor("y", requires_grad=True, is_leaf=False))[1]
    frozen = layer("model", parameters=4)
    assert sentence("grad", tensor("loss"), nearby=(frozen,))[1] == (
        "None of the 4 parameters of `model` requires a gradient."
    )


def test_modes_sizes_and_layouts():
    assert sentence("mode", layer(training=True))[1] == "`fc` is in training mode."
    assert sentence("size", tensor("a", size=1 << 20), tensor("b", size=3 << 30))[1].endswith("3.00 GiB.")
    assert sentence("size", tensor("a", size=1 << 20)) is None
    assert sentence("layout", tensor("a"), tensor("b", is_contiguous=False))[0] == ("b",)


@pytest.mark.parametrize("aspect", ["", "colour", *ASPECTS])
def test_nothing_is_said_where_nothing_is_known(aspect):
    assert sentence(aspect) is None


@pytest.mark.parametrize("aspect", ["device", "dtype"])
def test_nothing_is_said_where_all_are_alike_or_three_kinds_meet(aspect):
    three = ("cpu", "cuda:0", "cuda:1") if aspect == "device" else ("int64", "float32", "float16")
    assert sentence(aspect, tensor("a"), tensor("b")) is None
    assert sentence(aspect, *(tensor(value, **{aspect: value}) for value in three)) is None
