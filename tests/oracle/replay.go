package main

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
)

// replayed are the kinds, beside pods and nodes, that a timeline may change.
var replayed = []runtime.Object{
	&v1.Namespace{}, &v1.PersistentVolume{}, &v1.PersistentVolumeClaim{}, &storagev1.StorageClass{}, &storagev1.CSINode{},
	&storagev1.CSIDriver{}, &storagev1.CSIStorageCapacity{}, &storagev1.VolumeAttachment{},
	&resourceapi.ResourceClaim{}, &resourceapi.ResourceSlice{}, &resourceapi.DeviceClass{},
}

// replay drives the scheduler's own queue and cycles along a timeline, on a clock of ours. It plays the API
// server: what entries and the scheduler write there is delivered to the scheduler's event handlers at once,
// though not before the attempt under way has ended. Nothing takes time but what the timeline says.
type replay struct {
	*run
	timeline *timeline
	ticks    *orderClock
	now      instant
	others   []runtime.Object
	ends     endings
	version  int64 // of the last object written
	bound    int   // pods bound so far
	planned  int   // ends planned so far
	lives    map[string]*life
	trial    *trial   // the attempt under way
	inTree   []string // the pods of the tree that is tried, in order
	result   *replayOutcome
}

// life is a pod's, from its creation to its end. Another pod of the same name has another life.
type life struct {
	runsFor *instant
	ends    instant // when it will be gone, or never
	bound   int     // 1 for the first pod bound, and so on; 0 while it is pending
}

const never instant = 1 << 62

type replayOutcome struct {
	Oracle   string         `json:"oracle"`
	Attempts []*replayTry   `json:"attempts"`
	Queues   replayedQueues `json:"queues"`
}

type replayTry struct {
	At            float64  `json:"at"`
	Pod           string   `json:"pod"`
	Result        string   `json:"result"`
	Node          string   `json:"node,omitempty"`
	NominatedNode string   `json:"nominatedNode,omitempty"`
	Victims       []string `json:"victims,omitempty"`
	Message       string   `json:"message,omitempty"`
	RejectedBy    []string `json:"rejectedBy,omitempty"`
}

type replayedQueues struct {
	Active        []string `json:"active"`
	Backoff       []string `json:"backoff"`
	Unschedulable []string `json:"unschedulable"`
	Gated         []string `json:"gated"`
}

// ending is a pod's last instant, as it was planned when it was pushed.
type ending struct {
	at    instant
	order int
	pod   string
	life  *life
}

// endings is a heap by instant, then in the order of being pushed.
type endings []ending

func (e endings) Len() int { return len(e) }
func (e endings) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)   { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func replayTimeline(timelineText []byte, texts [][]byte, configText []byte) (*replayOutcome, error) {
	cfg, err := loadConfig(configText)
	if err != nil {
		return nil, err
	}
	s, err := loadState(texts)
	if err != nil {
		return nil, err
	}
	t, err := loadTimeline(timelineText)
	if err != nil {
		return nil, err
	}
	ticks := newOrderClock(*t.Start)
	c, err := newClusterByHand(context.Background(), cfg, s, slices.Concat(replayed, replayedLater), scheduler.WithClock(ticks))
	if err != nil {
		return nil, &refusal{"framework", err.Error()}
	}
	defer c.close()
	r := &replay{
		run: &run{cluster: c, out: &outcome{}, to: &listeners{}}, timeline: t, ticks: ticks, version: 1,
		lives: map[string]*life{}, result: &replayOutcome{Oracle: version(), Attempts: []*replayTry{}},
	}
	for _, obj := range s.others {
		switch obj.(type) {
		case *schedulingv1.PriorityClass, *resourceapi.DeviceClass:
			r.others = append(r.others, obj)
		}
	}
	r.listen()
	if err := r.begin(s.pods); err != nil {
		return nil, err
	}
	if err := r.play(); err != nil {
		return nil, err
	}
	r.tellQueues()
	return r.result, nil
}

// begin has the state's pods known: running ones, and pending ones in order of their creation.
func (r *replay) begin(pods []*v1.Pod) error {
	var pending []*v1.Pod
	for _, pod := range pods {
		switch {
		case finished(pod):
		case pod.Spec.NodeName != "":
			r.bound++
			r.lives[key(pod)] = &life{ends: never, bound: r.bound}
			if awaitsResize(pod) {
				pending = append(pending, pod)
			}
		default:
			r.lives[key(pod)] = &life{ends: never}
			pending = append(pending, pod)
		}
	}
	slices.SortStableFunc(pending, func(a, b *v1.Pod) int {
		return a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time)
	})
	for _, pod := range pending {
		if pod.DeletionTimestamp == nil && r.sched.Profiles.HandlesSchedulerName(pod.Spec.SchedulerName) {
			arrive(r.cluster, pod)
		}
	}
	return nil
}

