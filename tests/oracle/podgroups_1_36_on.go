//go:build from136

package main

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// scheduleOnePodGroup is the scheduler's own cycle of a group, with all that is submitted in the end.
//
//go:linkname scheduleOnePodGroup k8s.io/kubernetes/pkg/scheduler.(*Scheduler).scheduleOnePodGroup
func scheduleOnePodGroup(sched *scheduler.Scheduler, ctx context.Context, group *framework.QueuedPodGroupInfo)

// groupOf names the pod group of a pod, where the scheduler has such.
func groupOf(pod *v1.Pod) string {
	if pod.Spec.SchedulingGroup == nil || !utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) {
		return ""
	}
	return pod.Namespace + "/" + *pod.Spec.SchedulingGroup.PodGroupName
}

// joinGroup tells the scheduler of a pending pod, as an informer's event does before the pod is queued.
func joinGroup(c *cluster, pod *v1.Pod) {
	c.sched.Cache.AddPodGroupMember(pod)
	trackPod(c, pod)
}

// WillWaitOnPermit keeps a pod that waits for its gang, which takes no time, from being nominated to its node
// meanwhile.
func (f *replayFramework) WillWaitOnPermit(context.Context, *v1.Pod) bool { return false }

// preEnqueued says whether the PreEnqueue plugins let a pod of a group into the queue now.
func preEnqueued(c *cluster, pod *v1.Pod) bool {
	for _, plugin := range c.sched.Profiles[pod.Spec.SchedulerName].PreEnqueuePlugins() {
		if !plugin.PreEnqueue(c.ctx, pod).IsSuccess() {
			return false
		}
	}
	return true
}

// groupCycle is one scheduling cycle of a pod group. The algorithm may run several times in it: once
// per placement, or to find out which victims may stay. Each time it begins with the first pod.
type groupCycle struct {
	*recorder
	r        *run
	members  []string
	runs     []map[string]*attempt
	isTree   bool // of groups, each of which may be tried several times
	misfits  map[*attempt]*framework.FitError
	current  *attempt
	failures map[string]failure
	bound    map[string]boundPod
	victims  []string // of the preemption for the group
	waiting  bool     // for that preemption
}

// failure is what the scheduler's failure handler is given.
type failure struct {
	status     *fwk.Status
	nomination *fwk.NominatingInfo
}

// boundPod is a pod that reached Permit outside of the trial.
type boundPod struct {
	state  fwk.CycleState
	pod    *v1.Pod
	status *fwk.Status
}

// scheduleGroup tries a group of pods, once more when preemption made room for it, and, where the queue has
// groups, the pods that were left when others of the group were placed.
func (r *run) scheduleGroup(names []string) error {
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(corev1helpers.PodPriority(r.pod(b)), corev1helpers.PodPriority(r.pod(a)))
	})
	for {
		waiting, err := r.attemptGroup(names, false)
		if err == nil && waiting {
			_, err = r.attemptGroup(names, true)
		}
		left := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			_, placed := r.placed[name]
			return placed
		})
		if err != nil || waiting || !queuesGroups || len(left) == 0 || len(left) == len(names) {
			return err
		}
		names = left
	}
}

// attemptGroup says whether the group waits for a preemption.
func (r *run) attemptGroup(names []string, second bool) (bool, error) {
	first := r.pod(names[0])
	real := r.sched.Profiles[first.Spec.SchedulerName]
	g := &groupCycle{
		recorder: record(r.sched, real), r: r, misfits: map[*attempt]*framework.FitError{},
		failures: map[string]failure{}, bound: map[string]boundPod{},
	}
	info := groupInfo(r.cluster, first)
	for _, name := range names {
		pod := r.pod(name)
		queued, _ := queued(r.sched.SchedulingQueue, pod)
		queued.PodInfo, _ = framework.NewPodInfo(pod)
		addMember(info, queued)
	}
	if g.isTree = isTree(info); g.isTree {
		names = membersOf(info)
	}
	g.members = names
	attempts := make([]*attempt, len(names))
	for i, name := range names {
		attempts[i] = &attempt{Pod: name, Profile: r.pod(name).Spec.SchedulerName}
	}
	// Each pod that is popped counts as a cycle, or the group, where the queue has groups.
	r.out.Attempts = append(r.out.Attempts, attempts...)
	if queuesGroups {
		r.out.shared += len(names) - 1
	}
	r.rehearsal = second
	r.client.ClearActions()
	g.runCycle(info)
	r.rehearsal = false
	return g.conclude(real, attempts, second)
}

