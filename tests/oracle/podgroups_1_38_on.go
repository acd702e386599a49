//go:build from138

package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	schedulingapi "k8s.io/api/scheduling/v1beta1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/heap"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/gangscheduling"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

type compositeGroup = schedulingapi.CompositePodGroup

// listeningPods has the pods of groups scheduled by the scheduler's own function, to which runs and replays listen.
type listeningPods struct {
	scheduler.PodScheduler
	sched *scheduler.Scheduler
}

func (p listeningPods) SchedulePod(ctx context.Context, fw framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
	return p.sched.SchedulePod(ctx, fw, state, info)
}

// listenToGroups listens to the algorithm of groups, and has it try placements in their order, where it draws lots.
func listenToGroups(sched *scheduler.Scheduler) {
	algorithm := reflect.ValueOf(sched).Elem().FieldByName("podGroupAlgorithm")
	if algorithm.IsNil() {
		return
	}
	pods := (*scheduler.PodScheduler)(unsafe.Pointer(algorithm.Elem().FieldByName("podScheduler").UnsafeAddr()))
	*pods = listeningPods{*pods, sched}
	shuffle := algorithm.Elem().FieldByName("shufflePlacements").UnsafeAddr()
	*(*func([]*fwk.Placement))(unsafe.Pointer(shuffle)) = nil
}

// tracker counts the pods of groups, as the scheduler's event handlers tell it; nil without groups.
func tracker(c *cluster) *gangscheduling.HierarchyTracker {
	field := reflect.ValueOf(c.sched).Elem().FieldByName("podGroupHierarchyTracker")
	return (*gangscheduling.HierarchyTracker)(field.UnsafePointer())
}

func trackPod(c *cluster, pod *v1.Pod) {
	if tracker := tracker(c); tracker != nil {
		tracker.AddPod(klog.FromContext(c.ctx), pod)
	}
}

func untrackPod(c *cluster, pod *v1.Pod) {
	if tracker := tracker(c); tracker != nil {
		tracker.DeletePod(klog.FromContext(c.ctx), pod)
	}
}

// scoresPlacements has a group tried in a share of the placements.
func scoresPlacements(cfg *config.KubeSchedulerConfiguration) scheduler.Option {
	return scheduler.WithPercentageOfPlacementsToScore(cfg.PercentageOfPlacementsToScore)
}

// failureMessage is what a pod's condition says: those of a group are only told that it does not fit.
func failureMessage(pod *v1.Pod, status *fwk.Status) string {
	for err := status.AsError(); err != nil; err = errors.Unwrap(err) {
		if fmt.Sprintf("%T", err) == "*scheduler.podGroupFitError" {
			return fmt.Sprintf("parent pod group %q is unschedulable", *pod.Spec.SchedulingGroup.PodGroupName)
		}
	}
	return status.Message()
}

// decoders are of kinds that the scheduler reads in another version than others of their group.
var decoders map[string]apiruntime.Decoder

func rootKey(c *cluster, pod *v1.Pod) (fwk.EntityKey, bool) {
	root, err := c.sched.Profiles[pod.Spec.SchedulerName].PodGroupManager().FindRootGroup(fwk.PodGroupKey(pod.Namespace, *pod.Spec.SchedulingGroup.PodGroupName))
	if err != nil || root == nil {
		return fwk.EntityKey{}, false
	}
	return root.GetKey(), true
}

// groupInfo is the group that the pod is tried with, without its pods.
func groupInfo(c *cluster, first *v1.Pod) *framework.QueuedPodGroupInfo {
	if entity, ok := entityOf(c, first); ok {
		return &framework.QueuedPodGroupInfo{PodGroupInfo: emptied(entity.(*framework.QueuedPodGroupInfo).PodGroupInfo)}
	}
	group := &schedulingapi.PodGroup{}
	group.Namespace, group.Name = first.Namespace, *first.Spec.SchedulingGroup.PodGroupName
	return &framework.QueuedPodGroupInfo{PodGroupInfo: framework.NewPodGroupInfo(fwk.NewGenericPodGroup(group))}
}

