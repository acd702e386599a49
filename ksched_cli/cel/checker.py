"""Type-checks CEL expressions over the variable `device`, and says which overloads each call may
have.

Upstream: cel-go/checker (checker.go, types.go, errors.go), cel-go/common/stdlib/standard.go,
cel-go/cel (library.go, validator.go), cel-go/ext (strings.go, lists.go, sets.go,
comprehensions.go), apiserver/pkg/cel/library, dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import permutations
from typing import Any, NamedTuple

from ksched_cli.cel.parser import CelSyntaxError
from ksched_cli.cel.regex import RegexError, compiled
from ksched_cli.cel.standard import CONVERSIONS, clauses, format_problem
from ksched_cli.cel.syntax import (
    CallExpression,
    CheckedExpression,
    Comprehension,
    Constant,
    Expr,
    Identifier,
    ListLiteral,
    MapEntry,
    MapLiteral,
    Select,
)
from ksched_cli.cel.values import CelError, type_name

# Overload, function and parameters, result. A dot goes before the name of a member; A and B stand
# for any types.
_OVERLOADS = """
conditional _?_:_(bool, A, A) A; logical_and _&&_(bool, bool) bool
logical_or _||_(bool, bool) bool; logical_not !_(bool) bool
not_strictly_false @not_strictly_false(bool) bool; equals _==_(A, A) bool
not_equals _!=_(A, A) bool; add_bytes _+_(bytes, bytes) bytes
add_double _+_(double, double) double; add_duration_duration _+_(duration, duration) duration
add_duration_timestamp _+_(duration, timestamp) timestamp
add_timestamp_duration _+_(timestamp, duration) timestamp; add_int64 _+_(int, int) int
add_list _+_(list(A), list(A)) list(A); add_string _+_(string, string) string
add_uint64 _+_(uint, uint) uint; divide_double _/_(double, double) double
divide_int64 _/_(int, int) int; divide_uint64 _/_(uint, uint) uint; modulo_int64 _%_(int, int) int
modulo_uint64 _%_(uint, uint) uint; multiply_double _*_(double, double) double
multiply_int64 _*_(int, int) int; multiply_uint64 _*_(uint, uint) uint
negate_double -_(double) double; negate_int64 -_(int) int
subtract_double _-_(double, double) double
subtract_duration_duration _-_(duration, duration) duration; subtract_int64 _-_(int, int) int
subtract_timestamp_duration _-_(timestamp, duration) timestamp
subtract_timestamp_timestamp _-_(timestamp, timestamp) duration
subtract_uint64 _-_(uint, uint) uint; index_list _[_](list(A), int) A
index_map _[_](map(A, B), A) B
optional_list_index_int _[_](optional_type(list(A)), int) optional_type(A)
optional_map_index_value _[_](optional_type(map(A, B)), A) optional_type(B)
list_optindex_optional_int _[?_](list(A), int) optional_type(A)
optional_list_optindex_optional_int _[?_](optional_type(list(A)), int) optional_type(A)
map_optindex_optional_value _[?_](map(A, B), A) optional_type(B)
optional_map_optindex_optional_value _[?_](optional_type(map(A, B)), A) optional_type(B)
in_list @in(A, list(A)) bool; in_map @in(A, map(A, B)) bool; size_bytes size(bytes) int
bytes_size .size(bytes) int; size_list size(list(A)) int; list_size .size(list(A)) int
size_map size(map(A, B)) int; map_size .size(map(A, B)) int; size_string size(string) int
string_size .size(string) int; type type(A) type(A); bool_to_bool bool(bool) bool
string_to_bool bool(string) bool; bytes_to_bytes bytes(bytes) bytes
string_to_bytes bytes(string) bytes; double_to_double double(double) double
int64_to_double double(int) double; string_to_double double(string) double
uint64_to_double double(uint) double; duration_to_duration duration(duration) duration
string_to_duration duration(string) duration; to_dyn dyn(A) dyn; int64_to_int64 int(int) int
double_to_int64 int(double) int; duration_to_int64 int(duration) int
string_to_int64 int(string) int; timestamp_to_int64 int(timestamp) int
uint64_to_int64 int(uint) int; string_to_string string(string) string
bool_to_string string(bool) string; bytes_to_string string(bytes) string
double_to_string string(double) string; duration_to_string string(duration) string
int64_to_string string(int) string; timestamp_to_string string(timestamp) string
uint64_to_string string(uint) string; timestamp_to_timestamp timestamp(timestamp) timestamp
int64_to_timestamp timestamp(int) timestamp; string_to_timestamp timestamp(string) timestamp
uint64_to_uint64 uint(uint) uint; double_to_uint64 uint(double) uint
int64_to_uint64 uint(int) uint; string_to_uint64 uint(string) uint
contains_string .contains(string, string) bool; ends_with_string .endsWith(string, string) bool
starts_with_string .startsWith(string, string) bool; matches matches(string, string) bool
matches_string .matches(string, string) bool; optional_of optional.of(A) optional_type(A)
optional_ofNonZeroValue optional.ofNonZeroValue(A) optional_type(A)
optional_none optional.none() optional_type(A); optional_value .value(optional_type(A)) A
optional_hasValue .hasValue(optional_type(A)) bool
optional_or_optional .or(optional_type(A), optional_type(A)) optional_type(A)
optional_orValue_value .orValue(optional_type(A), A) A; list_last .last(list(A)) optional_type(A)
list_first .first(list(A)) optional_type(A)
optional_unwrap optional.unwrap(list(optional_type(A))) list(A)
optional_unwrapOpt .unwrapOpt(list(optional_type(A))) list(A)
string_char_at_int .charAt(string, int) string; string_index_of_string .indexOf(string, string) int
string_index_of_string_int .indexOf(string, string, int) int
list_a_index_of_int .indexOf(list(A), A) int
string_last_index_of_string .lastIndexOf(string, string) int
string_last_index_of_string_int .lastIndexOf(string, string, int) int
list_a_last_index_of_int .lastIndexOf(list(A), A) int
string_lower_ascii .lowerAscii(string) string
string_replace_string_string .replace(string, string, string) string
string_replace_string_string_int .replace(string, string, string, int) string
string_split_string .split(string, string) list(string)
string_split_string_int .split(string, string, int) list(string)
string_substring_int .substring(string, int) string
string_substring_int_int .substring(string, int, int) string; string_trim .trim(string) string
string_upper_ascii .upperAscii(string) string; string_format .format(string, list(dyn)) string
strings_quote strings.quote(string) string; list_join .join(list(string)) string
list_join_string .join(list(string), string) string; list_slice .slice(list(A), int, int) list(A)
list_flatten .flatten(list(list(A))) list(A); list_flatten_int .flatten(list(dyn), int) list(dyn)
lists_range lists.range(int) list(int); list_reverse .reverse(list(A)) list(A)
list_distinct .distinct(list(A)) list(A)
list_sets_contains_list sets.contains(list(A), list(A)) bool
list_sets_equivalent_list sets.equivalent(list(A), list(A)) bool
list_sets_intersects_list sets.intersects(list(A), list(A)) bool
@mapInsert_map_key_value cel.@mapInsert(map(A, B), A, B) map(A, B)
@mapInsert_map_map cel.@mapInsert(map(A, B), map(A, B)) map(A, B)
string_to_quantity quantity(string) kubernetes.Quantity; is_quantity_string isQuantity(string) bool
quantity_sign sign(kubernetes.Quantity) int
quantity_is_greater_than .isGreaterThan(kubernetes.Quantity, kubernetes.Quantity) bool
quantity_is_less_than .isLessThan(kubernetes.Quantity, kubernetes.Quantity) bool
quantity_compare_to .compareTo(kubernetes.Quantity, kubernetes.Quantity) int
quantity_get_float .asApproximateFloat(kubernetes.Quantity) double
quantity_get_int .asInteger(kubernetes.Quantity) int
quantity_is_integer .isInteger(kubernetes.Quantity) bool
quantity_add .add(kubernetes.Quantity, kubernetes.Quantity) kubernetes.Quantity
quantity_add_int .add(kubernetes.Quantity, int) kubernetes.Quantity
quantity_sub .sub(kubernetes.Quantity, kubernetes.Quantity) kubernetes.Quantity
quantity_sub_int .sub(kubernetes.Quantity, int) kubernetes.Quantity
string_to_semver semver(string) kubernetes.Semver
string_bool_to_semver semver(string, bool) kubernetes.Semver
is_semver_string isSemver(string) bool; is_semver_string_bool isSemver(string, bool) bool
semver_is_greater_than .isGreaterThan(kubernetes.Semver, kubernetes.Semver) bool
semver_is_less_than .isLessThan(kubernetes.Semver, kubernetes.Semver) bool
semver_compare_to .compareTo(kubernetes.Semver, kubernetes.Semver) int
semver_major .major(kubernetes.Semver) int; semver_minor .minor(kubernetes.Semver) int
semver_patch .patch(kubernetes.Semver) int; string_find_string .find(string, string) string
string_find_all_string .findAll(string, string) list(string)
string_find_all_string_int .findAll(string, string, int) list(string)
string_to_ip ip(string) net.IP; cidr_ip .ip(net.CIDR) net.IP; is_ip isIP(string) bool
ip_is_canonical ip.isCanonical(string) bool; ip_family .family(net.IP) int
ip_is_unspecified .isUnspecified(net.IP) bool; ip_is_loopback .isLoopback(net.IP) bool
ip_is_link_local_multicast .isLinkLocalMulticast(net.IP) bool
ip_is_link_local_unicast .isLinkLocalUnicast(net.IP) bool
ip_is_global_unicast .isGlobalUnicast(net.IP) bool; string_to_cidr cidr(string) net.CIDR
is_cidr isCIDR(string) bool; cidr_contains_ip_string .containsIP(net.CIDR, string) bool
cidr_contains_ip_ip .containsIP(net.CIDR, net.IP) bool
cidr_contains_cidr_string .containsCIDR(net.CIDR, string) bool
cidr_contains_cidr .containsCIDR(net.CIDR, net.CIDR) bool
cidr_prefix_length .prefixLength(net.CIDR) int; cidr_masked .masked(net.CIDR) net.CIDR
"""
_DECLARATION = re.compile(r"(\S+) (\.?)([^( ]+)\((.*)\) (\S+(?: \S+)?)")
_ORDERED = ("int", "uint", "double", "duration", "bool", "timestamp", "string", "bytes")
_SUMMABLE = ("int", "uint", "double", "duration")
_NUMBERS = {"int": "int64", "uint": "uint64", "double": "double"}
_COMPARISONS = {"<": "less", "<=": "less_equals", ">": "greater", ">=": "greater_equals"}
_TIME_PARTS = {
    "FullYear": "year",
    "Month": "month",
    "DayOfYear": "day_of_year",
    "DayOfMonth": "day_of_month",
    "Date": "day_of_month_1_based",
    "DayOfWeek": "day_of_week",
    "Hours": "hours",
    "Minutes": "minutes",
    "Seconds": "seconds",
    "Milliseconds": "milliseconds",
}


class Type(NamedTuple):
    """name: of a type's parameter, it begins with `_`."""

    name: str
    parameters: tuple[Type, ...] = ()

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(map(str, self.parameters))})"


