"""Named tuples whose classes are made fast.

`typing.NamedTuple` compiles a constructor for each class, and a cold look-up makes thirty classes: they and the import of `typing` took a fifth of its
time. The constructors here are closures. For a type checker the classes are those of `typing`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NamedTuple, Self
else:
    from collections import _tuplegetter  # as typing's: a value by its position, without a call

    class _FieldsFromAnnotations(type):
        """Makes the annotated names of a tuple its fields, and the values that they are given its defaults."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body[field] for field in fields if field in body}
            body |= {"_fields": fields, "__match_args__": fields, "_field_defaults": defaults, "__slots__": ()}
            body |= {field: _tuplegetter(position, "") for position, field in enumerate(fields)}
            if fields:
                body["__new__"] = _constructor(name, fields, defaults)
            return super().__new__(cls, name, bases, body)

    def _constructor(name: str, fields: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., Any]:
        count, new = len(fields), tuple.__new__

        def make(cls: type, /, *values: Any, **named: Any) -> Any:
            if len(values) == count and not named:
                return new(cls, values)
            try:
                rest = [named.pop(field) if field in named else defaults[field] for field in fields[len(values) :]]
            except KeyError as missing:
                raise TypeError(f"{name} lacks {missing.args[0]}") from None
            if named or len(values) > count:
                raise TypeError(f"{name} takes {', '.join(fields)}; got {values} and {named}")
            return new(cls, (*values, *rest))

        return make

    class NamedTuple(tuple, metaclass=_FieldsFromAnnotations):
        """A tuple with a name for each of its values, as `typing.NamedTuple`."""

        __slots__ = ()

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, /, **changed: Any) -> Self:
            replaced = tuple.__new__(type(self), map(changed.pop, self._fields, self))
            if changed:
                raise TypeError(f"{type(self).__name__} has no {', '.join(changed)}")
            return replaced

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)


__all__ = ["NamedTuple"]
