//go:build from136 && !from137

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingapi "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// groupVersions are those of the objects of pod groups.
var groupVersions = []schema.GroupVersion{schedulingapi.SchemeGroupVersion}

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

// admitGroups does the priority admission plugin's work on pod groups without a priority, where the
// feature gate has it do so.
func (s *state) admitGroups(classes map[string]*schedulingv1.PriorityClass, byDefault *schedulingv1.PriorityClass) error {
	if !utilfeature.DefaultFeatureGate.Enabled(features.WorkloadAwarePreemption) {
		return nil
	}
	for _, obj := range s.others {
		group, ok := obj.(*schedulingapi.PodGroup)
		if !ok || group.Spec.Priority != nil {
			continue
		}
		class := byDefault
		if name := group.Spec.PriorityClassName; name != "" {
			if class = classes[name]; class == nil {
				return fmt.Errorf("pod group %s: no PriorityClass with name %s was found", group.Name, name)
			}
		}
		value := int32(0)
		if class != nil {
			value = class.Value
		}
		group.Spec.Priority = &value
	}
	return nil
}

// joinGroup tells the scheduler of a pending pod, as an informer's event does before the pod is queued.
func joinGroup(c *cluster, pod *v1.Pod) { c.sched.Cache.AddPodGroupMember(pod) }

// arrive tells the scheduler of a pod without a node, as its event handler does.
func arrive(c *cluster, pod *v1.Pod) {
	joinGroup(c, pod)
	addQueued(c, pod)
	if utilfeature.DefaultFeatureGate.Enabled(features.GangScheduling) {
		c.sched.SchedulingQueue.MoveAllToActiveOrBackoffQueue(klog.FromContext(c.ctx), framework.EventUnscheduledPodAdd, nil, pod, nil)
	}
}

// orderGroups has the pods of a group, which upstream takes from a map, tried in the order of the queue where
// they have one priority and were active first at one instant.
func orderGroups(r *replay) {
	next := r.sched.NextPod
	r.sched.NextPod = func(logger klog.Logger) (*framework.QueuedPodInfo, error) {
		popped, err := next(logger)
		if err != nil || popped == nil || groupOf(popped.Pod) == "" {
			return popped, err
		}
		state, err := r.sched.Cache.PodGroupStates().Get(popped.Pod.Namespace, *popped.Pod.Spec.SchedulingGroup.PodGroupName)
		if err != nil {
			return popped, nil
		}
		members := []*framework.QueuedPodInfo{popped}
		for _, pod := range state.UnscheduledPods() {
			if info, ok := r.sched.SchedulingQueue.GetPod(pod.Name, pod.Namespace); ok {
				members = append(members, info)
			}
		}
		now := r.ticks.FakeClock.Now()
		active := func(info *framework.QueuedPodInfo) time.Time {
			if info.InitialAttemptTimestamp == nil {
				return now
			}
			return info.InitialAttemptTimestamp.Truncate(time.Microsecond)
		}
		slices.SortFunc(members, func(a, b *framework.QueuedPodInfo) int {
			return cmp.Or(active(a).Compare(active(b)), a.Timestamp.Compare(b.Timestamp))
		})
		for i, info := range members {
			if info.InitialAttemptTimestamp != nil || !info.Gated() {
				at := active(info).Add(time.Duration(i))
				info.InitialAttemptTimestamp = &at
			}
		}
		return popped, nil
	}
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

// scheduleGroup tries a group of pods, and once more when preemption made room for it.
func (r *run) scheduleGroup(names []string) error {
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(corev1helpers.PodPriority(r.pod(b)), corev1helpers.PodPriority(r.pod(a)))
	})
	waiting, err := r.attemptGroup(names, false)
	if err == nil && waiting {
		_, err = r.attemptGroup(names, true)
	}
	return err
}

