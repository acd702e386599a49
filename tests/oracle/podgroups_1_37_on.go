//go:build from137

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingapi "k8s.io/api/scheduling/v1beta1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// queuesGroups says whether groups are entities of the queue.
const queuesGroups = true

// groupVersions are those of the objects of pod groups.
var groupVersions = []schema.GroupVersion{schedulingapi.SchemeGroupVersion}

// groupKinds are fed to the scheduler by hand.
var groupKinds = []apiruntime.Object{&schedulingapi.PodGroup{}}

func groupInfo(first *v1.Pod) *framework.QueuedPodGroupInfo {
	return &framework.QueuedPodGroupInfo{
		PodGroupInfo: &framework.PodGroupInfo{
			Namespace: first.Namespace, Name: *first.Spec.SchedulingGroup.PodGroupName,
			Type: fwk.PodGroupKeyType, PodGroup: &schedulingapi.PodGroup{},
		},
		QueuedPodInfos: map[fwk.EntityKey][]*framework.QueuedPodInfo{},
	}
}

// addMember adds pods in the order of the calls.
func addMember(info *framework.QueuedPodGroupInfo, pod *framework.QueuedPodInfo) {
	key := fwk.PodGroupKey(info.Namespace, info.Name)
	info.QueuedPodInfos[key] = append(info.QueuedPodInfos[key], pod)
	info.UnscheduledPods = append(info.UnscheduledPods, pod.Pod)
}

// admitGroups does the priority admission plugin's work on pod groups.
func (s *state) admitGroups(classes map[string]*schedulingv1.PriorityClass, byDefault *schedulingv1.PriorityClass) error {
	if !utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) {
		return nil
	}
	for _, obj := range s.others {
		group, ok := obj.(*schedulingapi.PodGroup)
		if !ok {
			continue
		}
		class := byDefault
		if name := group.Spec.PriorityClassName; name != "" {
			if class = classes[name]; class == nil {
				return fmt.Errorf("pod group %s: no PriorityClass with name %s was found", group.Name, name)
			}
		}
		if group.Spec.PreemptionPolicy == nil && class != nil && class.PreemptionPolicy != nil && (group.Spec.Priority == nil || group.Spec.PriorityClassName != "") {
			policy := schedulingapi.PreemptionPolicy(*class.PreemptionPolicy)
			group.Spec.PreemptionPolicy = &policy
		}
		if group.Spec.Priority != nil {
			continue
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
	c.sched.SchedulingQueue.MoveAllToActiveOrBackoffQueue(klog.FromContext(c.ctx), framework.EventUnscheduledPodAdd, nil, pod, nil)
}

// orderGroups does nothing: the queue itself orders the pods of a group.
func orderGroups(*replay) {}

type queuedEntity = framework.QueuedEntityInfo

// entityOf is what the queue has of a pod: itself, or its group, where that has an object.
func entityOf(c *cluster, pod *v1.Pod) (queuedEntity, bool) {
	if groupOf(pod) == "" {
		return queued(c.sched.SchedulingQueue, pod)
	}
	return c.sched.SchedulingQueue.GetPodGroup(*pod.Spec.SchedulingGroup.PodGroupName, pod.Namespace, fwk.PodGroupKeyType)
}

// inOrderOfArrival puts pods in the order of creation, so that a group is as old as its first pod.
func inOrderOfArrival(pods []*v1.Pod) []*v1.Pod {
	sorted := slices.Clone(pods)
	if utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) {
		slices.SortStableFunc(sorted, func(a, b *v1.Pod) int {
			return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
		})
	}
	return sorted
}

// RunPlacementScorePlugins has the first by name win of equally good placements, where upstream draws
// lots.
func (g *groupCycle) RunPlacementScorePlugins(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, assignments []*fwk.PodGroupAssignments, states []fwk.PlacementCycleState) ([]fwk.PlacementPluginScores, *fwk.Status) {
	scores, status := g.Framework.RunPlacementScorePlugins(ctx, state, group, assignments, states)
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
		plugin.Executor.PreemptPod = func(ctx context.Context, c preemption.Candidate, preemptor preemption.ExecutorPreemptor, victim *v1.Pod, name string) (bool, error) {
			if c.Name() == "cluster" {
				g.victims = keys(c.Victims().Pods)
			}
			return upstream(ctx, c, preemptor, victim, name)
		}
		return func() { plugin.Executor.PreemptPod = upstream }
	}
	return func() {}
}

// RunPodGroupPostFilterPlugins notes whether the preemption for the group made room.
func (g *groupCycle) RunPodGroupPostFilterPlugins(ctx context.Context, state *framework.CycleState, group fwk.PodGroupInfo, schedule fwk.PodGroupSchedulingFunc) (*fwk.PodGroupPostFilterResult, *fwk.Status) {
	result, status := g.Framework.RunPodGroupPostFilterPlugins(ctx, state, group, schedule)
	g.waiting = status.IsSuccess()
	return result, status
}

// incomplete are the pods of groups that have no object.
func incomplete(queue internalqueue.SchedulingQueue) []string {
	return keys(queue.(*internalqueue.PriorityQueue).IncompletePodGroupPodsPods())
}