// runCycle has the scheduler's own functions and plugins tell the cycle what they do meanwhile.
func (g *groupCycle) runCycle(info *framework.QueuedPodGroupInfo) {
	sched, profile := g.r.sched, g.recorder.Framework.ProfileName()
	schedulePod, failureHandler := sched.SchedulePod, sched.FailureHandler
	sched.Profiles[profile] = g
	sched.SchedulePod = g.schedule(schedulePod)
	sched.FailureHandler = func(_ context.Context, _ framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status, nomination *fwk.NominatingInfo, _ time.Time) {
		g.failures[key(pod.Pod)] = failure{status, nomination}
	}
	stop := g.listenToEvictions()
	scheduleOnePodGroup(sched, g.r.ctx, info)
	stop()
	sched.SchedulePod, sched.FailureHandler = schedulePod, failureHandler
	sched.Profiles[profile] = g.recorder.Framework
}

type schedulePodFunc = func(context.Context, framework.Framework, fwk.CycleState, *framework.QueuedPodInfo) (scheduler.ScheduleResult, error)

// schedule records what SchedulePod decides about each pod.
func (g *groupCycle) schedule(upstream schedulePodFunc) schedulePodFunc {
	return func(ctx context.Context, fw framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
		name := key(info.Pod)
		if len(g.runs) == 0 || !g.isTree && name == g.members[0] || g.runs[len(g.runs)-1][name] != nil {
			g.runs = append(g.runs, map[string]*attempt{})
		}
		a := &attempt{Pod: name, Profile: g.ProfileName()}
		g.current = a
		g.runs[len(g.runs)-1][name] = a
		*g.recorder = *record(g.r.sched, g.recorder.Framework)
		g.r.to.cycle = g.recorder
		result, err := upstream(ctx, fw, state, info)
		a.Filter = g.filter
		slices.Sort(g.nodes)
		a.Feasible = g.nodes
		var misfit *framework.FitError
		switch {
		case errors.As(err, &misfit):
			a.misfit(g.recorder, misfit)
			g.misfits[a] = misfit
		case err != nil:
			a.Error = err.Error()
			a.EvaluatedNodes = len(a.Filter) + len(a.Feasible)
		default:
			a.EvaluatedNodes = result.EvaluatedNodes
			if err := a.choose(result, g.scores); err != nil {
				panic(err)
			}
		}
		return result, err
	}
}

func (g *groupCycle) RunPostFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	g.r.to.preemption = &preemptionRecord{found: map[string]*extenderv1.Victims{}}
	result, status := g.Framework.RunPostFilterPlugins(ctx, state, pod, inNodeOrder{nodes})
	g.current.PostFilter = g.r.to.preemption.postFilterOf(result, status)
	return result, status
}

func (g *groupCycle) RunReservePluginsReserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	status := g.Framework.RunReservePluginsReserve(ctx, state, pod, node)
	if !status.IsSuccess() {
		g.attemptOf(state, pod).Reserve = verdictOf(status)
	}
	return status
}

func (g *groupCycle) RunPermitPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) (map[string]time.Duration, *fwk.Status) {
	waits, status := g.Framework.RunPermitPlugins(ctx, state, pod, node)
	if !state.IsPodGroupSchedulingCycle() {
		g.bound[key(pod)] = boundPod{state, pod, status}
	} else if !status.IsSuccess() {
		g.current.Permit = verdictOf(status)
	}
	return waits, status
}

func (g *groupCycle) attemptOf(state fwk.CycleState, pod *v1.Pod) *attempt {
	if state.IsPodGroupSchedulingCycle() {
		return g.current
	}
	if a := g.recordOf(key(pod)); a != nil {
		return a
	}
	return &attempt{}
}

// These keep the binding cycle, which runs in a goroutine of its own, from doing anything: the rules
// have it done afterwards, one pod after the other.

func (g *groupCycle) RunPreBindPreFlights(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	return fwk.NewStatus(fwk.Skip)
}

func (g *groupCycle) WillWaitOnPermit(context.Context, *v1.Pod) bool { return false }

func (g *groupCycle) WaitOnPermit(context.Context, *v1.Pod) *fwk.Status {
	runtime.Goexit()
	return nil
}

