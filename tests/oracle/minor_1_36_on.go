//go:build from136

package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
)

type eventRecorder = events.EventRecorderLogger

// schedulePod is the scheduler's own, for a pod of the queue, where it is signed.
func schedulePod(c *cluster, fw framework.Framework, state fwk.CycleState, pod *v1.Pod) (scheduler.ScheduleResult, error) {
	info, ok := queued(c.sched.SchedulingQueue, pod)
	if !ok {
		return scheduler.ScheduleResult{}, fmt.Errorf("%s is not in the queue", key(pod))
	}
	snapshot := fw.SnapshotSharedLister().(*internalcache.Snapshot)
	if err := c.sched.Cache.UpdateSnapshot(klog.FromContext(c.ctx), snapshot); err != nil {
		return scheduler.ScheduleResult{}, err
	}
	return c.sched.SchedulePod(c.ctx, fw, state, info)
}

// wrapSchedulePod has a replay listen to SchedulePod.
func wrapSchedulePod(r *replay) {
	upstream := r.sched.SchedulePod
	r.sched.SchedulePod = func(ctx context.Context, fw framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
		r.to.cycle = record(r.sched, fw)
		result, err := upstream(ctx, r.to.cycle, state, info)
		return r.chosen(info.Pod, r.to.cycle, result, err)
	}
}

// assumedPod is the pod as the scheduler assumes it on a node: its status says what its claims take there.
func assumedPod(c *cluster, state fwk.CycleState, pod *v1.Pod, node string) *v1.Pod {
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = node
	if utilfeature.DefaultFeatureGate.Enabled(features.DRANodeAllocatableResources) {
		assumed.Status.NodeAllocatableResourceClaimStatuses =
			dynamicresources.ExtractPodNodeAllocatableResourceClaimStatus(klog.FromContext(c.ctx), state, node)
	}
	return assumed
}

func addQueued(c *cluster, pod *v1.Pod) { c.sched.SchedulingQueue.Add(c.ctx, pod) }

func updateQueued(c *cluster, old, pod *v1.Pod) { c.sched.SchedulingQueue.Update(c.ctx, old, pod) }

func permit(c *cluster, fw framework.Framework, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	_, status := fw.RunPermitPlugins(c.ctx, state, pod, node)
	return status
}

// needsPreBind says whether the rules have PreBind run for a pod: where it has claims, and where its
// extended resources may have become one.
func needsPreBind(*v1.Pod) bool { return true }

// classesArrived says whether the scheduler knows which device classes back extended resources.
func classesArrived(manager sharedDRAManager, s *state) bool {
	if !utilfeature.DefaultFeatureGate.Enabled(features.DRAExtendedResource) {
		return true
	}
	resolver := manager.DeviceClassResolver()
	for _, obj := range s.others {
		class, ok := obj.(*resourceapi.DeviceClass)
		if !ok {
			continue
		}
		// A class may name a resource that another one backs: then its own name is never known.
		if cache, ok := resolver.(interface{ GetExtendedResource(string) string }); ok && class.Spec.ExtendedResourceName != nil {
			if cache.GetExtendedResource(class.Name) != *class.Spec.ExtendedResourceName {
				return false
			}
			continue
		}
		implicit := v1.ResourceName(resourceapi.ResourceDeviceClassPrefix + class.Name)
		if resolver.GetDeviceClass(implicit) == nil {
			return false
		}
	}
	return true
}