DYN, ERROR, BOOL, INT, STRING = map(Type, ("dyn", "!error!", "bool", "int", "string"))
NULL = Type("null")
DEVICE = Type("kubernetes.DRADevice")
# Upstream has no such limit: each optMap doubles what it is called on, until memory is out.
_MAX_NODES = 100_000
_WRONG = (DYN, ERROR, Type("any"))
_NULLABLE = (
    *("null", "optional_type", "kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR"),
    *(DEVICE.name, "any", "duration", "timestamp"),
)
# What `device` has.
_FIELDS = {
    "driver": "string",
    "attributes": "map(string, map(string, {attribute}))",
    "capacity": "map(string, map(string, kubernetes.Quantity))",
    "allowMultipleAllocations": "bool",
}
_TYPES = {
    **{name: name for name in ("bool", "bytes", "double", "int", "uint", "string", "type")},
    "list": "list(dyn)",
    "map": "map(dyn, dyn)",
    "null_type": "null",
    "net.IP": "net.IP",
    "net.CIDR": "net.CIDR",
    "optional_type": "optional_type(dyn)",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
}
_RESULTS = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}
_NULL_VALUE = "google.protobuf.NullValue.NULL_VALUE"
# Literals in its arguments may be of several types.
_MIXES_TYPES = "format"


