"""Recipes of public traces: which options of `timeline from-csv` a trace needs, and its nodes.

A recipe is a YAML file: of this package by its name, or of one's own by its path.
"""

from __future__ import annotations

from importlib.resources import files

import msgspec
from msgspec import Struct, field

from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.documents import decode_text, load_documents, read_file
from ksched_cli.kube.quantity import Quantity, QuantityError
from ksched_cli.scenario.timelines.event_lines import Plain
from ksched_cli.scenario.timelines.trace_csv import node_manifest

_SUFFIXES = (".yaml", ".yml")
_HINT = "Expected a recipe: about, source, file, options, nodes (docs/traces.md)."


class NodeRecipe(Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes that are alike, named NAME-0, NAME-1, …"""

    name: str
    count: int
    capacity: dict[str, str]
    labels: dict[str, str] = field(default_factory=dict)


class Recipe(Struct, frozen=True, forbid_unknown_fields=True):
    """about: what the trace is. source: where it is. file: its name there. options: of from-csv, by
    their names; paths are beside the trace. nodes: where no file has them"""

    about: str
    source: str
    file: str
    options: dict[str, str | bool | list[str]]
    nodes: tuple[NodeRecipe, ...] = ()

    def node_manifests(self) -> list[Plain]:
        return [
            node_manifest(f"{each.name}-{index}", each.capacity, each.labels)
            for each in self.nodes
            for index in range(each.count)
        ]


def recipe_names() -> list[str]:
    """Return the recipes of this package."""
    folder = files(__package__).joinpath("recipes")
    return sorted(path.name.removesuffix(".yaml") for path in folder.iterdir())


def read_recipe(name: str) -> Recipe:
    """Read a recipe by its name, or from a file. Raises UsageError for another name, InputError for
    a file that is no recipe."""
    if name.endswith(_SUFFIXES):
        raw, source = read_file(name)
        text = decode_text(raw, source)
    elif name in recipe_names():
        source = f"recipe {name}"
        text = files(__package__).joinpath("recipes", f"{name}.yaml").read_text(encoding="utf-8")
    else:
        listed = ", ".join(recipe_names())
        raise UsageError(f'--recipe takes {listed}, or a file, *.yaml; not "{name}"')
    documents = list(load_documents(text, source))
    try:
        (document,) = documents
        recipe = msgspec.convert(document, Recipe)
    except (ValueError, msgspec.ValidationError) as error:
        raise InputError(source, f"this is not a recipe: {error}", hint=_HINT) from None
    for resource, amount in (pair for node in recipe.nodes for pair in node.capacity.items()):
        try:
            Quantity.parse(amount)
        except QuantityError:
            problem = f'nodes: "{amount}" is not an amount of {resource}'
            raise InputError(source, problem, hint=_HINT) from None
    return recipe
