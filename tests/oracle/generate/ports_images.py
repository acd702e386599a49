"""Host ports, and images that nodes have already."""

from generate.world import Draft, Draw, Object, World, sometimes

ACME = "ghcr.io/acme/app@sha256:" + "a" * 64
ON_NODES = (
    "docker.io/library/nginx:latest",
    ACME,
    "registry.k8s.io/big:v1",
    "docker.io/library/redis:7",
)
IN_PODS = (
    "docker.io/library/nginx",
    "nginx",
    "redis:7",
    "registry.k8s.io/big:v1",
    "absent:v9",
    ACME,
)
SIZES = (10485760, 24117248, 209715200, 943718400, 2621440000)


def image_nodes(world: World) -> None:
    draw = world.draw
    for node in world.nodes:
        images = []
        for name in draw.some(ON_NODES, 0, 4):
            names = [name]
            if draw.maybe(0.2):
                names.append(
                    draw.pick(
                        ("nginx:alias", "registry.k8s.io/big:v2", "docker.io/library/redis:8")
                    )
                )
            images.append({"names": names, "sizeBytes": draw.pick(SIZES)})
        node["status"]["images"] = images


def containers(world: World, pod: Object) -> None:
    draw = world.draw
    pod["spec"]["containers"] = [
        {
            "name": f"c{i}",
            "image": draw.pick(IN_PODS),
            "resources": {"requests": {"cpu": "50m"}},
        }
        for i in range(draw.randint(1, 3))
    ]
    if draw.maybe(0.2):
        image = draw.pick(IN_PODS)
        pod["spec"]["initContainers"] = [{"name": "i", "image": image}]


def ports(world: World, pod: Object) -> None:
    draw = world.draw
    containers = pod["spec"]["containers"] + pod["spec"].get("initContainers", [])
    for container in draw.some(containers, 1, 2):
        container["ports"] = [port(draw) for _ in range(draw.randint(1, 2))]
    if draw.maybe(0.15):
        pod["spec"]["hostNetwork"] = True
        for container in containers:
            for declared in container.get("ports", []):
                # The API server insists that they be equal under hostNetwork, or fills them in.
                if "hostPort" in declared:
                    declared["containerPort"] = declared["hostPort"]


def port(draw: Draw) -> Object:
    fields: Object = {
        "containerPort": draw.pick((80, 9090)),
        "hostPort": draw.pick((80, 8080, 9090)),
    }
    if draw.maybe(0.5):
        fields["protocol"] = draw.pick(("TCP", "UDP", "SCTP"))
    if draw.maybe(0.5):
        fields["hostIP"] = draw.pick(("127.0.0.1", "10.0.0.1", "0.0.0.0"))
    if draw.maybe(0.15):
        del fields["hostPort"]
    return fields


def sidecar(world: World, pod: Object) -> None:
    """Ports of a sidecar count as those of a container do."""
    container: Object = {"name": "s", "image": "nginx", "restartPolicy": "Always"}
    container["ports"] = [port(world.draw)]
    pod["spec"].setdefault("initContainers", []).append(container)


FEATURES = (containers, sometimes(0.6, ports), sometimes(0.15, sidecar))


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(3, 6)
    image_nodes(world)
    world.add_pods(draw.randint(0, 5), draw.randint(5, 10), *FEATURES)
    return world.draft()