class Overload(NamedTuple):
    name: str
    parameters: tuple[Type, ...]
    result: Type
    is_member: bool
    is_generic: bool


@cache
def type_of(text: str) -> Type:
    """Return the type that is written so."""
    name, _, inner = text.partition("(")
    parameters: list[str] = []
    depth = start = 0
    for end, character in enumerate(inner):
        depth += (character == "(") - (character == ")")
        if depth < 0 or (character == "," and not depth):
            parameters.append(inner[start:end].strip())
            start = end + 1
    name = f"_{name}" if name in ("A", "B") else name
    return Type(name, tuple(type_of(parameter) for parameter in parameters if parameter))


def _lines(reads_lists: bool) -> Iterator[str]:
    yield from re.split("[;\\n] ?", _OVERLOADS.strip())
    for symbol, name in _COMPARISONS.items():
        for kind in _ORDERED:
            yield f"{name}_{_NUMBERS.get(kind, kind)} _{symbol}_({kind}, {kind}) bool"
        for left, right in permutations(_NUMBERS, 2):
            overload = f"{name}_{_NUMBERS[left]}_{_NUMBERS[right]}"
            yield f"{overload} _{symbol}_({left}, {right}) bool"
    for kind in _ORDERED:
        yield f"list_{kind}_is_sorted_bool .isSorted(list({kind})) bool"
        yield f"list_{kind}_min_{kind} .min(list({kind})) {kind}"
        yield f"list_{kind}_max_{kind} .max(list({kind})) {kind}"
        yield f"list_{kind}_sort .sort(list({kind})) list({kind})"
        by_keys = f".@sortByAssociatedKeys(list(A), list({kind})) list(A)"
        yield f"list_{kind}_sortByAssociatedKeys {by_keys}"
    for kind in _SUMMABLE:
        yield f"list_{kind}_sum_{kind} .sum(list({kind})) {kind}"
    for function, part in _TIME_PARTS.items():
        yield f"timestamp_to_{part} .get{function}(timestamp) int"
        yield f"timestamp_to_{part}_with_tz .get{function}(timestamp, string) int"
        if part.endswith("s"):
            yield f"duration_to_{part} .get{function}(duration) int"
    if reads_lists:
        yield "list_includes_dyn_dyn .includes(dyn, dyn) bool"


