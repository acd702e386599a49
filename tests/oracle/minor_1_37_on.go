//go:build from137

package main

import (
	"context"
	"reflect"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	core "k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/features"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// replayedLater are kinds that timelines may change in these minors only.
var replayedLater = []runtime.Object{&resourceapi.DeviceTaintRule{}}

// addsUnschedulable ends the name of the method that queues a pod that failed.
const addsUnschedulable = ".AddUnschedulablePodIfNotPresent"

//go:linkname flushUnschedulable k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulableEntitiesLeftover
func flushUnschedulable(queue *internalqueue.PriorityQueue, logger klog.Logger)

// defaultPodLevel fills in the resources of the pod as a whole, which the API server does after
// admission when a pod is created (PodLevelResourcesFixDefaulting), not while it decodes it.
func defaultPodLevel(pod *v1.Pod) {
	var internal core.Pod
	if pod.Spec.Resources == nil || corev1.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), &internal, nil) != nil {
		return
	}
	podutil.DefaultPodLevelResources(&internal)
	_ = corev1.Convert_core_ResourceRequirements_To_v1_ResourceRequirements(internal.Spec.Resources, pod.Spec.Resources, nil)
}

func deleteQueued(c *cluster, pod *v1.Pod) {
	c.sched.SchedulingQueue.Delete(klog.FromContext(c.ctx), pod)
}

func (s *steady) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, possible []*preemption.DomainVictim, pdbs []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
	victims, violations, status := s.Interface.SelectVictimsOnNode(ctx, state, pod, node, possible, pdbs)
	s.found(node, victims, violations, status)
	return victims, violations, status
}

// orderedScores is the framework as a batch asks it to score the node taken last again.
type orderedScores struct{ framework.Framework }

func (f orderedScores) RunRawScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) ([]fwk.PluginScore, *fwk.Status) {
	return f.Framework.(interface {
		RunRawScorePlugins(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) ([]fwk.PluginScore, *fwk.Status)
	}).RunRawScorePlugins(ctx, state, pod, node)
}

func (f orderedScores) NormalizeScores(ctx context.Context, state fwk.CycleState, pod *v1.Pod, scores []fwk.NodePluginScores) *fwk.Status {
	status := f.Framework.(interface {
		NormalizeScores(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodePluginScores) *fwk.Status
	}).NormalizeScores(ctx, state, pod, scores)
	orderTies(scores)
	return status
}

// orderRescored puts ties in order of name where a batch ranks its nodes anew.
func orderRescored(fw framework.Framework) {
	batch := reflect.ValueOf(fw).Elem().FieldByName("batch")
	if batch.IsNil() {
		return
	}
	handle := batch.Elem().FieldByName("handle")
	settable := reflect.NewAt(handle.Type(), unsafe.Pointer(handle.UnsafeAddr())).Elem()
	settable.Set(reflect.ValueOf(orderedScores{fw}))
}

// awaitsResize says whether a pod runs and is queued all the same, as its node has deferred its resize.
func awaitsResize(pod *v1.Pod) bool {
	enabled := utilfeature.DefaultFeatureGate.Enabled(features.InPlacePodVerticalScalingSchedulerPreemption)
	return enabled && pod.Spec.NodeName != "" && resourcehelper.IsPodResizeDeferred(pod)
}
