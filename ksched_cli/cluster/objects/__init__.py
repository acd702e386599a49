"""Kubernetes objects as a scheduler reads them: frozen, typed, in snake_case.

Field names are Kubernetes's own. A `null` in the input is the same as an absent field.
"""

from ksched_cli.cluster.objects.base import *
from ksched_cli.cluster.objects.devices import *
from ksched_cli.cluster.objects.node import *
from ksched_cli.cluster.objects.pod import *
from ksched_cli.cluster.objects.storage import *
from ksched_cli.cluster.objects.volumes import *
from ksched_cli.cluster.objects.workloads import *
