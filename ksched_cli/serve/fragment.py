"""The part of kube-scheduler's configuration that makes it ask this extender."""

from __future__ import annotations

from typing import Any

from ksched_cli.config.effective import Configuration
from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.kube.shown_yaml import block_yaml
from ksched_cli.serve.listening import Listening
from ksched_cli.serve.plugins import verbs, weight_of

TOKEN = "TOKEN"  # nosec B105  # stands for the token, which is not printed


def fragment(configuration: Configuration, listening: Listening, token_file: str) -> str:
    """YAML of a KubeSchedulerConfiguration with nothing but the extender."""
    offered = {verb for profile in configuration.profiles for verb in verbs(profile)}
    url = listening.url(listening.port)
    if listening.token:
        url = url.replace("://", f"://ksched:{TOKEN}@")
    extender: dict[str, Any] = {"urlPrefix": url}
    extender |= {
        f"{verb}Verb": verb for verb in ("filter", "prioritize", "preempt") if verb in offered
    }
    if "prioritize" in offered:
        extender["weight"] = weight_of(configuration)
    extender |= {"nodeCacheCapable": True, "httpTimeout": "5s", "ignorable": False}
    if listening.certificate:
        extender |= {"enableHTTPS": True, "tlsConfig": {"caFile": listening.certificate}}
    document = {"apiVersion": API_VERSION, "kind": KIND, "extenders": [extender]}
    text = block_yaml(document)
    if listening.token:
        text = f"# {TOKEN} stands for what {token_file} holds.\n{text}"
    return text.rstrip("\n")
