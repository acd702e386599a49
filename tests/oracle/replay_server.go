package main

import (
	"container/heap"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

var (
	podsResource   = v1.SchemeGroupVersion.WithResource("pods")
	claimsResource = resourceapi.SchemeGroupVersion.WithResource("resourceclaims")
)

// store writes an object to the API server and tells the scheduler. Without old it is a new one.
func (r *replay) store(old, now metav1.Object) error {
	r.version++
	now.SetResourceVersion(strconv.FormatInt(r.version, 10))
	if pod, ok := now.(*v1.Pod); ok {
		tracker := r.client.Tracker()
		if old == nil {
			if err := tracker.Create(podsResource, pod, pod.Namespace); err != nil {
				return err
			}
		} else if err := tracker.Update(podsResource, pod, pod.Namespace); err != nil {
			return err
		}
	}
	if claim, ok := now.(*resourceapi.ResourceClaim); ok {
		if err := r.storeClaim(old, claim); err != nil {
			return err
		}
	}
	informer := r.still[reflect.TypeOf(now)]
	if informer == nil {
		return fmt.Errorf("the oracle does not replay changes of %T", now)
	}
	if old == nil {
		return informer.deliver(nil, now)
	}
	return informer.deliver(old, now)
}

// storeClaim writes a claim, in a version that is newer than those that the scheduler wrote.
func (r *replay) storeClaim(old metav1.Object, claim *resourceapi.ResourceClaim) error {
	tracker := r.client.Tracker()
	if old == nil {
		return tracker.Create(claimsResource, claim, claim.Namespace)
	}
	version, err := strconv.ParseInt(old.GetResourceVersion(), 10, 64)
	if err != nil {
		return err
	}
	claim.ResourceVersion = strconv.FormatInt(max(r.version, version+1), 10)
	return tracker.Update(claimsResource, claim, claim.Namespace)
}

// deliverClaims brings the claims that the scheduler wrote back to it, in order of their keys.
func (r *replay) deliverClaims() error {
	claims, err := r.claims()
	if err != nil {
		return err
	}
	informer := r.still[reflect.TypeFor[*resourceapi.ResourceClaim]()]
	present := map[string]bool{}
	for i := range claims {
		claim := &claims[i]
		present[claim.Namespace+"/"+claim.Name] = true
		old, found, err := informer.GetIndexer().Get(claim)
		switch {
		case err != nil:
			return err
		case !found:
			err = informer.deliver(nil, claim)
		case old.(*resourceapi.ResourceClaim).ResourceVersion != claim.ResourceVersion:
			err = informer.deliver(old, claim)
		}
		if err != nil {
			return err
		}
	}
	keys := informer.GetIndexer().ListKeys()
	slices.Sort(keys)
	for _, key := range keys {
		if old, found, _ := informer.GetIndexer().GetByKey(key); found && !present[key] {
			if err := informer.deliver(old, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove takes an object from the API server and tells the scheduler.
func (r *replay) remove(obj metav1.Object) error {
	if pod, ok := obj.(*v1.Pod); ok {
		delete(r.lives, key(pod))
		if err := r.client.Tracker().Delete(podsResource, pod.Namespace, pod.Name); err != nil {
			return err
		}
	}
	if claim, ok := obj.(*resourceapi.ResourceClaim); ok {
		if err := r.client.Tracker().Delete(claimsResource, claim.Namespace, claim.Name); err != nil {
			return err
		}
	}
	return r.still[reflect.TypeOf(obj)].deliver(obj, nil)
}

// apply does what an entry says.
func (r *replay) apply(e *entry) error {
	if e.Delete != nil {
		return r.applyDelete(e.Delete, instantOf(e.Grace))
	}
	obj, err := e.object(r.others)
	if err != nil {
		return err
	}
	now := obj.(metav1.Object)
	if pod, ok := obj.(*v1.Pod); ok {
		return r.putPod(pod, e.RunsFor)
	}
	informer := r.still[reflect.TypeOf(obj)]
	if informer == nil {
		return fmt.Errorf("the oracle does not replay changes of %T", obj)
	}
	old, found, err := informer.GetIndexer().Get(obj)
	if err != nil || !found {
		return errors.Join(err, r.store(nil, now))
	}
	return r.store(old.(metav1.Object), now)
}

// putPod creates a pod, or changes one: its node, status and UID stay, as the API server keeps them, but for what
// its node tells of a resize.
func (r *replay) putPod(pod *v1.Pod, runsFor *float64) error {
	old := r.pod(key(pod))
	if old != nil {
		told := pod.Status
		pod.UID, pod.CreationTimestamp, pod.Spec.NodeName, pod.Status = old.UID, old.CreationTimestamp, old.Spec.NodeName, *old.Status.DeepCopy()
		pod.Status.ContainerStatuses = told.ContainerStatuses
		isResize := func(c v1.PodCondition) bool { return c.Type == v1.PodResizePending }
		pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, isResize)
		for _, condition := range told.Conditions {
			if isResize(condition) {
				pod.Status.Conditions = append(pod.Status.Conditions, condition)
			}
		}
		return r.store(old, pod)
	}
	pod.CreationTimestamp = *startOf(r.ticks.FakeClock.Now())
	life := &life{ends: never}
	if runsFor != nil {
		length := instantOf(*runsFor)
		life.runsFor = &length
	}
	r.lives[key(pod)] = life
	if pod.Spec.NodeName != "" {
		r.runs(pod)
	}
	return r.store(nil, pod)
}

// runs notes that a pod has a node from now on, and when it will end.
func (r *replay) runs(pod *v1.Pod) {
	life := r.lives[key(pod)]
	pod.Status.Phase = v1.PodRunning
	if pod.Status.StartTime == nil {
		pod.Status.StartTime = startOf(r.ticks.FakeClock.Now())
	}
	r.bound++
	life.bound = r.bound
	if life.runsFor != nil {
		r.endsAt(pod, r.now+*life.runsFor)
	}
}

// endsAt plans a pod's end, unless it will end before.
func (r *replay) endsAt(pod *v1.Pod, at instant) {
	life := r.lives[key(pod)]
	if at >= life.ends {
		return
	}
	life.ends = at
	r.planned++
	heap.Push(&r.ends, ending{at, r.planned, key(pod), life})
}

func (r *replay) end(planned ending) error {
	if r.lives[planned.pod] != planned.life || planned.life.ends != planned.at {
		return nil // it has gone, or will go at another time
	}
	return r.remove(r.pod(planned.pod))
}

// leaves has a running pod deleted, which takes as long as it may.
func (r *replay) leaves(pod *v1.Pod, grace instant, change func(*v1.Pod)) error {
	if grace == 0 {
		return r.remove(pod)
	}
	now := pod.DeepCopy()
	at := metav1.NewTime(r.ticks.FakeClock.Now().Add(grace.duration()))
	now.DeletionTimestamp = &at
	change(now)
	if err := r.store(pod, now); err != nil {
		return err
	}
	r.endsAt(now, r.now+grace)
	return nil
}

func (r *replay) applyDelete(d *deleted, grace instant) error {
	obj, err := d.find(r.cluster)
	if err != nil || obj == nil {
		return err
	}
	if pod, ok := obj.(*v1.Pod); ok && pod.Spec.NodeName != "" {
		return r.leaves(pod, grace, func(*v1.Pod) {})
	}
	if err := r.remove(obj); err != nil {
		return err
	}
	if node, ok := obj.(*v1.Node); ok {
		return r.emptied(node.Name)
	}
	return nil
}

// emptied removes the pods of a node that is gone, in the order in which they were bound.
func (r *replay) emptied(node string) error {
	var pods []*v1.Pod
	for _, obj := range r.podLister.List() {
		if pod := obj.(*v1.Pod); pod.Spec.NodeName == node {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *v1.Pod) int { return r.lives[key(a)].bound - r.lives[key(b)].bound })
	for _, pod := range pods {
		if err := r.remove(pod); err != nil {
			return err
		}
	}
	return nil
}

// patched takes a patch of a pod's status.
func (r *replay) patched(action clienttesting.Action) (bool, runtime.Object, error) {
	_, obj, err := clienttesting.ObjectReaction(r.client.Tracker())(action)
	if err != nil {
		return true, nil, err
	}
	r.trial.written = append(r.trial.written, written{obj.(*v1.Pod).DeepCopy(), r.trial.told})
	return true, obj, nil
}

// binds takes a binding, whose news is brought to the scheduler when the attempt is over.
func (r *replay) binds(action clienttesting.Action) (bool, runtime.Object, error) {
	create := action.(clienttesting.CreateAction)
	if create.GetSubresource() != "binding" {
		return false, nil, nil
	}
	binding := create.GetObject().(*v1.Binding)
	return true, binding, r.isBound(binding)
}

// isBound notes a binding, by the scheduler or by an extender that told the API server itself. The pod has the status
// that was written while it was assumed.
func (r *replay) isBound(binding *v1.Binding) error {
	stored, err := r.client.Tracker().Get(podsResource, binding.Namespace, binding.Name)
	if err != nil {
		return err
	}
	pod := stored.(*v1.Pod).DeepCopy()
	pod.Spec.NodeName = binding.Target.Name
	r.trial.written = append(r.trial.written, written{pod, r.trial.told})
	return nil
}

// deliverTrial brings what the attempt wrote to the API server back to the scheduler: first claims, then what
// it wrote of the pod itself, then of others, then its victims.
func (r *replay) deliverTrial() error {
	if err := r.deliverClaims(); err != nil {
		return err
	}
	tried := r.trial.tries
	slices.SortStableFunc(r.trial.written, func(a, b written) int {
		return boolToInt(tried[key(a.Pod)] == nil) - boolToInt(tried[key(b.Pod)] == nil)
	})
	for _, version := range r.trial.written {
		pod := version.Pod
		old := r.pod(key(pod))
		if old == nil {
			continue
		}
		if tried[key(pod)] == nil && !r.trial.evicts[version.during.Pod] {
			// With asynchronous preemption, nominations are cleared only where somebody is evicted.
			if err := r.client.Tracker().Update(podsResource, old, old.Namespace); err != nil {
				return err
			}
			continue
		}
		if old.Spec.NodeName == "" && pod.Spec.NodeName != "" {
			r.runs(pod)
		}
		if err := r.store(old, pod); err != nil {
			return err
		}
	}
	for _, name := range r.trial.victims {
		victim := r.pod(name)
		if victim == nil || victim.DeletionTimestamp != nil {
			continue
		}
		if err := r.leaves(victim, graceOf(victim), disrupted); err != nil {
			return err
		}
	}
	return nil
}

// disrupted marks a pod as preempted.
func disrupted(pod *v1.Pod) {
	pod.Status.Conditions = append(slices.Clone(pod.Status.Conditions), v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler,
	})
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
