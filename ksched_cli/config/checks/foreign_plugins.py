"""Plugins of other builds of kube-scheduler: whose they are, and which points they extend.

kube-scheduler refuses them, the builds named here do not. Upstream: the Go types of each project.
"""

from __future__ import annotations

from collections.abc import Mapping

_PROJECTS: Mapping[str, Mapping[str, str]] = {
    "kubernetes-sigs/scheduler-plugins": {
        "CapacityScheduling": "preFilter postFilter reserve",
        "Coscheduling": "queueSort preFilter postFilter permit reserve",
        "CrossNodePreemption": "postFilter",
        "Diktyo": "",
        "LoadVariationRiskBalancing": "score",
        "LowRiskOverCommitment": "preScore score",
        "NetworkOverhead": "preFilter filter score",
        "NodeMetadata": "score",
        "NodeResourceLimits": "preScore score",
        "NodeResourceTopologyMatch": "preFilter filter score reserve postBind",
        "NodeResourcesAllocatable": "score",
        "Peaks": "score",
        "PodState": "score",
        "PreemptionToleration": "postFilter",
        "QOSSort": "queueSort",
        "SySched": "score",
        "TargetLoadPacking": "score",
        "TopologicalSort": "queueSort",
    },
    "koordinator": {
        "DefaultPreBind": "preBind",
        "DeviceShare": "preFilter filter preScore score reserve preBind",
        "ElasticQuota": "preFilter postFilter reserve",
        "LoadAwareScheduling": "preFilter filter score reserve",
        "NodeNUMAResource": "preFilter filter preScore score reserve preBind",
        "NodeResourcesFitPlus": "preScore score",
        "Reservation": "preFilter filter postFilter score reserve preBind bind",
        "ScarceResourceAvoidance": "preScore score",
        "SchedulingHint": "preFilter",
    },
    "gocrane/crane-scheduler": {"Dynamic": "filter score"},
    "alibaba/open-local": {"Open-Local": "preFilter filter score reserve preBind"},
    "alibaba/open-simulator": {
        "Open-Gpu-Share": "filter score reserve bind",
        "Simon": "score bind",
    },
    "Azure/placement-policy-scheduler-plugins": {
        "placementpolicy": "preFilter filter preScore score",
    },
}

# Plugin name → the project that it comes with.
FOREIGN_PLUGINS: Mapping[str, str] = {
    name: project for project, plugins in _PROJECTS.items() for name in plugins
}

# Plugin name → keys of the points that it extends there.
FOREIGN_POINTS: Mapping[str, frozenset[str]] = {
    name: frozenset(points.split())
    for plugins in _PROJECTS.values()
    for name, points in plugins.items()
}
