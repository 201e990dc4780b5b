import ast
import textwrap

import pytest

from kb.record.source import read_source


def read(text, module="pkg", **options):
    return read_source(ast.parse(textwrap.dedent(text)), module, **{"is_package": True, **options})


def test_names_of_every_kind_are_read():
    names = read(
        """
        import os, torch.nn as nn
        from .sub import thing as renamed
        LIMIT = 3
        def f(a, b=1, *args, c, d=2, **rest): ...
        class C(nn.Module):
            size = 1
            def __init__(self, width, *, bias=True): self.weight = None
            def forward(self, x): ...
            @property
            def shape(self): ...
        """
    ).names
    assert names["nn"].target == "torch.nn"
    assert names["renamed"].target == "pkg.sub:thing"
    assert names["f"].signature == "a,b=,*args,c,d=,**rest"
    assert (names["C"].target, names["C"].signature) == ("nn.Module", "width,*,bias=")
    assert {"C.size", "C.forward", "C.shape", "C.weight", "LIMIT", "os"} <= names.keys()


def test_names_for_type_checkers_alone_are_no_names_of_the_module():
    source = read("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from x import Y\nelse:\n    Z = 1")
    assert source.names["Y"].is_typing_only
    assert not source.names["Z"].is_typing_only


def test_what_another_package_may_bring_is_no_name_of_a_module_that_does_not_export_it():
    optional = "try:\n    from other import A, B\nexcept ImportError:\n    B = None\ntry:\n    from pkg.sub import C\nexcept ImportError:\n    pass"
    hidden = {
        name for name, definition in read(f"__all__ = ['D']\n{optional}").names.items() if definition.is_typing_only
    }
    assert hidden == {"A"}
    assert not read(optional).names["A"].is_typing_only


@pytest.mark.parametrize(
    "text",
    [
        "def __getattr__(name): ...",
        "globals()[make()] = 1",
        "globals().update(names)",
        "import sys\nsys.modules[__name__] = Lazy()",
        "for name in names:\n    globals()[name] = 1",
        "exec(code)",
        "def register(name):\n    def wrap(function):\n        globals()[name] = function\n    return wrap",
        "_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)",
        "import sys\nfor name in names:\n    setattr(sys.modules[__name__], name, 1)",
        "import sys\nthis = sys.modules[__name__]\ndef fill():\n    setattr(this, make(), 1)",
        "import sys\nthis = sys.modules[__name__]\nthis.__dict__.update(names)",
        "import sys\nvars(sys.modules[__name__])[make()] = 1",
        "import sys\nsys.modules[__name__].__class__ = Lazy",
        "fill(globals())",
        "namespace = globals()",
        "from .lazy import __getattr__",
        "__getattr__ = make_getattr(__name__)",
    ],
)
def test_a_module_that_makes_names_at_run_time_is_dynamic(text):
    assert read(text).dynamic


@pytest.mark.parametrize(
    "text",
    [
        "setattr(self, name, 1)",
        "print(globals().get('x'))",
        "def f(module):\n    setattr(module, 'x', 1)",
        "hasattr(globals(), 'x')",
        "x.update(y)",
    ],
)
def test_what_sets_no_name_of_the_module_leaves_it_as_it_is(text):
    source = read(text)
    assert not source.dynamic
    assert "pkg" not in source.extended


def test_names_that_are_set_in_another_module_are_known():
    source = read(
        "import torch\nimport pkg.sub as sub\nsub.made = 1\nsetattr(sub, 'named', 1)\nfor n in names:\n    setattr(torch.nn, n, 1)"
    )
    assert {"pkg.sub.made", "pkg.sub.named"} <= source.written
    assert source.extended == {"torch.nn": "setattr"}


@pytest.mark.parametrize(
    ("text", "served", "missing"),
    [
        (
            "def __getattr__(name):\n    if name == 'old':\n        return 1\n    raise AttributeError(name)",
            {"old"},
            set(),
        ),
        (
            "_table = {'a': 1}\n_table.update({n: 2 for n in ['b']})\ndef __getattr__(name):\n    return _table[name]",
            {"a", "b"},
            set(),
        ),
        (
            "_gone = {'c': 'message'}\ndef __getattr__(name):\n    if name in _gone:\n        raise AttributeError(_gone[name])",
            set(),
            {"c"},
        ),
        (
            "__all__ = ['d']\ndef __getattr__(name):\n    if name not in __all__:\n        raise AttributeError\n    return make(name)",
            {"d"},
            set(),
        ),
    ],
)
def test_names_that_getattr_returns_are_names_and_those_for_which_it_raises_are_not(text, served, missing):
    source = read(text)
    assert source.dynamic == "__getattr__"
    assert served <= source.names.keys()
    assert not missing & source.names.keys()


def test_variables_of_loops_and_with_statements_are_names():
    names = read("for key, (a, b) in table:\n    pass\nwith make() as made:\n    pass").names
    assert {"key", "a", "b", "made"} <= names.keys()


def test_a_condition_that_may_hold_at_run_time_is_not_for_type_checkers():
    source = read("from typing import TYPE_CHECKING\nif available() or TYPE_CHECKING:\n    from x import Y")
    assert not source.names["Y"].is_typing_only


