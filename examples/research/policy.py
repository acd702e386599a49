"""A policy for ksched-referee: the node with the fewest GPUs left, and then with the least cpu."""


def score(pod, nodes):
    gpus = nodes.free["nvidia.com/gpu"] - pod.requests["nvidia.com/gpu"]
    cpu = nodes.free["cpu"] - pod.requests["cpu"]
    return -1000 * gpus - cpu
