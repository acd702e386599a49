"""The args that every scorer takes, as upstream's GpuPluginCfg has them."""

from __future__ import annotations

from typing import Literal

import msgspec


class ScorerArgs(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Accepted as the paper's experiments have them; the scorer does not depend on them."""

    dim_ext_method: Literal["merge", "share"] = "share"
    norm_method: Literal["max"] = "max"


class DotProductArgs(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """merge and max: the node's cpu and the sum of its GPUs, in shares of the largest node.
    Upstream's other methods, which no experiment of the paper uses, are refused."""

    dim_ext_method: Literal["merge"] = "merge"
    norm_method: Literal["max"] = "max"
