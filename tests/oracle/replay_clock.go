package main

import (
	"runtime"
	"slices"
	"strings"
	"time"
	_ "unsafe" // for go:linkname

	"k8s.io/klog/v2"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	testingclock "k8s.io/utils/clock/testing"
)

// orderClock is a clock that stands still during an instant, but for the times that the queue orders pods
// by: each of those is a nanosecond later than the one before, so that pods of one instant and priority are
// taken in the order in which they came to the queue. Upstream leaves that to its heap.
type orderClock struct {
	*testingclock.FakeClock
	stamps time.Duration
}

func newOrderClock(start time.Time) *orderClock {
	return &orderClock{FakeClock: testingclock.NewFakeClock(start)}
}

func (c *orderClock) set(to time.Time) {
	if !to.Equal(c.FakeClock.Now()) {
		c.SetTime(to)
		c.stamps = 0
	}
}

func (c *orderClock) Now() time.Time {
	callers := make([]uintptr, 1)
	runtime.Callers(2, callers)
	frame, _ := runtime.CallersFrames(callers).Next()
	isStamp := func(method string) bool { return strings.HasSuffix(frame.Function, method) }
	if !slices.ContainsFunc([]string{".newQueuedPodInfo", addsUnschedulable, ".AddAttemptedPodGroupIfNeeded"}, isStamp) {
		return c.FakeClock.Now()
	}
	c.stamps++
	return c.FakeClock.Now().Add(c.stamps)
}

// The queue's flushes are not exported. Upstream runs them in goroutines, on tickers.

//go:linkname flushBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoff(queue *internalqueue.PriorityQueue, logger klog.Logger)
