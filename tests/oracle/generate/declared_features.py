"""Pods that need features of kubelets, and nodes that declare some, in order or not."""

from generate.resources import light
from generate.world import Draft, Draw, Object, World, sometimes, with_args

FEATURES = (
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "SomethingElse",
)


def declare(world: World) -> None:
    draw = world.draw
    for node in world.nodes:
        features = draw.some(FEATURES, 0, len(FEATURES))
        if draw.maybe(0.85):
            features.sort()
        node["status"]["declaredFeatures"] = features


def restart_all(world: World, pod: Object) -> None:
    container = pod["spec"]["containers"][0]
    exit_codes = {"operator": "In", "values": [42]}
    action = world.draw.pick(("RestartAllContainers", "Restart"))
    container["restartPolicy"] = "Never"
    container["restartPolicyRules"] = [{"action": action, "exitCodes": exit_codes}]


def host_network(world: World, pod: Object) -> None:
    pod["spec"]["hostNetwork"] = True
    if world.draw.maybe(0.8):
        pod["spec"]["hostUsers"] = world.draw.maybe(0.2)


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(2, 7)
    declare(world)
    features = (sometimes(0.4, restart_all), sometimes(0.4, host_network))
    world.add_pods(draw.randint(0, 3), draw.randint(3, 8), light, *features)
    return world.draft(with_args() if draw.maybe(0.1) else None)