// emptied is a copy of a tree of groups, without pods.
func emptied(info *framework.PodGroupInfo) *framework.PodGroupInfo {
	var children []*framework.PodGroupInfo
	for _, child := range info.Children() {
		children = append(children, emptied(child))
	}
	return framework.NewPodGroupInfo(info.GenericPodGroup, children...)
}

// leavesOf are the groups of pods in a tree, in the order in which they are tried.
func leavesOf(info *framework.PodGroupInfo) []*framework.PodGroupInfo {
	if info.GetType() == fwk.PodGroupKeyType {
		return []*framework.PodGroupInfo{info}
	}
	var leaves []*framework.PodGroupInfo
	for _, child := range info.Children() {
		leaves = append(leaves, leavesOf(child)...)
	}
	return leaves
}

// addMember adds pods in the order of the calls: the scheduler would look at their times in the queue.
func addMember(info *framework.QueuedPodGroupInfo, pod *framework.QueuedPodInfo) {
	member := *pod
	member.Attempts, member.Timestamp = 0, time.Unix(int64(info.Size()), 0)
	info.AddPod(&member)
}

// membersOf are the pods of a group, in the order in which they are tried.
func membersOf(info *framework.QueuedPodGroupInfo) []string {
	var names []string
	for _, leaf := range leavesOf(info.PodGroupInfo) {
		for _, pod := range info.PodInfosForGroup(leaf.GetKey()) {
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
	queue := c.sched.SchedulingQueue
	if counted, ok := queue.(*countedQueue); ok {
		queue = counted.SchedulingQueue
	}
	for _, entity := range queuedEntities(queue.(*internalqueue.PriorityQueue)) {
		if group, ok := entity.(*framework.QueuedPodGroupInfo); ok && group.GetKey() == root {
			return group, true
		}
	}
	return nil, false
}

// queuedEntities are the pods and groups of all parts of the queue, which tells nobody of composite groups.
func queuedEntities(queue *internalqueue.PriorityQueue) []queuedEntity {
	var entities []queuedEntity
	for _, part := range []struct{ of, field string }{
		{"activeQ", "queue"}, {"backoffQ", "entityBackoffQ"}, {"backoffQ", "entityErrorBackoffQ"},
	} {
		field := reflect.ValueOf(queue).Elem().FieldByName(part.of)
		for field.Kind() == reflect.Interface || field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		waiting := (*heap.Heap[queuedEntity])(field.FieldByName(part.field).UnsafePointer())
		entities = append(entities, waiting.List()...)
	}
	unschedulable := reflect.ValueOf(queue).Elem().FieldByName("unschedulableEntities").Elem().FieldByName("entityInfoMap")
	for _, entity := range *(*map[string]queuedEntity)(unsafe.Pointer(unschedulable.UnsafeAddr())) {
		entities = append(entities, entity)
	}
	return entities
}

// listenToEvictions notes whom the preemption for the group evicts. The function returned ends it.
func (g *groupCycle) listenToEvictions() func() {
	for _, plugin := range plugins(g.recorder.Framework) {
		plugin, ok := plugin.(*defaultpreemption.DefaultPreemption)
		if !ok {
			continue
		}
		executor := plugin.Executor.(*preemption.Executor)
		upstream := executor.PreemptPod
		executor.PreemptPod = func(ctx context.Context, c fwk.PreemptionCandidate, preemptor preemption.ExecutorPreemptor, victim *v1.Pod, name string) (bool, error) {
			if c.Name() == "cluster" {
				g.victims = keys(c.Victims().Pods)
			}
			return upstream(ctx, c, preemptor, victim, name)
		}
		return func() { executor.PreemptPod = upstream }
	}
	return func() {}
}
