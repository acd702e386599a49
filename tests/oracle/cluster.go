package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	testingclock "k8s.io/utils/clock/testing"
)

// cluster is a scheduler as kube-scheduler builds it, over a fake API server.
//
// Its informers run, but for pods and nodes: those are put into the scheduler's cache and queue
// by hand, so that they arrive in the order of the rules and when the rules say.
type cluster struct {
	ctx      context.Context
	cancel   context.CancelFunc
	client   *fake.Clientset
	clock    *testingclock.FakeClock
	sched    *scheduler.Scheduler
	profiles []config.KubeSchedulerProfile // with the plugins' arguments filled in

	podLister  cache.Indexer // what the scheduler's pod lister sees
	nodeLister cache.Indexer
	rehearsal  bool // the API server answers, but nothing changes
	created    int  // claims that the scheduler has created
}

// panicked holds the first panic of a worker, if there was one.
var panicked atomic.Value

// quieten keeps the scheduler's log off standard error, and turns off the two feature gates that
// only say when an API call is made: rule 5 has victims leave at once.
func quieten() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil
	// A plugin that panics does so in a worker's goroutine: note it, and go on with the batch.
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, p any) {
		panicked.CompareAndSwap(nil, fmt.Sprint(p))
	})
	keepGates()
	gates := "SchedulerAsyncPreemption=false,SchedulerAsyncAPICalls=false"
	utilruntime.Must(utilfeature.DefaultMutableFeatureGate.Set(gates))
}

func newCluster(ctx context.Context, cfg *config.KubeSchedulerConfiguration, s *state, more ...scheduler.Option) (*cluster, error) {
	c := &cluster{clock: testingclock.NewFakeClock(time.Time{})}
	c.ctx, c.cancel = context.WithCancel(ctx)
	var objects []runtime.Object
	if s != nil {
		objects = s.others
	}
	var err error
	if c.client, err = newClient(objects, &c.rehearsal); err != nil {
		c.cancel()
		return nil, err
	}
	c.reactToClaims()
	factory := informers.NewSharedInformerFactory(c.client, 0)
	c.podLister = byHand(factory, &v1.Pod{}).GetIndexer()
	c.nodeLister = byHand(factory, &v1.Node{}).GetIndexer()
	options := append([]scheduler.Option{
		scheduler.WithComponentConfigVersion(cfg.APIVersion),
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore),
		scheduler.WithPodMaxBackoffSeconds(cfg.PodMaxBackoffSeconds),
		scheduler.WithPodInitialBackoffSeconds(cfg.PodInitialBackoffSeconds),
		scheduler.WithExtenders(cfg.Extenders...),
		scheduler.WithParallelism(1),
		scheduler.WithClock(c.clock),
		scheduler.WithBuildFrameworkCapturer(func(profile config.KubeSchedulerProfile) {
			c.profiles = append(c.profiles, profile)
		}),
	}, more...)
	recorder := func(string) eventRecorder { return &events.FakeRecorder{} }
	if c.sched, err = scheduler.New(c.ctx, c.client, factory, nil, recorder, options...); err != nil {
		c.cancel()
		return nil, err
	}
	if s == nil {
		return c, nil
	}
	c.start(factory)
	if err := c.fill(s); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *cluster) close() {
	c.cancel()
	c.sched.SchedulingQueue.Close()
	_ = c.sched.Profiles.Close()
}

// still is an informer that is never told anything, so that its store holds what is put there by
// hand and no event handler runs.
type still struct{ cache.SharedIndexInformer }

func (still) Run(<-chan struct{})            {}
func (still) RunWithContext(context.Context) {}
func (still) HasSynced() bool                { return true }

// byHand makes the factory's informer of a kind a still one.
func byHand(factory informers.SharedInformerFactory, kind runtime.Object) cache.SharedIndexInformer {
	return factory.InformerFor(kind, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		return still{cache.NewSharedIndexInformer(&cache.ListWatch{}, kind, resync, indexers)}
	})
}

func (c *cluster) start(factory informers.SharedInformerFactory) {
	factory.Start(c.ctx.Done())
	// The factory's own wait looks every 100 ms only; with a closed channel it looks once.
	once := make(chan struct{})
	close(once)
	synced := func() bool {
		for _, ok := range factory.WaitForCacheSync(once) {
			if !ok {
				return false
			}
		}
		return true
	}
	for !synced() {
		time.Sleep(200 * time.Microsecond)
	}
}

// fill puts nodes, running pods and pending pods where an informer's events would have put them.
func (c *cluster) fill(s *state) error {
	logger := klog.FromContext(c.ctx)
	slices.SortStableFunc(s.nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, node := range s.nodes {
		if err := c.nodeLister.Add(node); err != nil {
			return err
		}
		c.sched.Cache.AddNode(logger, node)
	}
	for _, pod := range s.pods {
		if finished(pod) {
			continue
		}
		if err := c.client.Tracker().Add(pod); err != nil {
			return err
		}
		if err := c.podLister.Add(pod); err != nil {
			return err
		}
		if pod.Spec.NodeName == "" {
			continue
		}
		if err := c.sched.Cache.AddPod(logger, pod); err != nil {
			return err
		}
	}
	return c.settle(s)
}

// pod is the API server's present version of a pod, or nil.
func (c *cluster) pod(key string) *v1.Pod {
	obj, found, _ := c.podLister.GetByKey(key)
	if !found {
		return nil
	}
	return obj.(*v1.Pod)
}

// claims are the API server's present resource claims.
func (c *cluster) claims() ([]resourceapi.ResourceClaim, error) {
	list, err := c.client.ResourceV1().ResourceClaims(metav1.NamespaceAll).List(c.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	return list.Items, nil
}
