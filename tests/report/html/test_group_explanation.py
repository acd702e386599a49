"""The page of a pod group's explanation."""

from ksched_cli.analysis.explain import Blocker, Domain, GroupExplanation, Member
from ksched_cli.report.html.page import page_of
from ksched_cli.report.html.sections import BarsSection, CommandList, Grid, GroupsSection
from ksched_cli.report.view import shown_lines
from tests.report.html.pages import titled


def test_what_blocks_comes_first_then_the_domains_and_the_members() -> None:
    answer = GroupExplanation(
        group="ml/gang",
        min_count=2,
        topology_key="rack",
        pending=2,
        blocked_by=Blocker("ml/b", "r1", "Insufficient cpu"),
        domains=(Domain("r1", 3, 1, 2, False, False, "ml/b", "Insufficient cpu"),),
        members=(Member("ml/a", message="waits"), Member("ml/b", gated=True)),
    )
    blocks, domains, members, commands = page_of(answer).sections
    assert isinstance(blocks, GroupsSection)
    (group,) = blocks.groups
    assert group.heading == "ml/b in r1"
    assert [line.text for line in shown_lines(group.lede)] == [
        "kube-scheduler says: Insufficient cpu"
    ]
    assert isinstance(domains, BarsSection)
    assert domains.heading == "Tried by rack"
    assert [bar.cells for bar in domains.bars] == [["r1", "3", "no", "ml/b"]]
    assert [part.width for part in domains.bars[0].parts] == [500, 500]
    assert isinstance(members, Grid)
    assert titled(members.columns)["State"] == ["pending", "held back"]
    assert isinstance(commands, CommandList)
    assert [command.text for command in commands.commands] == [
        "ksched explain ml/b",
        "ksched fix ml/gang",
    ]
