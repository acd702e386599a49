//go:build from138

package main

import (
	"context"
	"reflect"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	draapi "k8s.io/dynamic-resource-allocation/api"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

type preemptionCandidate = fwk.PreemptionCandidate

// NumDisruptionsByVictimType and Nodes are asked for from 1.38 on.
func (c *contender) NumDisruptionsByVictimType() map[fwk.EntityKeyType]int { return nil }
func (c *contender) Nodes() []string                                       { return []string{c.node} }

// numFeasibleNodesToFind is the scheduler's own count of nodes that are enough, see early.go.
func numFeasibleNodesToFind(sched *scheduler.Scheduler, percentage *int32, nodes int32) int32 {
	algorithm := reflect.ValueOf(sched).Elem().FieldByName("algorithm")
	return nodesToFind((*scheduler.SchedulingAlgorithm)(algorithm.UnsafePointer()), percentage, nodes)
}

//go:linkname nodesToFind k8s.io/kubernetes/pkg/scheduler.(*SchedulingAlgorithm).numFeasibleNodesToFind
func nodesToFind(algorithm *scheduler.SchedulingAlgorithm, percentage *int32, nodes int32) int32

// kept is what the scheduler keeps of a kind: slices of devices as converted ones.
func kept(kind runtime.Object) (runtime.Object, func(any) any) {
	if _, ok := kind.(*resourceapi.ResourceSlice); !ok {
		return kind, nil
	}
	return &draapi.ResourceSlice{}, func(obj any) any {
		slice, ok := obj.(*resourceapi.ResourceSlice)
		if !ok {
			return obj
		}
		converted := &draapi.ResourceSlice{}
		if err := draapi.Convert_v1_ResourceSlice_To_api_ResourceSlice(slice, converted, nil); err != nil {
			panic(err)
		}
		return converted
	}
}

// queued is what the queue has of a pod.
func queued(queue internalqueue.SchedulingQueue, pod *v1.Pod) (*framework.QueuedPodInfo, bool) {
	return queue.GetPod(context.Background(), pod.Name, pod.Namespace, pod.Spec.SchedulingGroup)
}

// evictWith has victims leave by a function of ours.
func evictWith(plugin *defaultpreemption.DefaultPreemption, evict func(victim *v1.Pod) error) {
	plugin.Executor.(*preemption.Executor).PreemptPod = func(_ context.Context, _ fwk.PreemptionCandidate, _ preemption.ExecutorPreemptor, victim *v1.Pod, _ string) (bool, error) {
		return false, evict(victim)
	}
}

// addPoints adds the extension points of pod groups.
func addPoints(sets map[string]config.PluginSet, plugins *config.Plugins) {
	sets["placementGenerate"], sets["placementScore"] = plugins.PlacementGenerate, plugins.PlacementScore
	sets["placementFeasible"], sets["podGroupPostFilter"] = plugins.PlacementFeasible, plugins.PodGroupPostFilter
}

// bindByExtender is the scheduler's own, which has an extender bind a pod: it says whether one did, or could not.
func bindByExtender(c *cluster, fw framework.Framework, pod *v1.Pod, node string) (bool, error) {
	return extendersBinding(c.sched, klog.FromContext(c.ctx), fw, pod, node)
}

//go:linkname extendersBinding k8s.io/kubernetes/pkg/scheduler.(*Scheduler).extendersBinding
func extendersBinding(sched *scheduler.Scheduler, logger klog.Logger, fw framework.Framework, pod *v1.Pod, node string) (bool, error)
