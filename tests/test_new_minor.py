"""Which release of Kubernetes tests/oracle/new_minor.py looks at where nobody names one."""

from __future__ import annotations

from new_minor import later_tag


def test_it_is_the_newest_tag_of_a_later_minor() -> None:
    tags = ["v1.9.0", "v1.37.2", "v1.38.0-alpha.1", "v1.38.0-alpha.2"]
    assert later_tag(tags, "1.37") == "v1.38.0-alpha.2"
    assert later_tag([*tags, "v1.38.0"], "1.37") == "v1.38.0"
    assert later_tag(tags, "1.38") == ""
