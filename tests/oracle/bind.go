package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// finishBinding is what follows when Permit let a pod through. A pod that no extender binds is bound without a
// Bind plugin, whose call the fake API server would only answer.
func (r *run) finishBinding(a *attempt, fw framework.Framework, state fwk.CycleState, pod, assumed *v1.Pod, giveUp func() error) error {
	if needsPreBind(pod) {
		// Binding volumes would wait for a volume controller; the rules have claims written only.
		state.SetSkipPreBindPlugins(sets.New(names.VolumeBinding))
		if status := fw.RunPreBindPlugins(r.ctx, state, assumed, a.Node); !status.IsSuccess() {
			a.Error = status.AsError().Error()
			return giveUp()
		}
		if err := r.settle(nil); err != nil {
			return err
		}
		if err := r.tellClaims(a, pod); err != nil {
			return err
		}
	}
	if _, err := bindByExtender(r.cluster, fw, assumed, a.Node); err != nil {
		a.Error = err.Error()
		return giveUp()
	}
	r.placed[a.Pod] = a.Node
	r.changes++
	deleteQueued(r.cluster, pod)
	return r.podLister.Update(assumed)
}
