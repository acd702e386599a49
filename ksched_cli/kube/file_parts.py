"""The base of the types of files that ksched reads.

A type decodes its file, and schemas/generate.py makes the file's JSON Schema from it. A key's
description is the line of the class's docstring that begins with the field's name. A key that may
be left out has a default, or UNSET.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, structs

from ksched_cli.errors import InputError

# Types of values.
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Texts: TypeAlias = Annotated[tuple[Text, ...], Meta(min_length=1)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
# An integer stays one, as results show it.
Amount: TypeAlias = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]
Time: TypeAlias = Amount | str  # seconds, or a duration such as 1h30m


class FilePart(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An object in a file that ksched reads."""

    RULES: ClassVar[tuple[Any, ...]] = ()  # Rules of file_rules, which most files do not load
    # What such an object is, for an error about an object that breaks a rule.
    EXPECTED: ClassVar[str] = ""

    def given(self, key: str) -> Any:
        """Return the value of a key of the file; None if it is left out, or is none of the
        type."""
        fields = dict(zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True))
        value = getattr(self, fields[key]) if key in fields else UNSET
        return None if value is UNSET else value

    def check_rules(self) -> None:
        """Check the rules of the part. Raises ValueError where a rule does not hold."""
        fields = zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
        given = [key for name, key in fields if getattr(self, name) is not UNSET]
        for rule in self.RULES:
            if not rule.holds(given, self):
                raise ValueError(f"{type(rule).__name__} does not hold")


class RuledPart(FilePart, frozen=True, kw_only=True):
    """An object that is checked against its rules when it is decoded."""

    def __post_init__(self) -> None:
        self.check_rules()


_File = TypeVar("_File", bound=FilePart)


def kind_of(file_type: type[FilePart]) -> str:
    """Return the `kind` of the type's files. In lower case, it names their schema."""
    kind = next(field for field in structs.fields(file_type) if field.name == "kind")
    return str(get_args(kind.type)[0])


def decode_file(data: Any, file_type: type[_File], text: str, source: str, hint: str) -> _File:
    """Decode plain data of a file. Raises InputError, with every problem and its place in the text.

    hint: what such a document begins with
    """
    try:
        return msgspec.convert(data, file_type)
    except msgspec.ValidationError as error:
        # JSON Schema, which is slow to load, finds every problem and its place.
        from ksched_cli.kube.document_schemas import check_document

        check_document(data, kind_of(file_type).lower(), text, source, hint)
        raise InputError(source, str(error), hint=hint) from None
