package main

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// attempt is one scheduling cycle of a pod; it says whether preemption nominated a node. In a
// second attempt PostFilter is only rehearsed.
func (r *run) attempt(name string, second bool) (bool, error) {
	pod := r.pod(name)
	fw := r.sched.Profiles[pod.Spec.SchedulerName]
	a := &attempt{Pod: name, Profile: fw.ProfileName()}
	r.out.Attempts = append(r.out.Attempts, a)
	r.to.cycle = record(r.sched, fw)
	state := framework.NewCycleState()
	result, err := schedulePod(r.cluster, r.to.cycle, state, pod)
	a.Filter = r.to.cycle.filter
	slices.Sort(r.to.cycle.nodes)
	a.Feasible = r.to.cycle.nodes

	var misfit *framework.FitError
	switch {
	case errors.As(err, &misfit):
		return r.fail(a, fw, state, pod, misfit, second)
	case err != nil:
		a.Error = err.Error()
		a.EvaluatedNodes = len(a.Filter) + len(a.Feasible)
		return false, r.nominate(pod, cleared)
	}
	a.EvaluatedNodes = result.EvaluatedNodes
	if err := a.choose(result, r.to.cycle.scores); err != nil {
		return false, err
	}
	return false, r.bind(a, fw, state, pod)
}

// choose takes the first by name of the best nodes, where SchedulePod draws lots.
func (a *attempt) choose(result scheduler.ScheduleResult, scores []nodePluginScores) error {
	if result.FeasibleNodes == 1 {
		a.Node, a.Feasible = result.SuggestedHost, []string{result.SuggestedHost}
		return nil
	}
	a.Scores, a.Totals = map[string]map[string]int64{}, map[string]int64{}
	best := scores[0].TotalScore
	for _, node := range scores {
		a.Scores[node.Name] = map[string]int64{}
		for _, score := range node.Scores {
			// Extenders may name a node twice, or have one URL.
			a.Scores[node.Name][score.Name] += score.Score
		}
		a.Totals[node.Name] = node.TotalScore
		best = max(best, node.TotalScore)
	}
	var ties []string
	for _, node := range a.Feasible {
		if a.Totals[node] == best {
			ties = append(ties, node)
		}
	}
	if !slices.Contains(ties, result.SuggestedHost) {
		return fmt.Errorf("SchedulePod took %s, not one of %v", result.SuggestedHost, ties)
	}
	a.Node = ties[0]
	if len(ties) > 1 {
		a.Ties = ties
	}
	return nil
}

// fail is what follows when the pod fits nowhere.
func (r *run) fail(a *attempt, fw framework.Framework, state fwk.CycleState, pod *v1.Pod, misfit *framework.FitError, second bool) (bool, error) {
	a.misfit(r.to.cycle, misfit)
	diagnosis := &misfit.Diagnosis
	if !fw.HasPostFilterPlugins() {
		a.Message = misfit.Error()
		if clearsNomination {
			return false, r.nominate(pod, cleared)
		}
		return false, nil
	}
	r.to.preemption = &preemptionRecord{found: map[string]*extenderv1.Victims{}}
	r.rehearsal = second
	r.client.ClearActions()
	result, status := fw.RunPostFilterPlugins(r.ctx, state, pod, inNodeOrder{diagnosis.NodeToStatus})
	r.rehearsal = false
	diagnosis.PostFilterMsg = status.Message()
	a.Message = misfit.Error()
	a.PostFilter = r.to.preemption.postFilterOf(result, status)
	if second {
		if result != nil && result.NominatingInfo != nil && result.NominatedNodeName == "" {
			return false, r.nominate(pod, result.NominatingInfo)
		}
		return false, nil
	}
	if err := r.deliver(a.PostFilter.Victims); err != nil {
		return false, err
	}
	if result == nil || result.Mode() == modeNoop {
		return false, nil
	}
	return result.NominatedNodeName != "", r.nominate(pod, result.NominatingInfo)
}

// misfit tells why the pod fits nowhere.
func (a *attempt) misfit(cycle *recorder, misfit *framework.FitError) {
	if status := cycle.preFilter; !status.IsSuccess() {
		a.PreFilter = verdictOf(status)
	}
	a.Filter = map[string]*verdict{}
	misfit.Diagnosis.NodeToStatus.ForEachExplicitNode(func(node string, status *fwk.Status) {
		a.Filter[node] = verdictOf(status)
	})
	a.EvaluatedNodes = misfit.Diagnosis.NodeToStatus.Len()
}

// bind is what follows when a node was found.
func (r *run) bind(a *attempt, fw framework.Framework, state fwk.CycleState, pod *v1.Pod) error {
	logger := klog.FromContext(r.ctx)
	assumed := assumedPod(r.cluster, state, pod, a.Node)
	if err := r.sched.Cache.AssumePod(logger, assumed); err != nil {
		a.Error, a.Node = err.Error(), ""
		return r.nominate(pod, cleared)
	}
	r.sched.SchedulingQueue.DeleteNominatedPodIfExists(assumed)
	giveUp := r.giveUp(a, fw, state, pod, assumed)
	if status := fw.RunReservePluginsReserve(r.ctx, state, assumed, a.Node); !status.IsSuccess() {
		a.Reserve = verdictOf(status)
		return giveUp()
	}
	status := permit(r.cluster, fw, state, assumed, a.Node)
	if !status.IsSuccess() {
		a.Permit = verdictOf(status)
	}
	if !status.IsSuccess() && !status.IsWait() {
		return giveUp()
	}
	return r.finishBinding(a, fw, state, pod, assumed, giveUp)
}

// giveUp makes what takes a pod off the node that it was assumed on.
func (r *run) giveUp(a *attempt, fw framework.Framework, state fwk.CycleState, pod, assumed *v1.Pod) func() error {
	return func() error {
		fw.RunReservePluginsUnreserve(r.ctx, state, assumed, a.Node)
		if err := r.sched.Cache.ForgetPod(klog.FromContext(r.ctx), assumed); err != nil {
			return err
		}
		a.Node = ""
		if err := r.settle(nil); err != nil {
			return err
		}
		return r.nominate(pod, cleared)
	}
}
