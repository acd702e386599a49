package main

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

// cleared is what the scheduler does to a pod's nomination when the cycle failed otherwise than
// by the pod not fitting.
var cleared = &nominatingInfo{NominatingMode: modeOverride}

// nominate writes a pod's nomination to the API server, and brings the news to the scheduler.
func (r *run) nominate(pod *v1.Pod, to *nominatingInfo) error {
	if awaitsResize(pod) {
		return nil // it has its node
	}
	updated := pod.DeepCopy()
	updated.Status.NominatedNodeName = to.NominatedNodeName
	pods := r.client.CoreV1().Pods(pod.Namespace)
	if _, err := pods.UpdateStatus(r.ctx, updated, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return r.updated(updated)
}

// updated is the informer's event of a pending pod that changed.
func (r *run) updated(pod *v1.Pod) error {
	old := r.pod(key(pod))
	if err := r.podLister.Update(pod); err != nil {
		return err
	}
	updateQueued(r.cluster, old, pod)
	return nil
}

// deliver brings what PostFilter did through the API server back to the scheduler at once:
// victims are gone (also those that were leaving already, which upstream does not delete again),
// nominations of lesser pods cleared, claims deallocated.
func (r *run) deliver(victims []string) error {
	logger := klog.FromContext(r.ctx)
	for _, name := range victims {
		victim := r.pod(name)
		if victim == nil {
			continue // an extender named it twice
		}
		if err := r.podLister.Delete(victim); err != nil {
			return err
		}
		if err := r.sched.Cache.RemovePod(logger, victim); err != nil {
			return err
		}
		untrackPod(r.cluster, victim)
		r.out.Evicted = append(r.out.Evicted, name)
		r.changes++
	}
	for _, action := range r.client.Actions() {
		patch, ok := action.(clienttesting.PatchAction)
		if !ok || patch.GetResource().Resource != "pods" {
			continue
		}
		pod := r.pod(patch.GetNamespace() + "/" + patch.GetName())
		if pod == nil || pod.Spec.NodeName != "" {
			continue // a victim, patched before it was deleted
		}
		if len(victims) == 0 {
			// With asynchronous preemption, nominations are cleared only where somebody is evicted.
			if err := r.client.Tracker().Update(patch.GetResource(), pod, pod.Namespace); err != nil {
				return err
			}
			continue
		}
		obj, err := r.client.Tracker().Get(patch.GetResource(), patch.GetNamespace(), patch.GetName())
		if err != nil {
			return err
		}
		if err := r.updated(obj.(*v1.Pod)); err != nil {
			return err
		}
	}
	return r.settle(nil)
}
