//go:build from136 && !from137

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// evictWith has victims leave by a function of ours.
func evictWith(plugin *defaultpreemption.DefaultPreemption, evict func(victim *v1.Pod) error) {
	plugin.Executor.PreemptPod = func(_ context.Context, _ preemption.Candidate, _ preemption.ExecutorPreemptor, victim *v1.Pod, _ string) error {
		return evict(victim)
	}
}

// addPoints adds the extension points of pod groups.
func addPoints(sets map[string]config.PluginSet, plugins *config.Plugins) {
	sets["placementGenerate"], sets["placementScore"] = plugins.PlacementGenerate, plugins.PlacementScore
}
