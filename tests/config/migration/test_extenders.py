"""A Policy's extenders in v1's words."""

from ksched_cli.config.migration.migrate import edit_extenders
from ksched_cli.config.migration.settle import Remarks
from ksched_cli.kube.document_edits import EditableDocument


def edited(text: str) -> str:
    document = EditableDocument(text)
    edit_extenders(document, Remarks(text))
    return document.text


def test_keys_have_their_case_and_timeouts_a_unit() -> None:
    text = edited(
        "extenders:\n- urlPrefix: http://a  # where\n  enableHttps: true\n"
        "  httpTimeout: 1500000000\n  TLSConfig: {CAFile: /ca.pem}\n"
    )
    assert text == (
        "extenders:\n- urlPrefix: http://a  # where\n"
        "  httpTimeout: 1.5s\n  enableHTTPS: true\n  tlsConfig:\n    caFile: /ca.pem\n"
    )


def test_what_is_right_stays_as_it_is() -> None:
    text = "extenders: [{urlPrefix: 'http://a', tlsConfig: {insecure: true}}]  # e\n"
    assert edited(text) == text
    assert edited("a: 1\n") == "a: 1\n"
