//go:build !from138

package main

import (
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

type preemptionCandidate = preemption.Candidate

// numFeasibleNodesToFind is the scheduler's own count of nodes that are enough, see early.go.
//
//go:linkname numFeasibleNodesToFind k8s.io/kubernetes/pkg/scheduler.(*Scheduler).numFeasibleNodesToFind
func numFeasibleNodesToFind(sched *scheduler.Scheduler, percentage *int32, nodes int32) int32

// bindByExtender is the scheduler's own, which has an extender bind a pod: it says whether one did, or could not.
func bindByExtender(c *cluster, _ framework.Framework, pod *v1.Pod, node string) (bool, error) {
	return extendersBinding(c.sched, klog.FromContext(c.ctx), pod, node)
}

//go:linkname extendersBinding k8s.io/kubernetes/pkg/scheduler.(*Scheduler).extendersBinding
func extendersBinding(sched *scheduler.Scheduler, logger klog.Logger, pod *v1.Pod, node string) (bool, error)

// kept is what the scheduler keeps of a kind: the objects themselves.
func kept(kind runtime.Object) (runtime.Object, func(any) any) { return kind, nil }

func listenToGroups(*scheduler.Scheduler) {}

func trackPod(*cluster, *v1.Pod) {}

func untrackPod(*cluster, *v1.Pod) {}

// scoresPlacements is an option that changes nothing.
func scoresPlacements(cfg *config.KubeSchedulerConfiguration) scheduler.Option {
	return scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore)
}

// failureMessage is what a pod's condition says.
func failureMessage(_ *v1.Pod, status *fwk.Status) string { return status.Message() }
