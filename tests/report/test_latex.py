"""Tables as LaTeX."""

from ksched_cli.report.latex import as_latex
from ksched_cli.report.view import Column, Kind, Medium, Table, View


def test_a_table_is_a_tabular_whose_cells_are_escaped() -> None:
    table = Table(
        heading="Nodes",
        columns=[Column("Node"), Column("Used", Kind.SHARE)],
        rows=[("a_b & {c}", 0.5), ("d\\e", None)],
        note="100% of\nall",
    )
    page = Table(heading="Page", columns=[Column("x")], rows=[("y",)], on=Medium.PAGE)
    assert (
        as_latex(View(title="2 nodes", sections=[table, page]))
        == r"""% 2 nodes

% Nodes
\begin{tabular}{lr}
\toprule
Node & Used \\
\midrule
a\_b \& \{c\} & 50\% \\
d\textbackslash{}e &  \\
\bottomrule
\end{tabular}
% 100% of all"""
    )