@pytest.mark.parametrize(
    ("text", "removed"),
    [
        (
            'def f(x):\n    """Doc."""\n    raise RuntimeError(\'f was removed. Use g instead.\')',
            "f was removed. Use g instead.",
        ),
        (
            "class f:\n    def __init__(self):\n        raise RuntimeError('f is no longer supported')",
            "f is no longer supported",
        ),
        ("def f(x):\n    if x:\n        return 1\n    raise RuntimeError('this mode was removed')", ""),
        ("def f(x):\n    raise NotImplementedError", ""),
        ("def f(x):\n    raise NotImplementedError('a subclass has to implement it')", ""),
    ],
)
def test_what_only_raises_that_it_was_removed_says_so(text, removed):
    assert read(text).names["f"].removed == removed


@pytest.mark.parametrize(
    ("docstring", "notice"),
    [
        (
            "f(x)\n\nDoes it.\n\n.. warning::\n\n    :func:`torch.f` is deprecated in favor of g.",
            ":func:`torch.f` is deprecated in favor of g",
        ),
        ("Does it.\n\n.. deprecated:: 2.5\n    Use g.", "2.5 Use g."),
        ("Does it.\n\n.. deprecated:: 2.0\n    ``flag=False`` is deprecated.", ""),
        ("Does it.\n\nArgs:\n    x: a number\n        .. deprecated:: 2.0", ""),
        ("Does it.\n\n.. warning::\n    :func:`other` is deprecated.", ""),
    ],
)
def test_a_docstring_of_compiled_code_says_what_is_deprecated(docstring, notice):
    source = read(f"add_docstr(torch.f, {docstring!r})")
    assert source.documented == {"torch.f": notice}


def test_a_written_out_name_in_globals_is_a_name():
    source = read("globals()['made'] = 1")
    assert "made" in source.names
    assert not source.dynamic


def test_lazy_structures_are_read():
    source = read(
        """
        _import_structure = {"models.bert": ["BertModel"], "utils": []}
        if True:
            _import_structure["models.gpt"] = ["GPT"]
            _import_structure["models.gpt"].extend(["GPTConfig"])
        sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], _import_structure)
        """
    )
    assert source.names["BertModel"].target == "pkg.models.bert:BertModel"
    assert source.names["GPTConfig"].target == "pkg.models.gpt:GPTConfig"
    assert source.is_lazy


def test_a_loop_over_dir_counts_as_a_star_import():
    source = read(
        "from torch import _C\nfor name in dir(_C._VariableFunctions):\n    globals()[name] = getattr(_C, name)",
        "torch",
    )
    assert source.stars[0].module == "torch._C._VariableFunctions"


def test_a_deleted_name_is_gone():
    assert "x" not in read("x = 1\ndel x").names


def test_all_is_put_together():
    assert read("__all__ = ['a']\n__all__ += ['b']\n__all__.extend(['c'])").exported == {"a", "b", "c"}


def test_a_data_class_takes_its_fields():
    assert read("@dataclass\nclass A:\n    x: int\n    y: int = 0").names["A"].signature == "x,y="


@pytest.mark.parametrize(
    "text",
    [
        '@deprecated("use `new` instead")\ndef f(): ...',
        'def f():\n    """Do it.\n\n    .. deprecated:: 1.2\n        Use `new` instead.\n    """',
        'def f():\n    warnings.warn("f is deprecated, use `new` instead")',
    ],
)
def test_deprecations_are_noticed(text):
    assert "new" in read(text).names["f"].deprecated


def test_a_deprecated_argument_is_no_deprecated_function():
    assert not read('@deprecated_args("a", message="use b")\ndef f(a): ...').names["f"].deprecated


def test_a_former_name_that_a_decorator_accepts_is_a_parameter():
    text = (
        '@deprecate_kwarg("tokenizer", new_name="processor", version="5.0")\ndef f(model, processor=None, **rest): ...'
    )
    assert read(text).names["f"].signature == "model,processor=,*,tokenizer=,**rest"


def test_overloads_of_a_stub_are_one_signature():
    names = read("def f(a): ...\ndef f(b, c=...): ...", is_stub=True).names
    assert names["f"].signature == "a|b,c="


@pytest.mark.parametrize(
    ("text", "exported"),
    [
        ("__all__ = ['a', 'b'] + ['c']", {"a", "b", "c"}),
        ("__all__ = ['a']\n__all__ += ['b']\n__all__.append('c')", {"a", "b", "c"}),
        ("__all__ = list(set(names) | {'a'})", None),
        ("__all__ = ['a']\n__all__ += sub.__all__", None),
        ("__all__ = [*sub.__all__, 'a']\n__all__ += ['b']", None),
        ("a = 1", None),
    ],
)
def test_what_is_exported_is_known_only_where_it_is_written_out(text, exported):
    assert read(text).exported == exported


def test_names_that_a_function_makes_for_the_module_are_known():
    source = read("register(__name__, {'old_model': 'model'})")
    assert source.written == {"pkg.old_model"}
