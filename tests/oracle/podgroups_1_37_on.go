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
)

// queuesGroups says whether groups are entities of the queue.
const queuesGroups = true

// groupVersions are those of the objects of pod groups.
var groupVersions = []schema.GroupVersion{schedulingapi.SchemeGroupVersion}

// groupKinds are fed to the scheduler by hand.
var groupKinds = []apiruntime.Object{&schedulingapi.PodGroup{}, &compositeGroup{}}

// rootOf names what the pod is tried with: its group, or the composite one around it.
func rootOf(c *cluster, pod *v1.Pod) string {
	group := groupOf(pod)
	if group == "" {
		return ""
	}
	if root, ok := rootKey(c, pod); ok && root.Type == fwk.CompositePodGroupKeyType {
		return root.String()
	}
	return group
}

func isTree(info *framework.QueuedPodGroupInfo) bool {
	return info.GetType() == fwk.CompositePodGroupKeyType
}

// admitGroups does the priority admission plugin's work on pod groups.
func (s *state) admitGroups(classes map[string]*schedulingv1.PriorityClass, byDefault *schedulingv1.PriorityClass) error {
	if !utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) {
		return nil
	}
	for _, obj := range s.others {
		var err error
		switch group := obj.(type) {
		case *schedulingapi.PodGroup:
			err = admitGroup(group.Name, group.Spec.PriorityClassName, &group.Spec.Priority, &group.Spec.PreemptionPolicy, classes, byDefault)
		case *compositeGroup:
			err = admitGroup(group.Name, group.Spec.PriorityClassName, &group.Spec.Priority, &group.Spec.PreemptionPolicy, classes, byDefault)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func admitGroup[P ~string](name, className string, priority **int32, policy **P, classes map[string]*schedulingv1.PriorityClass, class *schedulingv1.PriorityClass) error {
	if className != "" {
		if class = classes[className]; class == nil {
			return fmt.Errorf("pod group %s: no PriorityClass with name %s was found", name, className)
		}
	}
	if *policy == nil && class != nil && class.PreemptionPolicy != nil && (*priority == nil || className != "") {
		value := P(*class.PreemptionPolicy)
		*policy = &value
	}
	if *priority == nil {
		value := int32(0)
		if class != nil {
			value = class.Value
		}
		*priority = &value
	}
	return nil
}

// arrive tells the scheduler of a pod without a node, as its event handler does.
func arrive(c *cluster, pod *v1.Pod) {
	joinGroup(c, pod)
	addQueued(c, pod)
	c.sched.SchedulingQueue.MoveAllToActiveOrBackoffQueue(klog.FromContext(c.ctx), framework.EventUnscheduledPodAdd, nil, pod, nil)
}

// orderGroups notes the order of the pods of a tree: upstream takes its groups from a map in the end.
func orderGroups(r *replay) {
	next := r.sched.NextEntity
	r.sched.NextEntity = func(logger klog.Logger) (framework.QueuedEntityInfo, error) {
		entity, err := next(logger)
		r.inTree = nil
		if group, ok := entity.(*framework.QueuedPodGroupInfo); ok && isTree(group) {
			r.inTree = membersOf(group)
		}
		return entity, err
	}
}

type queuedEntity = framework.QueuedEntityInfo

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
	return firstByName(scores), status
}

func firstByName(scores []fwk.PlacementPluginScores) []fwk.PlacementPluginScores {
	slices.SortFunc(scores, func(a, b fwk.PlacementPluginScores) int {
		return cmp.Compare(b.Placement.Name, a.Placement.Name)
	})
	for rank := range scores {
		scores[rank].TotalScore = scores[rank].TotalScore*int64(len(scores)) + int64(rank)
	}
	return scores
}

func (f *replayFramework) RunPlacementScorePlugins(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, assignments []*fwk.PodGroupAssignments, states []fwk.PlacementCycleState) ([]fwk.PlacementPluginScores, *fwk.Status) {
	scores, status := f.Framework.RunPlacementScorePlugins(ctx, state, group, assignments, states)
	return firstByName(scores), status
}

// RunPlacementGeneratePlugins gives the placements in order of name, as a groupCycle does.
func (f *replayFramework) RunPlacementGeneratePlugins(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, nodes []fwk.NodeInfo) ([]*fwk.Placement, *fwk.Status) {
	placements, status := f.Framework.RunPlacementGeneratePlugins(ctx, state, group, nodes)
	slices.SortFunc(placements, func(a, b *fwk.Placement) int { return cmp.Compare(a.Name, b.Name) })
	return placements, status
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
