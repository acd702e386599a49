//go:build !from138

package main

import (
	_ "unsafe" // for go:linkname

	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

type preemptionCandidate = preemption.Candidate

// numFeasibleNodesToFind is the scheduler's own count of nodes that are enough, see early.go.
//
//go:linkname numFeasibleNodesToFind k8s.io/kubernetes/pkg/scheduler.(*Scheduler).numFeasibleNodesToFind
func numFeasibleNodesToFind(sched *scheduler.Scheduler, percentage *int32, nodes int32) int32
