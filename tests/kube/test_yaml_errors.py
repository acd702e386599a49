"""What is wrong with YAML, without a parser of it."""

import subprocess
import sys

from ksched_cli.kube.yaml_errors import Duplicate, YamlError


def test_a_key_that_is_written_twice_is_told_as_go_yaml_tells_it() -> None:
    assert Duplicate("a", 3, 1).text() == 'line 3: key "a" already set in map'
    assert Duplicate(7, 3, 1).text() == "line 3: key 7 already set in map"


def test_an_error_has_its_place() -> None:
    error = YamlError("yaml: line 2: wrong", 2, 5)
    assert (str(error), error.line, error.column) == ("yaml: line 2: wrong", 2, 5)


def test_who_reads_json_loads_no_yaml_parser() -> None:
    script = (
        "import io, sys\n"
        "from ksched_cli.cluster.loading.load import load_state\n"
        "from ksched_cli.kube.documents import load_documents\n"
        "assert list(load_documents('{}', 'a.json')) == [{}]\n"
        'data = b\'{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}\'\n'
        "assert load_state(['-'], io.BytesIO(data)).nodes\n"
        "assert 'yaml' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