// attemptGroup says whether the group waits for a preemption.
func (r *run) attemptGroup(names []string, second bool) (bool, error) {
	first := r.pod(names[0])
	real := r.sched.Profiles[first.Spec.SchedulerName]
	g := &groupCycle{
		recorder: record(r.sched, real), r: r, members: names,
		failures: map[string]failure{}, bound: map[string]boundPod{},
	}
	info := &framework.QueuedPodGroupInfo{PodGroupInfo: &framework.PodGroupInfo{
		Namespace: first.Namespace, Name: *first.Spec.SchedulingGroup.PodGroupName,
	}}
	attempts := make([]*attempt, len(names))
	for i, name := range names {
		pod := r.pod(name)
		queued, _ := queued(r.sched.SchedulingQueue, pod)
		queued.PodInfo, _ = framework.NewPodInfo(pod)
		info.QueuedPodInfos = append(info.QueuedPodInfos, queued)
		info.UnscheduledPods = append(info.UnscheduledPods, pod)
		attempts[i] = &attempt{Pod: name, Profile: pod.Spec.SchedulerName}
	}
	// Each pod that is popped counts as a cycle.
	r.out.Attempts = append(r.out.Attempts, attempts...)
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
		if name == g.members[0] {
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
	return g.chosenRun()[key(pod)]
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

// RunPlacementScorePlugins has the first by name win of equally good placements, where upstream draws
// lots.
func (g *groupCycle) RunPlacementScorePlugins(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, assignments []*fwk.PodGroupAssignments) ([]fwk.PlacementPluginScores, *fwk.Status) {
	scores, status := g.Framework.RunPlacementScorePlugins(ctx, state, group, assignments)
	slices.SortFunc(scores, func(a, b fwk.PlacementPluginScores) int {
		return cmp.Compare(b.Placement.Name, a.Placement.Name)
	})
	for rank := range scores {
		scores[rank].TotalScore = scores[rank].TotalScore*int64(len(scores)) + int64(rank)
	}
	return scores, status
}

// listenToEvictions notes whom the preemption for the group evicts. The function returned ends it.
func (g *groupCycle) listenToEvictions() func() {
	for _, plugin := range plugins(g.recorder.Framework) {
		plugin, ok := plugin.(*defaultpreemption.DefaultPreemption)
		if !ok {
			continue
		}
		upstream := plugin.Executor.PreemptPod
		plugin.Executor.PreemptPod = func(ctx context.Context, c preemption.Candidate, preemptor preemption.ExecutorPreemptor, victim *v1.Pod, name string) error {
			if c.Name() == "cluster" {
				g.victims = keys(c.Victims().Pods)
			}
			return upstream(ctx, c, preemptor, victim, name)
		}
		return func() { plugin.Executor.PreemptPod = upstream }
	}
	return func() {}
}

// groupPostFilter says whether the preemption for the group made room.
type groupPostFilter struct {
	framework.PodGroupPostFilterPlugin
	cycle *groupCycle
}

func (p *groupPostFilter) PodGroupPostFilter(ctx context.Context, group *schedulingapi.PodGroup, pods []*v1.Pod, schedule func(context.Context) *fwk.Status) *fwk.Status {
	status := p.PodGroupPostFilterPlugin.PodGroupPostFilter(ctx, group, pods, schedule)
	p.cycle.waiting = status.IsSuccess()
	return status
}

func (g *groupCycle) PodGroupPostFilterPlugins() []framework.PodGroupPostFilterPlugin {
	var listening []framework.PodGroupPostFilterPlugin
	for _, plugin := range g.Framework.PodGroupPostFilterPlugins() {
		listening = append(listening, &groupPostFilter{plugin, g})
	}
	return listening
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

// conclude brings what the cycle did back to the scheduler: first the evictions, then nominations,
// then the binding of each pod.
func (g *groupCycle) conclude(real framework.Framework, attempts []*attempt, second bool) (bool, error) {
	chosen, victims := g.chosenRun(), []string{}
	for i, name := range g.members {
		if a := chosen[name]; a != nil {
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
	for i, name := range g.members {
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
		a.Message = failed.status.Message()
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