@cache
def _functions(reads_lists: bool) -> dict[str, list[Overload]]:
    functions: dict[str, list[Overload]] = {}
    for line in _lines(reads_lists):
        match = _DECLARATION.fullmatch(line)
        assert match is not None, line
        overload, dot, name, parameters, result = match.groups()
        signature = type_of(f"function({parameters})").parameters
        is_generic = "_A" in str((*signature, type_of(result)))
        kind = Overload(overload, signature, type_of(result), bool(dot), is_generic)
        functions.setdefault(name, []).append(kind)
    return functions


def check_types(
    root: Expr, reads_lists: bool
) -> tuple[CheckedExpression | None, list[tuple[int, str]]]:
    """What the expression is, or what is wrong with it: offsets and messages.

    reads_lists: attributes may be lists, and `includes` is known (kube.versions, Rules)
    """
    checker = _Checker(reads_lists)
    node, kind = checker.check(root)
    if checker.errors:
        return None, checker.errors
    checker.check_literals()
    if checker.errors:
        return None, checker.errors
    result = checker.bound(kind, True)
    return CheckedExpression(node, _RESULTS.get(str(result), str(result))), []


class _Checker:
    """bindings: of the variables that stand for types; their names begin with `_`."""

    def __init__(self, reads_lists: bool) -> None:
        self.errors: list[tuple[int, str]] = []
        self._functions = _functions(reads_lists)
        attribute = "dyn" if reads_lists else "any"
        self._fields = {
            name: type_of(kind.format(attribute=attribute)) for name, kind in _FIELDS.items()
        }
        self._locals: list[dict[str, Type]] = []
        self._bindings: dict[str, Type] = {}
        # What they were bound to before, in the order of changes.
        self._trail: list[tuple[str, Type | None]] = []
        self._nodes = 0
        self._variables = 0
        self._mixing = 0
        self._elements: list[tuple[int, Type]] = []
        # What must be of one type, in each literal: offsets and types.
        self._uniform: list[list[tuple[int, Type]]] = []
        # Calls whose literals are checked, and the types of the last list's elements.
        self._literal_calls: list[tuple[CallExpression, list[tuple[int, Type]]]] = []

    def check(self, node: Expr) -> tuple[Expr, Type]:
        """Return the node with what is known of it then, and its type. Raises CelSyntaxError."""
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise CelSyntaxError(-1, f"more than {_MAX_NODES} nodes, with macros expanded")
        match node:
            case Constant(value=value):
                return node, Type("null" if value is None else type_name(value))
            case Identifier():
                return self._identifier(node)
            case Select():
                return self._select(node)
            case CallExpression():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case Comprehension():
                return self._comprehension(node)

    def _error(self, offset: int, message: str) -> Type:
        self.errors.append((offset, message))
        return ERROR

    def _mismatch(self, offset: int, expected: Type, given: Type) -> Type:
        return self._error(offset, f"expected type '{expected}' but found '{given}'")

    def _undeclared(self, offset: int, name: str) -> Type:
        return self._error(offset, f"undeclared reference to '{name}' (in container '')")

    # -- names and fields --------------------------------------------------------------------------

    def _identifier(self, node: Identifier) -> tuple[Expr, Type]:
        for scope in reversed(self._locals):
            if node.name in scope:
                return node, scope[node.name]
        return self._global(node.name, node.offset) or (
            node,
            self._undeclared(node.offset, node.name),
        )

    def _global(self, name: str, offset: int) -> tuple[Expr, Type] | None:
        plain = name.removeprefix(".")
        if plain == "device":
            return Identifier(name, offset=offset), DEVICE
        if plain in _TYPES:
            return Identifier(plain, True, offset=offset), Type("type", (type_of(_TYPES[plain]),))
        return (Constant(0, offset=offset), INT) if plain == _NULL_VALUE else None

    def _select(self, node: Select) -> tuple[Expr, Type]:
        name = "" if node.test_only else _qualified(node)
        if name and not any(name.partition(".")[0] in scope for scope in self._locals):
            declared = self._global(name, node.offset)
            if declared is not None:
                return declared
        operand, kind = self._field(node.offset, node.operand, node.field, False)
        checked = Select(operand, node.field, node.test_only, offset=node.offset)
        return checked, BOOL if node.test_only else kind

    def _field(
        self, offset: int, operand: Expr, field: str, is_optional: bool
    ) -> tuple[Expr, Type]:
        """Return the operand, and the field's type."""
        checked, kind = self.check(operand)
        kind = self.bound(kind)
        if kind.name == "optional_type":
            is_optional, kind = True, kind.parameters[0]
        result = DYN
        if kind.name == "map":
            result = kind.parameters[1]
        elif kind == DEVICE:
            result = self._fields.get(field) or self._error(offset, f"undefined field '{field}'")
        elif kind.name[0] == "_":
            self._assign(DYN, kind)
        elif kind.name in ("kubernetes.Quantity", "kubernetes.Semver"):
            result = self._error(offset, f"unexpected failed resolution of '{kind}'")
        elif kind not in _WRONG:
            self._error(offset, f"type '{kind}' does not support field selection")
        return checked, self.bound(Type("optional_type", (result,)) if is_optional else result)

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, node: CallExpression) -> tuple[Expr, Type]:
        if node.function == "_?._":
            operand, field = node.arguments
            assert isinstance(field, Constant)
            checked, kind = self._field(node.offset, operand, str(field.value), True)
            overload = ("select_optional_field",)
            selected = CallExpression(
                node.function, (checked, field), node.is_member, overload, offset=node.offset
            )
            return selected, kind
        self._mixing += node.function == _MIXES_TYPES
        target = node.arguments[0] if node.is_member else None
        arguments = [self.check(argument) for argument in node.arguments[node.is_member :]]
        function = node.function.removeprefix(".") if target is None else node.function
        if target is not None:
            prefix = _qualified(target).removeprefix(".")
            if prefix and f"{prefix}.{function}" in self._functions:
                function, target = f"{prefix}.{function}", None
            else:
                arguments.insert(0, self.check(target))
        self._mixing -= node.function == _MIXES_TYPES
        nodes = tuple([argument for argument, _ in arguments])
        if function not in self._functions:
            return node, self._undeclared(node.offset, node.function)
        overloads, result = self._resolve(node.offset, function, target is not None, arguments)
        checked_call = CallExpression(
            function, nodes, target is not None, overloads, offset=node.offset
        )
        if function in ("format", "matches", "duration", "timestamp"):
            self._literal_calls.append((checked_call, self._elements))
        return checked_call, result

    def _resolve(
        self, offset: int, function: str, is_member: bool, arguments: Sequence[tuple[Expr, Type]]
    ) -> tuple[tuple[str, ...], Type]:
        """Return the overloads that the arguments' types allow, and the result's type."""
        kinds = [kind for _, kind in arguments]
        if function in ("_&&_", "_||_"):
            wrong = [each for each in arguments if not self._assign(each[1], BOOL)]
            for node, kind in wrong:
                self._mismatch(node.offset, BOOL, kind)
            return (function,), ERROR if wrong else BOOL
        names: list[str] = []
        result: Type | None = None
        for overload in self._functions[function]:
            if overload.is_member != is_member or len(overload.parameters) != len(kinds):
                continue
            parameters, returned = overload.parameters, overload.result
            if overload.is_generic:
                fresh = {"_A": self._variable(), "_B": self._variable()}
                parameters = tuple([_renamed(kind, fresh) for kind in parameters])
                returned = _renamed(returned, fresh)
            if not self._assign_all(kinds, parameters):
                continue
            names.append(overload.name)
            returned = self.bound(returned)
            if result is None:
                result = returned
            elif result not in _WRONG and returned != result:
                result = DYN
        if result is not None:
            return tuple(names), result
        texts = [str(self.bound(kind, True)) for kind in kinds]
        receiver = f"{texts.pop(0)}." if is_member else ""
        applied = f"'{function}' applied to '{receiver}({', '.join(texts)})'"
        return (), self._error(offset, f"found no matching overload for {applied}")

    # -- literals ----------------------------------------------------------------------------------

    def _list(self, node: ListLiteral) -> tuple[Expr, Type]:
        elements: list[Expr] = []
        uniform: list[tuple[int, Type]] = []
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            checked, kind = self.check(element)
            kind = self._unwrapped(element, kind, index in node.optional)
            elements.append(checked)
            uniform.append((checked.offset, kind))
            joined = self._joined(joined, kind)
        self._must_agree(uniform)
        self._elements = uniform
        literal = ListLiteral(tuple(elements), node.optional, offset=node.offset)
        return literal, Type("list", (joined or self._variable(),))

    def _map(self, node: MapLiteral) -> tuple[Expr, Type]:
        entries: list[MapEntry] = []
        keys: list[tuple[int, Type]] = []
        values: list[tuple[int, Type]] = []
        joined_key: Type | None = None
        joined_value: Type | None = None
        for entry in node.entries:
            key, key_kind = self.check(entry.key)
            joined_key = self._joined(joined_key, key_kind)
            value, kind = self.check(entry.value)
            kind = self._unwrapped(entry.value, kind, entry.optional)
            joined_value = self._joined(joined_value, kind)
            entries.append(MapEntry(key, value, entry.optional))
            keys.append((key.offset, key_kind))
            values.append((value.offset, kind))
        self._must_agree(keys)
        self._must_agree(values)
        parameters = (joined_key or self._variable(), joined_value or self._variable())
        return MapLiteral(tuple(entries), offset=node.offset), Type("map", parameters)

    def _unwrapped(self, node: Expr, kind: Type, is_optional: bool) -> Type:
        """Return the type of an element; of an optional one, that of its value."""
        if not is_optional:
            return kind
        if kind.name == "optional_type":
            return kind.parameters[0]
        if kind not in (DYN, Type("any")):
            self._mismatch(node.offset, Type("optional_type", (kind,)), kind)
        return kind

    def _joined(self, joined: Type | None, kind: Type) -> Type:
        if joined is None:
            return kind
        return _more_general(joined, kind) if self._assign(joined, kind) else DYN

    def _must_agree(self, typed: list[tuple[int, Type]]) -> None:
        if len(typed) > 1 and not self._mixing:
            self._uniform.append(typed)

    def check_literals(self) -> None:
        """Elements of a literal must all be of one type, and so must keys and values."""
        for typed in self._uniform:
            first = self.bound(typed[0][1], True)
            for offset, kind in typed[1:]:
                if self.bound(kind, True) != first:
                    self._mismatch(offset, first, self.bound(kind, True))
                    break
        for call, elements in self._literal_calls:
            if call.function == "format":
                self._check_format(call, elements)
                continue
            argument = call.arguments[min(len(call.arguments), 2) - 1]
            if isinstance(argument, Constant) and not _is_valid(call.function, argument.value):
                self._error(argument.offset, f"invalid {call.function} argument")

    def _check_format(self, call: CallExpression, elements: list[tuple[int, Type]]) -> None:
        pattern, values = call.arguments
        if not isinstance(pattern, Constant) or not isinstance(values, ListLiteral):
            return
        rest = iter(elements)
        used = 0
        try:
            for _, letter, _ in clauses(str(pattern.value), len(elements)):
                if not letter:
                    continue
                used += 1
                offset, kind = next(rest)
                name = _RESULTS.get(kind.name, self.bound(kind, True).name)
                problem = format_problem(letter, name)
                if problem and name != "dyn" and not (letter in "fe" and name == "string"):
                    self._error(offset, problem)
                    return
        except CelError as error:
            self._error(call.offset, str(error))
            return
        if used < len(elements):
            message = "too many arguments supplied to string.format"
            self._error(call.offset, f"{message} (expected {used}, got {len(elements)})")

    # -- comprehensions ----------------------------------------------------------------------------

    def _comprehension(self, node: Comprehension) -> tuple[Expr, Type]:
        over, kind = self.check(node.over)
        start, accumulated = self.check(node.start)
        kind = self.bound(kind)
        first = second = DYN
        if kind.name == "list":
            first = second = kind.parameters[0]
            if node.second_variable:
                first = INT
        elif kind.name == "map":
            first, second = kind.parameters
        elif kind.name[0] == "_" or kind in _WRONG[:2]:
            self._assign(DYN, kind)
        else:
            message = f"expression of type '{kind}' cannot be range of a comprehension"
            first = second = self._error(
                node.over.offset, f"{message} (must be list, map, or dynamic)"
            )
        self._locals.append({node.accumulator: accumulated})
        self._locals.append({node.variable: first, node.second_variable: second})
        condition, decided = self.check(node.condition)
        self._must_be(BOOL, condition.offset, decided)
        step, stepped = self.check(node.step)
        self._must_be(accumulated, step.offset, stepped)
        self._locals.pop()
        result, of_result = self.check(node.result)
        self._locals.pop()
        checked = Comprehension(
            *(node.variable, node.second_variable, over, node.accumulator, start),
            *(condition, step, result),
            offset=node.offset,
        )
        return checked, self.bound(of_result)

    def _must_be(self, expected: Type, offset: int, kind: Type) -> None:
        if not self._assign(expected, kind):
            self._mismatch(offset, expected, kind)

    # -- types -------------------------------------------------------------------------------------

    def _variable(self) -> Type:
        self._variables += 1
        return Type(f"_var{self._variables - 1}")

    def bound(self, kind: Type, unbound_is_dyn: bool = False) -> Type:
        """Return the type with its variables replaced, as far as they are bound."""
        while kind.name[0] == "_":
            if kind.name not in self._bindings:
                return DYN if unbound_is_dyn else kind
            kind = self._bindings[kind.name]
        if not kind.parameters:
            return kind
        parameters = [self.bound(each, unbound_is_dyn) for each in kind.parameters]
        return Type(kind.name, tuple(parameters))

    def _assign(self, left: Type, right: Type) -> bool:
        return self._assign_all((left,), (right,))

    def _assign_all(self, left: Sequence[Type], right: Sequence[Type]) -> bool:
        """Return whether the types go together; binds variables if so."""
        before = len(self._trail)
        if all(map(self._fits, left, right)):
            return True
        while len(self._trail) > before:
            name, bound = self._trail.pop()
            if bound is None:
                del self._bindings[name]
            else:
                self._bindings[name] = bound
        return False

    def _fits(self, left: Type, right: Type) -> bool:
        """Upstream: internalIsAssignable."""
        if left == right:
            return True
        if right.name[0] == "_":
            fits, has_binding = self._binds(left, right)
            if fits or has_binding:
                return fits
        if left.name[0] == "_":
            return self._binds(right, left)[0]
        if left in _WRONG or right in _WRONG:
            return True
        if left == NULL or right == NULL:
            return (left if right == NULL else right).name in _NULLABLE
        if left.name == "type":
            return right.name == "type"
        if left.name != right.name or len(left.parameters) != len(right.parameters):
            return False
        return all(map(self._fits, left.parameters, right.parameters))

    def _binds(self, kind: Type, variable: Type) -> tuple[bool, bool]:
        """Return whether the variable may stand for the type, and whether it is bound. Upstream:
        isValidTypeSubstitution."""
        bound = self._bindings.get(variable.name)
        if bound is None:
            may = not self._occurs(variable, kind)
            if may:
                self._bind(variable.name, kind)
            return may, False
        if kind == bound:
            return True, True
        if not self._fits(kind, bound):
            return False, True
        general = _more_general(kind, bound)
        if not self._occurs(variable, general):
            self._bind(variable.name, general)
        return True, True

    def _bind(self, name: str, kind: Type) -> None:
        self._trail.append((name, self._bindings.get(name)))
        self._bindings[name] = kind

    def _occurs(self, variable: Type, within: Type) -> bool:
        if variable == within:
            return True
        if within.name[0] == "_":
            bound = self._bindings.get(within.name)
            return bound is not None and self._occurs(variable, bound)
        return any(self._occurs(variable, each) for each in within.parameters)


