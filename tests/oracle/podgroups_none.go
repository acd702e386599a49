//go:build !from136

package main

import (
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// These minors have no pod groups, or others that are not followed.

// queuesGroups says whether groups are entities of the queue.
const queuesGroups = false

// groupKinds are fed to the scheduler by hand.
var groupKinds []runtime.Object

var groupVersions []schema.GroupVersion

func groupOf(*v1.Pod) string { return "" }

func rootOf(*cluster, *v1.Pod) string { return "" }

func (s *state) admitGroups(map[string]*schedulingv1.PriorityClass, *schedulingv1.PriorityClass) error {
	return nil
}

func joinGroup(*cluster, *v1.Pod) {}

// arrive tells the scheduler of a pod without a node.
func arrive(c *cluster, pod *v1.Pod) { addQueued(c, pod) }

func orderGroups(*replay) {}

func preEnqueued(*cluster, *v1.Pod) bool { return true }

func (r *run) scheduleGroup([]string) error { return nil }

// nodesInPlacement counts the nodes that may be visited.
func nodesInPlacement(r *recorder) int {
	all, _ := r.SnapshotSharedLister().NodeInfos().List()
	return len(all)
}

func inPlacement(r *recorder, node string) bool {
	_, err := r.SnapshotSharedLister().NodeInfos().Get(node)
	return err == nil
}
