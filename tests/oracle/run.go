package main

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	componentversion "k8s.io/component-base/version"
)

// version is that of the scheduler, which the build sets.
func version() string { return "kube-scheduler " + componentversion.Get().GitVersion }

const (
	mostRuns  = 10 // passes over the queue
	notPlaced = ""
)

// run takes pods one after another through the scheduler.
type run struct {
	*cluster
	out     *outcome
	to      *listeners
	queue   []string // the pods that may be scheduled, in queue order
	changes int      // pods bound or evicted so far
	placed  map[string]string
}

func decide(texts [][]byte, configText []byte) (*outcome, error) {
	cfg, err := loadConfig(configText)
	if err != nil {
		return nil, err
	}
	s, err := loadState(texts)
	if err != nil {
		return nil, err
	}
	c, err := newCluster(context.Background(), cfg, s)
	if err != nil {
		return nil, &refusal{"framework", err.Error()}
	}
	defer c.close()
	r := &run{cluster: c, out: &outcome{Oracle: version(), Attempts: []*attempt{}}, to: &listeners{}, placed: map[string]string{}}
	r.countCycles()
	// The frameworks hold this same slice, so that preemption finds the wrapped extenders too.
	for i, extender := range extenders(c) {
		extenders(c)[i] = &recordingExtender{extender, r.to}
	}
	for _, fw := range c.sched.Profiles {
		steadyPreemption(fw, r.to)
		orderRescored(fw)
	}
	r.enqueue(s.pods, cfg.Profiles[0].SchedulerName)
	if err := r.passes(); err != nil {
		return nil, err
	}
	r.finish()
	return r.out, nil
}

// enqueue adds the pending pods to the scheduling queue, which runs the PreEnqueue plugins. They
// stay there until they are placed, for the queue is where nominated pods are looked up.
func (r *run) enqueue(pods []*v1.Pod, firstProfile string) {
	for _, pod := range pods {
		// The scheduler knows all members of a group before the first of them is let into the queue.
		if isQueued(pod) && !finished(pod) && r.sched.Profiles.HandlesSchedulerName(pod.Spec.SchedulerName) {
			joinGroup(r.cluster, pod)
		}
	}
	var added []*v1.Pod
	for _, pod := range inOrderOfArrival(pods) {
		known := r.sched.Profiles.HandlesSchedulerName(pod.Spec.SchedulerName)
		if !isQueued(pod) || finished(pod) || pod.DeletionTimestamp != nil || !known {
			continue
		}
		r.clock.SetTime(pod.CreationTimestamp.Time)
		addQueued(r.cluster, pod)
		added = append(added, pod)
	}
	less := r.sched.Profiles[firstProfile].QueueSortFunc()
	infos := map[string]queuedEntity{}
	for _, pod := range added {
		if info, ok := entityOf(r.cluster, pod); !ok || info.Gated() {
			r.out.Gated = append(r.out.Gated, key(pod))
		} else {
			r.queue = append(r.queue, key(pod))
			infos[key(pod)] = info
		}
	}
	slices.SortStableFunc(r.queue, func(a, b string) int {
		switch {
		case less(infos[a], infos[b]):
			return -1
		case less(infos[b], infos[a]):
			return 1
		}
		return 0
	})
}

// isQueued says whether the scheduler tries a pod: one without a node, or whose node has deferred its resize.
func isQueued(pod *v1.Pod) bool { return pod.Spec.NodeName == "" || awaitsResize(pod) }

// passes goes over the queue until nothing that failed is worth another try.
func (r *run) passes() error {
	seen := map[string]int{} // how many changes a pod's last attempt knew of
	for pass := range mostRuns {
		tried, triedGroups := false, map[string]bool{}
		r.gateGroups(pass, seen)
		for _, name := range r.queue {
			_, placed := r.placed[name]
			if placed || slices.Contains(r.out.Evicted, name) || pass > 0 && seen[name] == r.changes {
				continue
			}
			group := rootOf(r.cluster, r.pod(name))
			if group != "" && triedGroups[group] {
				continue
			}
			tried, triedGroups[group] = true, true
			names := r.members(name, group)
			if err := r.schedule(names, group); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for _, name := range names {
				seen[name] = r.changes
			}
		}
		if !tried {
			break
		}
	}
	return nil
}

// members are the pods that are tried together with a pod, in queue order.
func (r *run) members(name, group string) []string {
	if group == "" {
		return []string{name}
	}
	var names []string
	for _, other := range r.queue {
		if _, placed := r.placed[other]; !placed && rootOf(r.cluster, r.pod(other)) == group {
			names = append(names, other)
		}
	}
	return names
}

// gateGroups asks PreEnqueue anew about the pods of groups that a pass would try: the group may have
// lost pods.
func (r *run) gateGroups(pass int, seen map[string]int) {
	if pass == 0 {
		return
	}
	r.queue = slices.DeleteFunc(r.queue, func(name string) bool {
		if slices.Contains(r.out.Evicted, name) {
			return true // while its resize waited
		}
		pod := r.pod(name)
		_, placed := r.placed[name]
		if placed || groupOf(pod) == "" || seen[name] == r.changes || r.enters(pod) {
			return false
		}
		r.out.Gated = append(r.out.Gated, name)
		return true
	})
}

// enters says whether the PreEnqueue plugins let a pod of a group into the queue now, or, where the queue has
// groups, all pods of the group.
func (r *run) enters(pod *v1.Pod) bool {
	if !queuesGroups {
		return preEnqueued(r.cluster, pod)
	}
	for _, name := range r.members(key(pod), rootOf(r.cluster, pod)) {
		if !preEnqueued(r.cluster, r.pod(name)) {
			return false
		}
	}
	return true
}

// schedule tries a pod or a group, and once more when preemption made room for it.
func (r *run) schedule(names []string, group string) error {
	if group != "" {
		return r.scheduleGroup(names)
	}
	nominated, err := r.attempt(names[0], false)
	if err == nil && nominated {
		_, err = r.attempt(names[0], true)
	}
	return err
}

func (r *run) finish() {
	evicted := map[string]bool{}
	for _, name := range r.out.Evicted {
		evicted[name] = true
	}
	r.out.Placements = map[string]string{}
	for _, name := range r.queue {
		node := r.placed[name]
		switch {
		case evicted[name]:
		case node == notPlaced:
			r.out.Pending = append(r.out.Pending, name)
		default:
			r.out.Placements[name] = node
		}
	}
	slices.Sort(r.out.Pending)
	slices.Sort(r.out.Gated)
}
