"""A scheduler extender with Python's standard library, which places pods that need a licence.

A pod that needs a licence requests `example.com/licence`. An annotation of a node has its number of
licences, and the extender prefers the node with the most. Run it, and in another terminal ksched:

    python examples/extender/extender.py
    ksched schedule --state examples/extender/cluster.yaml --config examples/extender/scheduler.yaml
    ksched explain render --state examples/extender/cluster.yaml \
        --config examples/extender/scheduler.yaml

`--record-extenders calls.jsonl` records the calls. With `--replay-extenders calls.jsonl`, the
extender does not need to run.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LICENCES = "example.com/licences"
MAX_PRIORITY = 10


def licences(node):
    return int(node["metadata"].get("annotations", {}).get(LICENCES, 0))


def filter_nodes(args):
    """ExtenderArgs to ExtenderFilterResult."""
    nodes = args["Nodes"]["items"]
    return {
        "Nodes": {"items": [node for node in nodes if licences(node)]},
        "FailedAndUnresolvableNodes": {
            node["metadata"]["name"]: "node has no licence" for node in nodes if not licences(node)
        },
    }


def prioritize(args):
    """ExtenderArgs to HostPriorityList."""
    return [
        {"Host": node["metadata"]["name"], "Score": min(licences(node), MAX_PRIORITY)}
        for node in args["Nodes"]["items"]
    ]


VERBS = {"/filter": filter_nodes, "/prioritize": prioritize}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open

    def do_POST(self):
        args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = VERBS.get(self.path)
        body = json.dumps(verb(args) if verb else {"Error": f"no verb {self.path}"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8888
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
