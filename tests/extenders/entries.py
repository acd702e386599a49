"""Entries of `extenders` in a configuration, and what their servers answer."""

from collections.abc import Callable
from typing import Any

from tests.extenders.servers import Server


def keeping(
    *names: str, failed: dict[str, str] | None = None, final: dict[str, str] | None = None
) -> Callable[..., Any]:
    """A filter that lets these pass, and says this of others."""

    def answer(data: dict[str, Any]) -> dict[str, Any]:
        failures = {"FailedNodes": failed or {}, "FailedAndUnresolvableNodes": final or {}}
        if data["NodeNames"] is not None:
            return failures | {"NodeNames": [name for name in data["NodeNames"] if name in names]}
        items = [item for item in data["Nodes"]["items"] if item["metadata"]["name"] in names]
        return failures | {"Nodes": {"items": items}}

    return answer


def scoring(**scores: Any) -> Callable[..., Any]:
    return lambda data: [{"Host": host, "Score": score} for host, score in scores.items()]


def filtering(server: Server, path: str = "", **fields: Any) -> dict[str, Any]:
    return {
        "urlPrefix": server.url + path,
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        **fields,
    }


def ranking(server: Server, path: str = "", weight: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "urlPrefix": server.url + path,
        "prioritizeVerb": "prioritize",
        "weight": weight,
        "nodeCacheCapable": True,
        **fields,
    }
