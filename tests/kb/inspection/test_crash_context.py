"""What a program had in its hands where it failed: names as written, metadata alone, and none of the program's own code run."""

import pytest

from kb.inspection.crash_context import crash_context
from kb.inspection.operands import describe

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module", autouse=True)
def _torch():
    """Import torch for these tests alone: `make quick` collects them as well."""
    global torch, nn  # noqa: PLW0603
    torch = pytest.importorskip("torch")
    nn = torch.nn


def context_of(call, **where):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever the program raises
        call()
    return crash_context(caught.value, str(caught.value), **where)


def names(operands):
    return [operand.name for operand in operands]


def test_the_operands_of_a_sum_are_named_as_written():
    left, table = torch.ones(3, 4), {"right": torch.ones(3, 5, requires_grad=True)}
    context = context_of(lambda: left + table["right"])
    assert context.expression.code == 'left + table["right"]'
    assert names(context.operands) == ["left", "table['right']"]
    assert [operand.shape for operand in context.operands] == [(3, 4), (3, 5)]
    assert [operand.requires_grad for operand in context.operands] == [False, True]


def test_of_an_expression_over_several_lines_the_part_that_failed_is_meant():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 4)
            self.blocks = nn.ModuleList([nn.Linear(4, 4)])

        def forward(self, x):
            return self.blocks[0](
                self.fc(x.double())
            )  # fmt: skip

    context = context_of(lambda: Net()(torch.ones(2, 8)))
    assert context.expression.code == "self.fc(x.double())"
    assert context.layer == "self.fc"
    assert [(operand.name, operand.dtype, operand.owner) for operand in context.inputs] == [
        ("self.fc", "float32", ""),
        ("input", "float64", "self.fc"),
    ]
    assert names(context.nested) == ["x"], "the layer got what x.double() made of it"


def test_the_layer_that_failed_inside_a_model_is_named_through_the_model():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Sequential(nn.Flatten(), nn.Linear(7, 2)))
    context = context_of(lambda: model(torch.ones(2, 3, 6, 6)))
    assert context.layer == "model[1][1]"
    linear, given = context.inputs
    assert linear.settings == (("in_features", "7"), ("out_features", "2"))
    assert (given.name, given.owner, given.shape) == ("input", "model[1][1]", (2, 128))


def test_a_layer_that_has_no_name_is_called_by_its_class_and_its_arguments_by_the_readers_names():
    scores, labels = torch.ones(4, 3), torch.zeros(2, dtype=torch.long)
    context = context_of(lambda: nn.CrossEntropyLoss()(scores, labels))
    assert context.layer == "CrossEntropyLoss"
    assert names(context.inputs) == ["CrossEntropyLoss", "scores", "labels"]


def test_of_a_list_of_tensors_those_that_differ_are_named():
    xs = [torch.ones(3, 4)] * 20 + [torch.ones(3, 5)]
    assert names(context_of(lambda: torch.cat(xs)).operands) == ["xs", "xs[0]", "xs[1]", "xs[2]", "xs[20]"]


def test_the_layout_of_tensors_and_arrays():
    numpy = pytest.importorskip("numpy")
    turned, image = torch.ones(3, 4).t(), numpy.ones((4, 5))[:, ::2]
    (operand,) = context_of(lambda: turned.view(12)).operands
    assert not operand.is_contiguous
    assert not describe("image", image).is_contiguous
    assert describe("image", image).dtype == "float64"


def test_the_error_whose_frame_is_asked_for_is_meant():
    a, b, c = torch.ones(2), torch.ones(3), torch.ones(4)

    def fail():
        try:
            a + b
        except RuntimeError as error:
            try:
                a + c
            except RuntimeError:
                raise ValueError from error

    line = fail.__code__.co_firstlineno
    assert names(context_of(fail, file=__file__, line=line + 2).operands) == ["a", "b"]


class Spy:
    """An object that remembers whether any of its code ran."""

    ran = False

    def __getattribute__(self, name):
        Spy.ran = True
        return object.__getattribute__(self, name)

    def __repr__(self):
        Spy.ran = True
        return "spy"

    __str__ = __len__ = __iter__ = __eq__ = __getitem__ = __repr__
    __hash__ = object.__hash__


def test_none_of_the_programs_own_code_is_run():
    class SpyTensor(torch.Tensor):
        """A tensor that would be asked about each of its attributes."""

        ran = False

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            SpyTensor.ran = True
            return super().__torch_function__(func, types, args, kwargs or {})

    class SpyModule(nn.Module):
        """A module that would be asked for its layers."""

        ran = False

        def __getattr__(self, name):
            SpyModule.ran = True
            return super().__getattr__(name)

        def named_modules(self, *args, **kwargs):
            SpyModule.ran = True
            return super().named_modules(*args, **kwargs)

        parameters = named_parameters = __repr__ = named_modules

    spy, tensor, module, other = Spy(), torch.ones(3).as_subclass(SpyTensor), SpyModule(), torch.ones(4)
    module.fc = nn.Linear(3, 4)

    def fail():
        holder = {"spy": spy, "tensor": tensor}
        never = False  # what is written but not run must not be run by a look at it either
        raise ValueError(spy.thing if never else 1, module.fc, tensor, other, holder["spy"], spy[0] if never else 0)

    with pytest.raises(ValueError, match="1") as caught:
        fail()
    Spy.ran = SpyTensor.ran = SpyModule.ran = False
    context = crash_context(caught.value)
    assert {"module.fc", "tensor", "other"} <= {*names(context.operands), *names(context.nested)}
    assert not any(kind.ran for kind in (Spy, SpyTensor, SpyModule))


def test_a_subclass_whose_metadata_is_the_programs_own_is_left_out():
    class Odd(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise AssertionError

    assert describe("odd", torch.ones(2).as_subclass(Odd)) is None


def test_sparse_nested_and_meta_tensors_are_described():
    assert describe("a", torch.ones(2, 2).to_sparse()).shape == (2, 2)
    assert describe("b", torch.ones(2, 2, device="meta")).device == "meta"
    with pytest.warns(UserWarning, match="prototype"):
        nested = torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])
    assert describe("c", nested).shape is None


def test_the_work_is_bounded(monkeypatch):
    """A model of many layers and a list of many tensors are looked at in part."""
    model = nn.Sequential(*(nn.Linear(1, 1) for _ in range(3000)))
    xs = [torch.ones(1)] * 100_000
    context = context_of(lambda: model(xs))
    described = {operand.name: operand for operand in context.everything}
    assert described["model"].parameters <= 500
    assert len(context.everything) < 40


def test_without_source_nothing_is_known():
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("1 / 0", "no_such_file.py", "exec"))
    assert crash_context(caught.value.with_traceback(caught.value.__traceback__.tb_next)) is None
    assert crash_context(ValueError("never raised")) is None