// play goes from one instant to the next at which something is due.
func (r *replay) play() error {
	until, entries := instantOf(*r.timeline.Until), r.timeline.Events
	for at := instant(0); at <= until; at = r.next(entries) {
		r.now = at
		r.ticks.set(r.timeline.Start.Add(at.duration()))
		for len(r.ends) > 0 && r.ends[0].at <= at {
			if err := r.end(heap.Pop(&r.ends).(ending)); err != nil {
				return err
			}
		}
		for len(entries) > 0 && entries[0].at <= at {
			if err := r.apply(entries[0]); err != nil {
				return fmt.Errorf("at %v: %w", at.seconds(), err)
			}
			entries = entries[1:]
		}
		r.flush()
		if err := r.drain(); err != nil {
			return fmt.Errorf("at %v: %w", at.seconds(), err)
		}
	}
	return nil
}

// next is the next instant at which something is due: an entry, an end, or one of the queue's flushes.
func (r *replay) next(entries []*entry) instant {
	next := never
	if len(entries) > 0 {
		next = entries[0].at
	}
	if len(r.ends) > 0 {
		next = min(next, r.ends[0].at)
	}
	if len(r.sched.SchedulingQueue.PodsInBackoffQ()) > 0 {
		next = min(next, nextMultiple(r.now, second))
	}
	if len(r.sched.SchedulingQueue.UnschedulablePods()) > 0 {
		next = min(next, nextMultiple(r.now, 30*second))
	}
	return next
}

func nextMultiple(after, of instant) instant { return (after/of + 1) * of }

// flush does what the queue's two goroutines do at this instant, which begin at the timeline's start.
func (r *replay) flush() {
	queue, logger := realQueue(r.cluster), klog.FromContext(r.ctx)
	if r.now%(30*second) == 0 {
		flushUnschedulable(queue, logger)
	}
	if r.now%second == 0 {
		flushBackoff(queue, logger)
	}
}

func realQueue(c *cluster) *internalqueue.PriorityQueue {
	return c.sched.SchedulingQueue.(*internalqueue.PriorityQueue)
}

// tellQueues notes where the pending pods are at the end.
func (r *replay) tellQueues() {
	queue := r.sched.SchedulingQueue
	queues := &r.result.Queues
	queues.Active, queues.Backoff = keys(queue.PodsInActiveQ()), keys(queue.PodsInBackoffQ())
	queues.Unschedulable, queues.Gated = []string{}, []string{}
	queues.Gated = append(queues.Gated, incomplete(queue)...)
	for _, pod := range queue.UnschedulablePods() {
		if info, ok := entityOf(r.cluster, pod); ok && info.Gated() {
			queues.Gated = append(queues.Gated, key(pod))
		} else {
			queues.Unschedulable = append(queues.Unschedulable, key(pod))
		}
	}
	for _, names := range [][]string{queues.Active, queues.Backoff, queues.Unschedulable, queues.Gated} {
		slices.SortFunc(names, strings.Compare)
	}
}
