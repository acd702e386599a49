package main

import (
	_ "unsafe" // for go:linkname

	"k8s.io/kubernetes/pkg/scheduler"
)

// numFeasibleNodesToFind is the scheduler's own count of nodes that are enough. It is not
// exported, and upstream's nodes are visited in parallel, so that a search goes on for a while
// after enough were found; the rules have it stop there.
//
//go:linkname numFeasibleNodesToFind k8s.io/kubernetes/pkg/scheduler.(*Scheduler).numFeasibleNodesToFind
func numFeasibleNodesToFind(sched *scheduler.Scheduler, percentage *int32, nodes int32) int32

// enough is how many of so many nodes the scheduler wants for a pod of a profile.
func (r *recorder) enough(nodes int) int {
	wanted := r.HasScorePlugins()
	for _, extender := range r.sched.Extenders {
		wanted = wanted || extender.IsFilter() || extender.IsPrioritizer()
	}
	if !wanted {
		return 1 // nothing will tell the nodes apart
	}
	return int(numFeasibleNodesToFind(r.sched, r.Framework.PercentageOfNodesToScore(), int32(nodes)))
}
