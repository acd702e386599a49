//go:build from135

package main

import (
	"cmp"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

type (
	Extender           = fwk.Extender
	NodeToStatusReader = fwk.NodeToStatusReader

	enqueueExtensions = fwk.EnqueueExtensions
	nodeInfoLister    = fwk.NodeInfoLister
	nodePluginScores  = fwk.NodePluginScores
	nominatingInfo    = fwk.NominatingInfo
	postFilterResult  = fwk.PostFilterResult
	preFilterResult   = fwk.PreFilterResult
	sharedDRAManager  = fwk.SharedDRAManager
)

const (
	modeNoop     = fwk.ModeNoop
	modeOverride = fwk.ModeOverride

	clearsNomination = true // where no PostFilter plugin runs
)

// orderTies has SchedulePod take the first by name of equally good nodes, and the second from its
// batch. Where extenders score it draws lots all the same, but then there are no batches.
func orderTies(scores []nodePluginScores) {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b].Name, scores[a].Name) })
	for rank, i := range order {
		scores[i].Randomizer = rank
	}
}

// countedQueue counts an attempt as a cycle, as the real queue does when a pod is popped: batches go
// from one cycle to the next.
type countedQueue struct {
	internalqueue.SchedulingQueue
	out *outcome
}

func (q *countedQueue) SchedulingCycle() int64 { return int64(len(q.out.Attempts) - q.out.shared) }

func (r *run) countCycles() {
	r.sched.SchedulingQueue = &countedQueue{r.sched.SchedulingQueue, r.out}
}

func cachedVolume(binding *volumebinding.VolumeBinding, name string) (any, error) {
	return binderCache[volumebinding.PVAssumeCache](binding, "pvCache").Get(name)
}

func cachedClaim(binding *volumebinding.VolumeBinding, name string) (any, error) {
	return binderCache[volumebinding.PVCAssumeCache](binding, "pvcCache").Get(name)
}
