//go:build from137 && !from138

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// queued is what the queue has of a pod.
func queued(queue internalqueue.SchedulingQueue, pod *v1.Pod) (*framework.QueuedPodInfo, bool) {
	return queue.GetPod(pod.Name, pod.Namespace, pod.Spec.SchedulingGroup)
}

// evictWith has victims leave by a function of ours.
func evictWith(plugin *defaultpreemption.DefaultPreemption, evict func(victim *v1.Pod) error) {
	plugin.Executor.PreemptPod = func(_ context.Context, _ preemption.Candidate, _ preemption.ExecutorPreemptor, victim *v1.Pod, _ string) (bool, error) {
		return false, evict(victim)
	}
}

// addPoints adds the extension points of pod groups.
func addPoints(sets map[string]config.PluginSet, plugins *config.Plugins) {
	sets["placementGenerate"], sets["placementScore"] = plugins.PlacementGenerate, plugins.PlacementScore
	sets["podGroupPostFilter"] = plugins.PodGroupPostFilter
}
