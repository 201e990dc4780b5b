"""The list of what tensors and modules have is that of the torch that is installed, and keeps Python's own words out."""

import pytest

from kb.templates import attributes
from kb.templates.attributes import MODULE, TENSOR, is_attribute, is_of_pytorch_alone
from tests.conftest import REPOSITORY


def test_a_name_that_python_has_itself_is_no_attribute():
    assert is_attribute(TENSOR, "unsqueeze")
    assert is_attribute(MODULE, "load_state_dict")
    assert not is_attribute(MODULE, "unsqueeze")
    for name in ("split", "items", "append", "format", "my_method"):
        assert not is_attribute(TENSOR, name)


def test_a_name_that_numpy_has_is_not_of_pytorch_alone():
    assert is_of_pytorch_alone("requires_grad")
    assert not is_of_pytorch_alone("shape")
    assert not is_of_pytorch_alone("my_method")


@pytest.mark.torch
def test_the_list_has_what_the_installed_torch_has():
    path = REPOSITORY / "kb" / "templates" / "data" / "attributes.txt"
    listed = {line.split()[0] for line in path.read_text("utf-8").splitlines()}
    import torch

    has = {name.lower() for type_ in (torch.Tensor, torch.nn.Module) for name in dir(type_) if name[0] != "_"}
    assert listed <= has
    assert not {name for name in has - listed if attributes.is_attribute(TENSOR, name)}
    assert {"unsqueeze", "cuda", "backward", "state_dict", "register_buffer"} <= listed
