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

// trial is what the attempt under way has come to, of a pod or of the pods of a group.
type trial struct {
	at      instant
	tries   map[string]*replayTry
	pods    []*v1.Pod                // in the order in which they were tried
	told    *replayTry               // of the pod that is evaluated
	turns   map[string]chan struct{} // by pod, closed when its binding may go on
	victims []string
	evicts  map[string]bool // the pods that somebody is evicted for
	written []written       // versions of pods that the scheduler wrote, in order
	over    chan error      // a pod's attempt and its binding have ended
}

// written is a pod as the scheduler wrote it, while this or another one was evaluated.
type written struct {
	*v1.Pod
	during *replayTry
}

func newTrial(at instant) *trial {
	return &trial{at: at, tries: map[string]*replayTry{}, turns: map[string]chan struct{}{}, evicts: map[string]bool{}, over: make(chan error, 1000)}
}

// of is what a pod's attempt has come to.
func (t *trial) of(pod *v1.Pod) *replayTry {
	name := key(pod)
	if t.tries[name] == nil {
		t.tries[name] = &replayTry{At: t.at.seconds(), Pod: name}
		t.turns[name] = make(chan struct{})
		t.pods = append(t.pods, pod)
	}
	return t.tries[name]
}

// replayFramework is a profile's framework, whose answers are listened to and which does not draw lots.
type replayFramework struct {
	framework.Framework
	replay *replay
}

// listen puts what takes lots out of the scheduler, and listens, in its place.
func (r *replay) listen() {
	for i, extender := range extenders(r.cluster) {
		extenders(r.cluster)[i] = &recordingExtender{extender, r.to}
	}
	for name, fw := range r.sched.Profiles {
		steadyPreemption(fw, r.to)
		orderRescored(fw)
		for _, plugin := range plugins(fw) {
			if plugin, ok := plugin.(*defaultpreemption.DefaultPreemption); ok {
				evictWith(plugin, func(victim *v1.Pod) error {
					r.trial.victims = append(r.trial.victims, key(victim))
					r.trial.evicts[r.trial.told.Pod] = true
					return nil
				})
			}
		}
		r.sched.Profiles[name] = &replayFramework{fw, r}
	}
	wrapSchedulePod(r)
	handler := r.sched.FailureHandler
	r.sched.FailureHandler = func(ctx context.Context, fw framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, nominating *nominatingInfo, start time.Time) {
		r.fails(info.Pod, status, nominating)
		handler(ctx, fw, info, status, nominating, start)
		r.trial.over <- nil
	}
	orderGroups(r)
	r.client.PrependReactor("patch", "pods", r.patched)
	r.client.PrependReactor("create", "pods", r.binds)
	r.to.bound = r.isBound
}

// chosen notes what SchedulePod answers, and takes the first by name of equally good nodes.
func (r *replay) chosen(pod *v1.Pod, seen *recorder, result scheduler.ScheduleResult, err error) (scheduler.ScheduleResult, error) {
	r.trial.told = r.trial.of(pod)
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
func (r *replay) fails(pod *v1.Pod, status *fwk.Status, nominating *nominatingInfo) {
	told := r.trial.of(pod)
	told.Result, told.Node, told.Message = "error", "", failureMessage(pod, status)
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
	// A group may have been tried in other placements since.
	try := f.replay.trial.of(pod)
	try.Result, try.Node = "scheduled", node
	f.replay.trial.over <- nil
}

// WaitOnPermit has bindings go on one after the other, once the cycle that they belong to is over.
func (f *replayFramework) WaitOnPermit(ctx context.Context, pod *v1.Pod) *fwk.Status {
	<-f.replay.trial.turns[key(pod)]
	return f.Framework.WaitOnPermit(ctx, pod)
}

// drain takes pods from the queue until it would have nothing to give, each to the end of its binding.
func (r *replay) drain() error {
	for tries := 0; r.poppable(); tries++ {
		if tries == 10_000 {
			return errors.New("the queue does not come to rest")
		}
		r.trial = newTrial(r.now)
		r.to.preemption = nil
		r.sched.ScheduleOne(r.ctx)
		if len(r.trial.pods) == 0 {
			continue // skipped: it is being deleted
		}
		if err := r.finishBindings(); err != nil {
			return err
		}
		if err := r.deliverTrial(); err != nil {
			return err
		}
	}
	return nil
}

// finishBindings has the pods that have a node bound, those first that Permit let through at once.
func (r *replay) finishBindings() error {
	if r.inTree != nil {
		slices.SortStableFunc(r.trial.pods, func(a, b *v1.Pod) int {
			return slices.Index(r.inTree, key(a)) - slices.Index(r.inTree, key(b))
		})
	}
	var atOnce, waiting []*v1.Pod
	for _, pod := range r.trial.pods {
		if r.sched.Profiles[pod.Spec.SchedulerName].GetWaitingPod(pod.UID) != nil {
			waiting = append(waiting, pod)
		} else {
			atOnce = append(atOnce, pod)
		}
	}
	for _, pod := range append(atOnce, waiting...) {
		if r.trial.of(pod).Result == "" {
			close(r.trial.turns[key(pod)])
		}
		select {
		case <-r.trial.over:
		case <-time.After(10 * time.Second):
			return fmt.Errorf("%s: its binding has not ended within ten seconds", key(pod))
		}
		r.result.Attempts = append(r.result.Attempts, r.trial.of(pod))
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
		// Pods that came back because of an error wait in a queue of their own, to its end; so do groups.
		info, ok := queued(queue, pod)
		if ok && info.UnschedulablePlugins.Len()+info.PendingPlugins.Len() > 0 && !(queuesGroups && groupOf(pod) != "") {
			return true
		}
	}
	return false
}
