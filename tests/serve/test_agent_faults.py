"""Twenty faults, each answered by the first call that an agent makes."""

from pathlib import Path

import pytest

from ksched_cli.run.run import Run
from ksched_cli.serve.answering import answered
from ksched_cli.serve.tools import BY_NAME, call_of
from tests.serve.agent_faults import TROUBLES, Trouble

MAX_TOKENS = 800  # of a text, each four characters


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.name)
def test_the_first_call_has_the_answer(trouble: Trouble, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(trouble.state)
    base = Run(states=(str(path),), extenders=False)
    call, _ = call_of(BY_NAME[trouble.tool], trouble.arguments, base)
    text = answered(call).text
    assert [part for part in trouble.says if part not in " ".join(text.split())] == []
    assert len(text) < 4 * MAX_TOKENS
