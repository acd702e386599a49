"""Errors of clusters are exit code 2, as of any question that cannot be asked."""

from ksched_cli.live.client import ClusterError, KubeconfigError, MissingClientError, StatusError


def test_none_of_them_is_an_answer() -> None:
    for error in (ClusterError, KubeconfigError, MissingClientError, StatusError):
        assert error.exit_code == 2


def test_a_status_names_the_path_and_the_reason() -> None:
    error = StatusError("https://a", "/api/v1/pods", 403, "no")
    assert str(error) == "https://a/api/v1/pods: 403 no"
