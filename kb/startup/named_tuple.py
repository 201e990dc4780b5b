"""Named tuples whose classes are made fast.

`typing.NamedTuple` compiles a constructor for each class, and a cold look-up makes thirty classes: they and the import of `typing` took a fifth of its
time. The classes here share one constructor. For a type checker they are those of `typing`.
"""

from __future__ import annotations

from operator import itemgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple, Self
else:

    class _FieldsFromAnnotations(type):
        """Makes the annotated names of a tuple its fields, and the values that they are given its defaults."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            fields = tuple(body.get("__annotations__", ()))
            body["_fields"] = body["__match_args__"] = fields
            body["_field_defaults"] = {field: body[field] for field in fields if field in body}
            body["__slots__"] = ()
            body |= {field: property(itemgetter(position)) for position, field in enumerate(fields)}
            return super().__new__(cls, name, bases, body)

    class NamedTuple(tuple, metaclass=_FieldsFromAnnotations):
        """A tuple with a name for each of its values, as `typing.NamedTuple`."""

        __slots__ = ()

        def __new__(cls, *values: Any, **named: Any) -> Self:
            """Return a tuple of the given values; a name without one has its default. TypeError where values are missing or too many."""
            fields = cls._fields
            if len(values) == len(fields) and not named:
                return tuple.__new__(cls, values)
            placed = dict(zip(fields, values, strict=False))
            given = {**cls._field_defaults, **placed, **named}
            if len(values) > len(fields) or placed.keys() & named.keys() or given.keys() != set(fields):
                raise TypeError(f"{cls.__name__} takes {', '.join(fields)}; got {values} and {named}")
            return tuple.__new__(cls, [given[field] for field in fields])

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, /, **changed: Any) -> Self:
            return type(self)(**{**self._asdict(), **changed})

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)


__all__ = ["NamedTuple"]
