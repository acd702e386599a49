//go:build from137 && !from138

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingapi "k8s.io/api/scheduling/v1beta1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

type compositeGroup = schedulingv1alpha3.CompositePodGroup

// decoders are of kinds that the scheduler reads in another version than others of their group.
var decoders = map[string]apiruntime.Decoder{
	"CompositePodGroup": legacyscheme.Codecs.UniversalDecoder(schedulingv1alpha3.SchemeGroupVersion),
}

func rootKey(c *cluster, pod *v1.Pod) (fwk.EntityKey, bool) {
	root, ok, err := c.sched.Cache.GetRootKeyForGroup(fwk.PodGroupKey(pod.Namespace, *pod.Spec.SchedulingGroup.PodGroupName))
	return root, ok && err == nil
}

// groupInfo is the group that the pod is tried with, without its pods.
func groupInfo(c *cluster, first *v1.Pod) *framework.QueuedPodGroupInfo {
	info := &framework.QueuedPodGroupInfo{QueuedPodInfos: map[fwk.EntityKey][]*framework.QueuedPodInfo{}}
	if entity, ok := entityOf(c, first); ok {
		if queued := entity.(*framework.QueuedPodGroupInfo); queued.GetType() == fwk.CompositePodGroupKeyType {
			info.PodGroupInfo = emptied(queued.PodGroupInfo)
			return info
		}
	}
	info.PodGroupInfo = &framework.PodGroupInfo{
		Namespace: first.Namespace, Name: *first.Spec.SchedulingGroup.PodGroupName,
		Type: fwk.PodGroupKeyType, PodGroup: &schedulingapi.PodGroup{},
	}
	return info
}

// emptied is a copy of a tree of groups, without pods.
func emptied(info *framework.PodGroupInfo) *framework.PodGroupInfo {
	copied := *info
	copied.UnscheduledPods, copied.Children = nil, nil
	for _, child := range info.Children {
		copied.Children = append(copied.Children, emptied(child))
	}
	return &copied
}

// leavesOf are the groups of pods in a tree, in the order in which they are tried.
func leavesOf(info *framework.PodGroupInfo) []*framework.PodGroupInfo {
	if info.Type == fwk.PodGroupKeyType {
		return []*framework.PodGroupInfo{info}
	}
	var leaves []*framework.PodGroupInfo
	for _, child := range info.GetChildGroups() {
		leaves = append(leaves, leavesOf(child)...)
	}
	return leaves
}

// addMember adds pods in the order of the calls.
func addMember(info *framework.QueuedPodGroupInfo, pod *framework.QueuedPodInfo) {
	for _, leaf := range leavesOf(info.PodGroupInfo) {
		if leaf.Name != *pod.Pod.Spec.SchedulingGroup.PodGroupName {
			continue
		}
		key := fwk.PodGroupKey(leaf.Namespace, leaf.Name)
		info.QueuedPodInfos[key] = append(info.QueuedPodInfos[key], pod)
		leaf.UnscheduledPods = append(leaf.UnscheduledPods, pod.Pod)
	}
}

// membersOf are the pods of a group, in the order in which they are tried.
func membersOf(info *framework.QueuedPodGroupInfo) []string {
	var names []string
	for _, leaf := range leavesOf(info.PodGroupInfo) {
		for _, pod := range info.QueuedPodInfos[fwk.PodGroupKey(leaf.Namespace, leaf.Name)] {
			names = append(names, key(pod.Pod))
		}
	}
	return names
}

// entityOf is what the queue has of a pod: itself, or its group, where that has an object.
func entityOf(c *cluster, pod *v1.Pod) (queuedEntity, bool) {
	if groupOf(pod) == "" {
		return queued(c.sched.SchedulingQueue, pod)
	}
	root, ok := rootKey(c, pod)
	if !ok {
		return nil, false
	}
	return c.sched.SchedulingQueue.GetPodGroup(root.Name, root.Namespace, root.Type)
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
