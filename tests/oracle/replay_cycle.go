package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// trial is what the attempt under way has come to.
type trial struct {
	told    *replayTry
	victims []string
	written []*v1.Pod  // versions of pods that the scheduler wrote, in order
	over    chan error // the attempt and its binding have ended
}

// replayFramework is a profile's framework, whose answers are listened to and which does not draw lots.
type replayFramework struct {
	framework.Framework
	replay *replay
}

// listen puts what takes lots out of the scheduler, and listens, in its place.
func (r *replay) listen() {
	for i, extender := range r.sched.Extenders {
		r.sched.Extenders[i] = &recordingExtender{extender, r.to}
	}
	for name, fw := range r.sched.Profiles {
		steadyPreemption(fw, r.to)
		orderRescored(fw)
		for _, plugin := range plugins(fw) {
			if plugin, ok := plugin.(*defaultpreemption.DefaultPreemption); ok {
				evictWith(plugin, func(victim *v1.Pod) error {
					r.trial.victims = append(r.trial.victims, key(victim))
					return nil
				})
			}
		}
		r.sched.Profiles[name] = &replayFramework{fw, r}
	}
	wrapSchedulePod(r)
	handler := r.sched.FailureHandler
	r.sched.FailureHandler = func(ctx context.Context, fw framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, nominating *nominatingInfo, start time.Time) {
		r.fails(status, nominating)
		handler(ctx, fw, info, status, nominating, start)
		r.trial.over <- nil
	}
	r.client.PrependReactor("patch", "pods", r.patched)
	r.client.PrependReactor("create", "pods", r.binds)
	r.to.bound = r.isBound
}

// chosen notes what SchedulePod answers, and takes the first by name of equally good nodes.
func (r *replay) chosen(pod *v1.Pod, seen *recorder, result scheduler.ScheduleResult, err error) (scheduler.ScheduleResult, error) {
	r.trial.told.Pod = key(pod)
	if err != nil {
		return result, err
	}
	slices.Sort(seen.nodes)
	a := &attempt{Feasible: seen.nodes}
	if err := a.choose(result, seen.scores); err != nil {
		return result, err
	}
	result.SuggestedHost, r.trial.told.Node = a.Node, a.Node
	return result, nil
}

// fails notes why the pod was not placed.
func (r *replay) fails(status *fwk.Status, nominating *nominatingInfo) {
	told := r.trial.told
	told.Result, told.Node, told.Message = "error", "", status.Message()
	if status.IsRejected() {
		told.Result = "unschedulable"
	}
	var misfit *framework.FitError
	if errors.As(status.AsError(), &misfit) {
		told.Message = misfit.Error()
		told.RejectedBy = sets.List(misfit.Diagnosis.UnschedulablePlugins.Union(misfit.Diagnosis.PendingPlugins))
	}
	if nominating.Mode() == modeOverride {
		told.NominatedNode = nominating.NominatedNodeName
	}
}

func (f *replayFramework) RunPostFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes NodeToStatusReader) (*postFilterResult, *fwk.Status) {
	f.replay.to.preemption = &preemptionRecord{found: map[string]*extenderv1.Victims{}}
	result, status := f.Framework.RunPostFilterPlugins(ctx, state, pod, inNodeOrder{nodes})
	// With those that are leaving already, which are not evicted again.
	f.replay.trial.told.Victims = f.replay.to.preemption.postFilterOf(result, status).Victims
	return result, status
}

// RunPreBindPlugins leaves VolumeBinding's out, which would wait for a volume controller.
func (f *replayFramework) RunPreBindPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	state.SetSkipPreBindPlugins(sets.New(names.VolumeBinding))
	return f.Framework.RunPreBindPlugins(ctx, state, pod, node)
}

func (f *replayFramework) RunPostBindPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) {
	f.Framework.RunPostBindPlugins(ctx, state, pod, node)
	f.replay.trial.told.Result = "scheduled"
	f.replay.trial.over <- nil
}

// drain takes pods from the queue until it would have nothing to give, each to the end of its binding.
func (r *replay) drain() error {
	for tries := 0; r.poppable(); tries++ {
		if tries == 10_000 {
			return errors.New("the queue does not come to rest")
		}
		r.trial = &trial{told: &replayTry{At: r.now.seconds()}, over: make(chan error, 2)}
		r.to.preemption = nil
		r.sched.ScheduleOne(r.ctx)
		if r.trial.told.Pod == "" {
			continue // skipped: it is being deleted
		}
		select {
		case <-r.trial.over:
		case <-time.After(10 * time.Second):
			return fmt.Errorf("%s: its binding has not ended within ten seconds", r.trial.told.Pod)
		}
		r.result.Attempts = append(r.result.Attempts, r.trial.told)
		if err := r.deliverTrial(); err != nil {
			return err
		}
	}
	return nil
}

// poppable says whether the queue's Pop would return.
func (r *replay) poppable() bool {
	queue := r.sched.SchedulingQueue
	if len(queue.PodsInActiveQ()) > 0 {
		return true
	}
	if !utilfeature.DefaultFeatureGate.Enabled(features.SchedulerPopFromBackoffQ) {
		return false
	}
	for _, pod := range queue.PodsInBackoffQ() {
		// Pods that came back because of an error wait in a queue of their own, to its end.
		info, ok := queued(queue, pod)
		if ok && info.UnschedulablePlugins.Len()+info.PendingPlugins.Len() > 0 {
			return true
		}
	}
	return false
}
