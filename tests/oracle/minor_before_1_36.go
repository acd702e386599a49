//go:build !from136

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

type eventRecorder = events.EventRecorder

// schedulePod is the scheduler's own, for a pod of the queue.
func schedulePod(c *cluster, fw framework.Framework, state fwk.CycleState, pod *v1.Pod) (scheduler.ScheduleResult, error) {
	return c.sched.SchedulePod(c.ctx, fw, state, pod)
}

// wrapSchedulePod has a replay listen to SchedulePod.
func wrapSchedulePod(r *replay) {
	upstream := r.sched.SchedulePod
	r.sched.SchedulePod = func(ctx context.Context, fw framework.Framework, state fwk.CycleState, pod *v1.Pod) (scheduler.ScheduleResult, error) {
		r.to.cycle = record(r.sched, fw)
		result, err := upstream(ctx, r.to.cycle, state, pod)
		return r.chosen(pod, r.to.cycle, result, err)
	}
}

// assumedPod is the pod as the scheduler assumes it on a node.
func assumedPod(_ *cluster, _ fwk.CycleState, pod *v1.Pod, node string) *v1.Pod {
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = node
	return assumed
}

func addQueued(c *cluster, pod *v1.Pod) {
	c.sched.SchedulingQueue.Add(klog.FromContext(c.ctx), pod)
}

func updateQueued(c *cluster, old, pod *v1.Pod) {
	c.sched.SchedulingQueue.Update(klog.FromContext(c.ctx), old, pod)
}

func permit(c *cluster, fw framework.Framework, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	return fw.RunPermitPlugins(c.ctx, state, pod, node)
}

// needsPreBind says whether the rules have PreBind run for a pod.
func needsPreBind(pod *v1.Pod) bool { return len(pod.Spec.ResourceClaims) > 0 }

// addPoints does nothing: these minors have no others.
func addPoints(map[string]config.PluginSet, *config.Plugins) {}

// evictWith has victims leave by a function of ours.
func evictWith(plugin *defaultpreemption.DefaultPreemption, evict func(victim *v1.Pod) error) {
	plugin.Evaluator.PreemptPod = func(_ context.Context, _ preemption.Candidate, _, victim *v1.Pod, _ string) error {
		return evict(victim)
	}
}

// classesArrived has nothing to wait for: here device classes back no extended resources.
func classesArrived(sharedDRAManager, *state) bool { return true }
