"""The project file: where it is found, what it may say, and which problems it has."""

from pathlib import Path

import pytest

from ksched_cli.errors import InputError
from ksched_cli.run.project import FILE, Projects, read_project


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.write_text(text)
    return path


def test_the_nearest_one_upwards_of_a_file_decides_alone(tmp_path: Path) -> None:
    write(tmp_path, "kubernetesVersion: '1.35'\nignore: [weights]\n")
    write(tmp_path / "a", "kubernetesVersion: '1.36'\n")
    projects = Projects()
    near, far = projects.of(str(tmp_path / "a" / "b" / "c.yaml")), projects.of(f"{tmp_path}/c.yaml")
    assert (near.settings.kubernetes_version, near.settings.ignore) == ("1.36", ())
    assert (far.settings.kubernetes_version, far.settings.ignore) == ("1.35", ("weights",))


def test_standard_input_has_that_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "noPlugins: true\n")
    monkeypatch.chdir(tmp_path)
    project = Projects().of("-")
    assert (project.path, project.settings.no_plugins) == (FILE, True)


def test_a_name_in_a_file_is_no_part_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path, "noPlugins: true\n")
    (tmp_path / "c.yaml").write_text("")
    assert Projects().of(f"{tmp_path}/c.yaml#a/b").settings.no_plugins


def test_an_empty_one_says_nothing(tmp_path: Path) -> None:
    assert read_project(str(write(tmp_path, "# nothing yet\n"))).settings.fail_on == "error"


def test_allowed_plugins_have_their_points(tmp_path: Path) -> None:
    project = read_project(str(write(tmp_path, "allowPlugins: [A, B=filter+score]\n")))
    assert [(plugin.name, plugin.points) for plugin in project.allowed] == [
        ("A", None),
        ("B", {"filter", "score"}),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ignor: [a]\n", ':1:1: ignor: unknown key "ignor"\n  did you mean "ignore"?'),
        (
            "kubernetesVersion: 1.35\n",
            ":1:1: kubernetesVersion: expected a string, got 1.35\n"
            '  put it in quotes: "1.35"',
        ),
        (
            "ignore: weights\n",
            ':1:1: ignore: expected a list, got "weights"\n'
            "  write it as a list: [weights]",
        ),
        (
            "select: weights\n",
            ':1:1: select: expected a list, got "weights"\n'
            "  write it as a list: [weights]",
        ),
        ("failOn: eror\n", ':1:1: failOn: "eror" is not one of error, warning\n  did you mean'),
        ("kind: Sweep\n", ':1:1: kind: "Sweep" is not one of Project'),
        ("kubernetesVersion: '1.12'\n", ":1:1: kubernetesVersion: takes 1.34, "),
        ("featureGates: Foo=true\n", ":1:1: featureGates: "),
        ('minCompatibilityVersion: "1.99"\n', ":1:1: minCompatibilityVersion: "),
        ("allowPlugins: [A=scor]\n", ':1:16: allowPlugins[0]: "scor" of A is not an'),
        (
            "select: [all, weigths]\n",
            ':1:15: select[1]: "weigths" is neither a rule nor a family of rules; did you mean "we',
        ),
        ("ignore: [unknown-key]\n", ':1:10: ignore[0]: "unknown-key" cannot be ignored'),
        ("perFileIgnores: {a: [foo]}\n", ':1:22: perFileIgnores.a[0]: "foo" is neither a rule'),
        ("- a\n", "expected a mapping, got a list"),
        ("a: b\n---\nc: d\n", "expected one document"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        read_project(str(write(tmp_path, text)))
    assert message in str(raised.value)


def test_all_problems_are_said_at_once(tmp_path: Path) -> None:
    text = "ignore: [a-rule]\nextendSelect: [b-rule]\nkubernetesVersion: '2.0'\n"
    with pytest.raises(InputError) as raised:
        read_project(str(write(tmp_path, text)))
    assert len(str(raised.value).splitlines()) == 3
