//go:build from136 && !from137

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingapi "k8s.io/api/scheduling/v1alpha2"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// queuesGroups says whether groups are entities of the queue.
const queuesGroups = false

// groupKinds are fed to the scheduler by hand.
var groupKinds []apiruntime.Object

func groupInfo(_ *cluster, first *v1.Pod) *framework.QueuedPodGroupInfo {
	return &framework.QueuedPodGroupInfo{PodGroupInfo: &framework.PodGroupInfo{
		Namespace: first.Namespace, Name: *first.Spec.SchedulingGroup.PodGroupName,
	}}
}

// rootOf names what the pod is tried with.
func rootOf(_ *cluster, pod *v1.Pod) string { return groupOf(pod) }

func isTree(*framework.QueuedPodGroupInfo) bool { return false }

func membersOf(*framework.QueuedPodGroupInfo) []string { return nil }

func addMember(info *framework.QueuedPodGroupInfo, pod *framework.QueuedPodInfo) {
	info.QueuedPodInfos = append(info.QueuedPodInfos, pod)
	info.UnscheduledPods = append(info.UnscheduledPods, pod.Pod)
}

// groupVersions are those of the objects of pod groups.
var groupVersions = []schema.GroupVersion{schedulingapi.SchemeGroupVersion}

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
