//go:build !from137

package main

import (
	"context"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// decoders are of kinds that the scheduler reads in another version than others of their group.
var decoders map[string]runtime.Decoder

// replayedLater are kinds that timelines may change in later minors only.
var replayedLater []runtime.Object

// addsUnschedulable ends the name of the method that queues a pod that failed.
const addsUnschedulable = ".AddUnschedulableIfNotPresent"

//go:linkname flushUnschedulable k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulablePodsLeftover
func flushUnschedulable(queue *internalqueue.PriorityQueue, logger klog.Logger)

// defaultPodLevel does nothing: the decoder fills these defaults in.
func defaultPodLevel(*v1.Pod) {}

// queued is what the queue has of a pod.
func queued(queue internalqueue.SchedulingQueue, pod *v1.Pod) (*framework.QueuedPodInfo, bool) {
	return queue.GetPod(pod.Name, pod.Namespace)
}

func deleteQueued(c *cluster, pod *v1.Pod) { c.sched.SchedulingQueue.Delete(pod) }

func (s *steady) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, pdbs []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
	victims, violations, status := s.Interface.SelectVictimsOnNode(ctx, state, pod, node, pdbs)
	s.found(node, victims, violations, status)
	return victims, violations, status
}

// orderRescored does nothing: these minors score no node again in a batch.
func orderRescored(framework.Framework) {}

type queuedEntity = *framework.QueuedPodInfo

// entityOf is what the queue has of a pod.
func entityOf(c *cluster, pod *v1.Pod) (queuedEntity, bool) {
	return queued(c.sched.SchedulingQueue, pod)
}

// inOrderOfArrival leaves pods in their order.
func inOrderOfArrival(pods []*v1.Pod) []*v1.Pod { return pods }

// incomplete are the pods of groups that have no object, where the queue has groups.
func incomplete(internalqueue.SchedulingQueue) []string { return nil }

// awaitsResize is false: only pods without a node are queued.
func awaitsResize(*v1.Pod) bool { return false }