// RunPlacementGeneratePlugins gives the placements in order of name: upstream takes them from a map.
func (g *groupCycle) RunPlacementGeneratePlugins(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, nodes []fwk.NodeInfo) ([]*fwk.Placement, *fwk.Status) {
	placements, status := g.Framework.RunPlacementGeneratePlugins(ctx, state, group, nodes)
	slices.SortFunc(placements, func(a, b *fwk.Placement) int { return cmp.Compare(a.Name, b.Name) })
	return placements, status
}

// chosenRun is the run of the algorithm whose nodes the pods were given; the first where none was.
func (g *groupCycle) chosenRun() map[string]*attempt {
	for _, attempts := range g.runs {
		for name, bound := range g.bound {
			if a := attempts[name]; a != nil && a.Node == bound.pod.Spec.NodeName {
				return attempts
			}
		}
	}
	if len(g.runs) == 0 {
		return map[string]*attempt{}
	}
	return g.runs[0]
}

// recordOf is the attempt of a pod that counts; nothing where a tree was tried and the pod has neither a node nor
// a reason of its own.
func (g *groupCycle) recordOf(name string) *attempt {
	if !g.isTree {
		return g.chosenRun()[name]
	}
	var own *framework.FitError
	if failed, ok := g.failures[name]; ok {
		errors.As(failed.status.AsError(), &own)
	}
	for _, attempts := range g.runs {
		a := attempts[name]
		if a == nil {
			continue
		}
		bound, ok := g.bound[name]
		if ok && a.Node == bound.pod.Spec.NodeName || own != nil && g.misfits[a] == own {
			return a
		}
	}
	return nil
}

// conclude brings what the cycle did back to the scheduler: first the evictions, then nominations,
// then the binding of each pod.
func (g *groupCycle) conclude(real framework.Framework, attempts []*attempt, second bool) (bool, error) {
	victims := []string{}
	for i, name := range g.members {
		if a := g.recordOf(name); a != nil {
			*attempts[i] = *a
			if a.PostFilter != nil {
				victims = append(victims, a.PostFilter.Victims...)
			}
		}
	}
	if !second {
		if err := g.r.deliver(append(victims, g.victims...)); err != nil {
			return false, err
		}
	}
	waiting := g.waiting
	order := make([]int, len(g.members))
	for i := range order {
		order[i] = i
	}
	// As in a replay, those that Permit let through at once are bound before those that waited.
	slices.SortStableFunc(order, func(i, j int) int {
		return boolToInt(g.bound[g.members[i]].status.IsWait()) - boolToInt(g.bound[g.members[j]].status.IsWait())
	})
	for _, i := range order {
		name := g.members[i]
		if failed, ok := g.failures[name]; ok {
			nominated, err := g.fail(attempts[i], failed, second)
			if err != nil {
				return false, err
			}
			waiting = waiting || nominated
			continue
		}
		bound := g.bound[name]
		a, pod := attempts[i], g.r.pod(name)
		a.Node, a.Permit = bound.pod.Spec.NodeName, nil
		if !bound.status.IsSuccess() {
			a.Permit = verdictOf(bound.status)
		}
		if err := g.r.finishBinding(a, real, bound.state, pod, bound.pod, g.r.giveUp(a, real, bound.state, pod, bound.pod)); err != nil {
			return false, err
		}
	}
	return waiting && !second, nil
}

// fail is what follows for a pod that was handed to the failure handler; it says whether a node was
// nominated.
func (g *groupCycle) fail(a *attempt, failed failure, second bool) (bool, error) {
	a.Node, a.Message, a.Error = "", "", ""
	if failed.status.IsError() || errors.Is(failed.status.AsError(), scheduler.ErrNoNodesAvailable) {
		a.Error = failed.status.Message()
	} else {
		a.Message = failureMessage(g.r.pod(a.Pod), failed.status)
	}
	if failed.nomination.Mode() == fwk.ModeNoop {
		return false, nil
	}
	nominated := failed.nomination.NominatedNodeName != ""
	if second && nominated {
		return false, nil
	}
	return nominated, g.r.nominate(g.r.pod(a.Pod), failed.nomination)
}

// nodesInPlacement counts the nodes that may be visited: a group is tried on some nodes only.
func nodesInPlacement(r *recorder) int {
	return r.SnapshotSharedLister().(*internalcache.Snapshot).NumNodesInPlacement()
}

func inPlacement(r *recorder, node string) bool {
	_, err := r.SnapshotSharedLister().(*internalcache.Snapshot).GetNodeInPlacement(node)
	return err == nil
}
