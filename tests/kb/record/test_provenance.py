import pytest

from kb.record.provenance import packages_printing, provenance, versions_printing

OLD = "def f(n):\n    if n < 0:\n        raise ValueError(f'expected a count of at least zero, got {n}')\n"
NEW = "def f(n):\n    raise ValueError(f'the count {n} has to be at least zero')\n"


@pytest.fixture
def record(make_record):
    make_record(
        {"0.1": {"torchtext/data.py": OLD}, "0.2": {"torchtext/data.py": OLD}, "0.3": {"torchtext/data.py": NEW}}
    )


@pytest.mark.usefixtures("record")
class TestProvenance:
    def test_a_message_leads_to_its_function_condition_and_releases(self):
        (origin,) = provenance("expected a count of at least zero, got -3")
        assert (origin.package, origin.function, origin.condition, origin.type) == (
            "torchtext",
            "torchtext.data.f",
            "n < 0",
            "ValueError",
        )
        assert [str(part) for part in origin.ranges] == ["≤0.1–0.2"]

    def test_the_source_is_linked_at_the_newest_release_that_has_it(self):
        (origin,) = provenance("expected a count of at least zero, got -3")
        assert origin.address.endswith("/blob/v0.2/torchtext/data.py#L3")

    def test_a_message_of_nobody_has_no_origin(self):
        assert provenance("expected something entirely different here") == ()

    def test_a_wording_has_the_releases_that_print_it(self):
        (ranges,) = versions_printing("ValueError: the count {int} has to be at least zero").values()
        assert ranges[0].since == "0.3"

    def test_the_packages_that_print_a_message_are_told_with_their_releases(self):
        (ranges,) = packages_printing("expected a count of at least zero, got -3", "ValueError").values()
        assert [str(part) for part in ranges] == ["≤0.1–0.2"]

    @pytest.mark.parametrize("error_type", ["KeyError", "torch.OutOfMemoryError"])
    def test_a_message_of_another_type_is_printed_by_no_package(self, error_type):
        assert packages_printing("expected a count of at least zero, got -3", error_type) == {}

    def test_a_long_message_is_looked_at_up_to_a_bound(self):
        assert provenance("a b c d e f " * 100_000) == ()


def test_a_message_of_a_library_is_pieced_together(make_record):
    filler = b" " * 4096
    make_record(
        {
            "0.1": {"torchtext/_C.so": b"\x00mat1 and mat2 shapes cannot be multiplied (\x00" + filler},
            "0.2": {"torchtext/_C.so": b"\x00size mismatch between both of them\x00" + filler},
        },
        reads_libraries=True,
    )
    (origin,) = provenance("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)")
    assert (origin.library, origin.ranges[0].gone) == ("_C", "0.2")
    assert versions_printing("RuntimeError: mat1 and mat2 shapes cannot be multiplied ({int}x{int} and {int}x{int})")


def test_what_printf_puts_into_a_text_of_a_library_is_a_placeholder(make_record):
    make_record(
        {"0.1": {"torchtext/_C.so": b"\x00element %d of tensors does not require grad at all\x00" + b" " * 4096}},
        reads_libraries=True,
    )
    (origin,) = provenance("element 0 of tensors does not require grad at all")
    assert origin.library == "_C"


def test_a_message_with_many_values_is_known_by_its_beginning(make_record):
    text = "raise ValueError(f'the folder {a} contains {b} entries and {c} files in {d} places, more than {e}')"
    make_record({"0.1": {"torchtext/data.py": text}})
    (origin,) = provenance("the folder x contains 3 entries and 4 files in 5 places, more than 2")
    assert origin.type == "ValueError"


def test_words_in_the_middle_of_a_message_are_no_message_of_python_code(make_record):
    make_record({"0.1": {"torchtext/data.py": "raise TypeError('received an odd combination of arguments')"}})
    assert provenance("permute() received an odd combination of arguments") == ()
    assert provenance("got TypeError('received an odd combination of arguments')")
