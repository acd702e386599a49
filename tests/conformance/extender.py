#!/usr/bin/env python3
"""A scheduler extender whose answers depend only on names and labels.

    python extender.py [PORT]          (default 18700)

The first path part picks how it behaves, the second is the verb:

    /even/filter      nodes whose number is odd fail, and preemption could help
    /zone/filter      nodes outside the zone that the pod's label "zone" names fail for good
    /none/filter      every node fails, half of them for good
    /number/prioritize  score = the node's number modulo 11
    /few/prioritize   scores only the first two nodes it is given
    /evenvictims/preempt  drops candidates on odd nodes, keeps the victims of the rest
    /novictims/preempt    keeps every node and names no victim
    /broken/VERB      answers 500
    /garbage/VERB     answers 200 with text that is not JSON
    /error/VERB       answers 200 with the Error field set
    /slow/VERB        answers after two seconds
    /log              what bind was called with, as JSON

Fields are named as kube-scheduler's extender v1 types name them on the wire.
"""

import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BINDS: list[dict[str, Any]] = []


def number(name: str) -> int:
    m = re.search(r"(\d+)$", name)
    return int(m.group(1)) if m else 0


def answer(mode: str, verb: str, args: dict[str, Any]) -> Any:
    nodes = ((args.get("Nodes") or {}).get("items")) or []
    cached = args.get("NodeNames") is not None
    names = args["NodeNames"] if cached else [n["metadata"]["name"] for n in nodes]
    pod = args.get("Pod") or {}
    if mode == "error":
        return {"Error": "the extender says no"} if verb != "prioritize" else None
    if verb == "filter":
        keep, failed, final = [], {}, {}
        for i, name in enumerate(names):
            if mode == "even" and number(name) % 2:
                failed[name] = "odd node"
            elif (
                mode == "zone"
                and not cached
                and nodes[i]["metadata"].get("labels", {}).get("topology.kubernetes.io/zone")
                != pod["metadata"].get("labels", {}).get("zone", "a")
            ):
                final[name] = "wrong zone"
            elif mode == "none":
                (failed if number(name) % 2 else final)[name] = "no node will do"
            else:
                keep.append(name)
        out = {"FailedNodes": failed, "FailedAndUnresolvableNodes": final, "Error": ""}
        if cached:
            out["NodeNames"] = keep
        else:
            out["Nodes"] = {"items": [n for n in nodes if n["metadata"]["name"] in keep]}
        return out
    if verb == "prioritize":
        if mode == "few":
            names = sorted(names)[:2]
        return [{"Host": n, "Score": number(n) % 11} for n in names]
    if verb == "preempt":
        full, meta = args.get("NodeNameToVictims") or {}, args.get("NodeNameToMetaVictims") or {}
        out = {}
        for name in full or meta:
            if mode == "evenvictims" and number(name) % 2:
                continue
            if full:
                pods = [{"UID": p["metadata"]["uid"]} for p in full[name]["Pods"] or []]
                n = full[name].get("NumPDBViolations", 0)
            else:
                pods, n = meta[name]["Pods"], meta[name].get("NumPDBViolations", 0)
            out[name] = {"Pods": [] if mode == "novictims" else pods, "NumPDBViolations": n}
        return {"NodeNameToMetaVictims": out}
    if verb == "bind":
        BINDS.append(args)
        return {"Error": ""}
    return {"Error": f"no verb {verb}"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body would wait 40 ms for the headers to be acknowledged

    def say(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.say(200, json.dumps(BINDS if self.path == "/log" else []).encode())

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = self.path.strip("/").split("/")
        mode, verb = parts[0], parts[-1]
        if mode == "broken":
            self.say(500, b"boom")
            return
        if mode == "garbage":
            self.say(200, b"<html>not json</html>")
            return
        if mode == "slow":
            time.sleep(2)
        self.say(200, json.dumps(answer(mode, verb, json.loads(raw or b"{}"))).encode())

    def log_message(self, *a: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(
        ("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 18700), Handler
    ).serve_forever()
