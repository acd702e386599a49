"""What went wrong in plugins' code, each failure once, with the pods that it touched."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.failures import described, raise_users_interrupt
from ksched_cli.framework.status import Defect, MalformedError, MutationError, PluginError


@dataclass(slots=True)
class DefectLog:
    """defects: in the order they happened, each plugin, point and problem once
    noted:   how often a plugin failed with a defect
    """

    defects: dict[tuple[str, str, str], Defect] = field(default_factory=dict)
    noted: int = 0

    def note(self, plugin: str, point: str, error: BaseException, *pods: PodInfo) -> str:
        """Records a defect with its traceback; returns the message for the status.

        pods: that the call was about. Raises a KeyboardInterrupt of the user's again.
        """
        raise_users_interrupt(error)
        problem = described(error)
        message = f"plugin {plugin} failed in {point}: {problem}"
        detail = f"{message}\n"
        if not isinstance(error, MalformedError | MutationError):
            detail = "".join(traceback.format_exception(error))
        self.noted += 1
        defect = Defect(plugin, point, problem, detail)
        defect = self.defects.setdefault((plugin, point, problem), defect)
        defect.pods.update(dict.fromkeys(pod.key for pod in pods))
        return message

    def message(self, plugin: str, point: str, error: BaseException, *pods: PodInfo) -> str:
        """The message of a call that failed; anything but a PluginError is recorded."""
        if isinstance(error, PluginError):
            return str(error)
        return self.note(plugin, point, error, *pods)
