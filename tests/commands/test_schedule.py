"""`ksched schedule` on a state, as a user calls it."""

import json

import pytest

from ksched_cli.commands.main import main
from ksched_cli.testing import node, pod

# Its answer depends on the pods on the node, which NODE denies.
FORGETFUL = """
from ksched_cli.api import Scope, ScorePlugin

class Lonely(ScorePlugin):
    name = "Lonely"
    scope = Scope.NODE

    def score(self, state, pod, node):
        return 0 if node.pods else 100
"""


@pytest.mark.parametrize(("option", "second"), [((), "a"), (("--no-memory",), "b")])
def test_without_memory_a_broken_promise_shows(option, second, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    items = [node("a", cpu=1000), node("b", cpu=1000), pod("p0"), pod("p1")]
    state = {"apiVersion": "v1", "kind": "List", "items": items}
    (tmp_path / "cluster.json").write_text(json.dumps(state))
    (tmp_path / "lonely.py").write_text(FORGETFUL)
    monkeypatch.setattr(
        "sys.argv", ["ksched", "schedule", "--plugin", "lonely.py", "-o", "json", *option]
    )
    with pytest.raises(SystemExit):
        main()
    placements = json.loads(capsys.readouterr().out)["placements"]
    assert placements == {"default/p0": "a", "default/p1": second}