def _is_valid(function: str, literal: Any) -> bool:
    """Return whether the function takes this literal."""
    try:
        if function == "matches":
            compiled(literal)
        else:
            CONVERSIONS[function](literal)
    except (CelError, RegexError):
        return False
    return True


def _qualified(node: Expr) -> str:
    """Return the dotted name that a chain of fields reads as, or ""."""
    names: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        names.append(node.field)
        node = node.operand
    return ".".join([node.name, *reversed(names)]) if isinstance(node, Identifier) else ""


def _renamed(kind: Type, names: dict[str, Type]) -> Type:
    if kind.name in names:
        return names[kind.name]
    if not kind.parameters:
        return kind
    return Type(kind.name, tuple([_renamed(each, names) for each in kind.parameters]))


def _more_general(left: Type, right: Type) -> Type:
    return left if _is_general(left, right) else right


def _is_general(left: Type, right: Type) -> bool:
    """Upstream: isEqualOrLessSpecific."""
    if left in (DYN, Type("any")) or left.name[0] == "_":
        return True
    if right in (DYN, Type("any")) or right.name[0] == "_" or left.name != right.name:
        return False
    if left.name == "type":
        return True
    if len(left.parameters) != len(right.parameters):
        return False
    return all(map(_is_general, left.parameters, right.parameters))
