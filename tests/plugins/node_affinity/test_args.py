"""The args of NodeAffinity: a node affinity that every pod of the profile gets."""

import pytest

from ksched_cli.plugins.args import NODE_AFFINITY_ARGS as ARGS
from ksched_cli.plugins.args import (
    NodeAffinity,
    NodeAffinityArgs,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from tests.plugins.args_checks import error_texts

REQUIRED = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
PREFERRED = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
Values = tuple[str, ...] | None


def requiring(*terms: NodeSelectorTerm) -> NodeAffinityArgs:
    return NodeAffinityArgs(added_affinity=NodeAffinity(NodeSelector(terms)))


def expression(operator: str, values: Values = None, key: str = "k") -> NodeSelectorTerm:
    return NodeSelectorTerm((NodeSelectorRequirement(key, operator, values),))


def field(operator: str, values: Values = None) -> NodeSelectorTerm:
    return NodeSelectorTerm(None, (NodeSelectorRequirement("metadata.name", operator, values),))


@pytest.mark.parametrize(
    "args",
    [
        NodeAffinityArgs(),
        requiring(),
        requiring(expression("In", ("a", "b")), expression("Exists"), expression("Lt", ("9",))),
        requiring(field("In", ("node",))),
    ],
)
def test_what_a_pod_may_have_is_right(args: NodeAffinityArgs) -> None:
    assert error_texts(ARGS, ARGS.with_defaults(args)) == []


@pytest.mark.parametrize(
    ("term", "path", "problem"),
    [
        (
            expression("Is"),
            "matchExpressions[0].operator",
            'Unsupported value: "Is": supported values: "In", "NotIn", "Exists", "DoesNotExist",'
            ' "Gt", "Lt"',
        ),
        (
            expression("In"),
            "matchExpressions[0].values",
            "Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            expression("Exists", ("a",)),
            "matchExpressions[0].values",
            'Invalid value: ["a"]: values set must be empty for exists and does not exist',
        ),
        (
            expression("Gt", ("1", "2")),
            "matchExpressions[0].values",
            "Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value is required",
        ),
        (
            expression("Gt", ("9223372036854775808",)),
            "matchExpressions[0].values[0]",
            "Invalid value: \"9223372036854775808\": for 'Gt', 'Lt' operators, the value must be"
            " an integer",
        ),
        (
            expression("Exists", key="/k"),
            "matchExpressions[0].key",
            'Invalid value: "/k": prefix part must be non-empty',
        ),
        (
            field("Exists"),
            "matchFields[0].operator",
            'Unsupported value: "Exists": supported values: "In", "NotIn"',
        ),
        (
            field("In", ("a", "b")),
            "matchFields[0].values",
            'Invalid value: ["a","b"]: must have one element',
        ),
    ],
)
def test_errors_have_upstreams_path_and_message(
    term: NodeSelectorTerm, path: str, problem: str
) -> None:
    args = requiring(NodeSelectorTerm(), term)
    assert error_texts(ARGS, args) == [f"{REQUIRED}[1].{path}: {problem}"]


def test_a_value_that_is_no_label_is_named_with_its_key() -> None:
    (text,) = error_texts(ARGS, requiring(expression("In", ("a b",))))
    assert text.startswith(f'{REQUIRED}[0].matchExpressions[0].values[0][k]: Invalid value: "a b"')


@pytest.mark.parametrize(("weight", "count"), [(0, 0), (1, 1)])
def test_a_preferred_term_without_weight_is_not_looked_at(weight: int, count: int) -> None:
    preferred = PreferredSchedulingTerm(weight, expression("In"))
    errors = error_texts(ARGS, NodeAffinityArgs(added_affinity=NodeAffinity(None, (preferred,))))
    assert len(errors) == count
    assert all(text.startswith(f"{PREFERRED}[0].matchExpressions[0].values") for text in errors)
