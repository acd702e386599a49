package main

import (
	"context"
	"fmt"
	"io"
	"reflect"
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
	still      map[reflect.Type]*still // the informers that are fed by hand, by kind
	rehearsal  bool                    // the API server answers, but nothing changes
	created    int                     // claims that the scheduler has created
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
	return newClusterByHand(ctx, cfg, s, nil, more...)
}

// newClusterByHand makes a scheduler whose informers of some more kinds are fed by hand, too.
func newClusterByHand(ctx context.Context, cfg *config.KubeSchedulerConfiguration, s *state, kinds []runtime.Object, more ...scheduler.Option) (*cluster, error) {
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
	c.still = map[reflect.Type]*still{}
	for _, kind := range slices.Concat([]runtime.Object{&v1.Pod{}, &v1.Node{}}, groupKinds, kinds) {
		informer := byHand(factory, kind)
		stored, _ := kept(kind)
		c.still[reflect.TypeOf(kind)], c.still[reflect.TypeOf(stored)] = informer, informer
	}
	c.podLister = c.still[reflect.TypeFor[*v1.Pod]()].GetIndexer()
	c.nodeLister = c.still[reflect.TypeFor[*v1.Node]()].GetIndexer()
	options := append([]scheduler.Option{
		scheduler.WithComponentConfigVersion(cfg.APIVersion),
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore),
		scheduler.WithPodMaxBackoffSeconds(cfg.PodMaxBackoffSeconds),
		scheduler.WithPodInitialBackoffSeconds(cfg.PodInitialBackoffSeconds),
		scheduler.WithExtenders(cfg.Extenders...),
		scheduler.WithParallelism(1),
		scheduler.WithClock(c.clock),
		scoresPlacements(cfg),
		scheduler.WithBuildFrameworkCapturer(func(profile config.KubeSchedulerProfile) {
			c.profiles = append(c.profiles, profile)
		}),
	}, more...)
	recorder := func(string) eventRecorder { return &events.FakeRecorder{} }
	if c.sched, err = scheduler.New(c.ctx, c.client, factory, nil, recorder, options...); err != nil {
		c.cancel()
		return nil, err
	}
	listenToGroups(c.sched)
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

// still is an informer that runs no goroutines and lists nothing: its store holds what is put there by
// hand, and its event handlers are called by hand or not at all.
type still struct {
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
	convert  func(any) any // to what the scheduler keeps of the kind
}

func (*still) Run(<-chan struct{})            {}
func (*still) RunWithContext(context.Context) {}
func (*still) HasSynced() bool                { return true }

func (s *still) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	s.handlers = append(s.handlers, handler)
	return s.SharedIndexInformer.AddEventHandler(handler)
}

func (s *still) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	s.handlers = append(s.handlers, handler)
	return s.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
}

// deliver is an informer's event: an object that came (old is nil), changed or went (now is nil).
func (s *still) deliver(old, now any) error {
	if s.convert != nil {
		old, now = s.convert(old), s.convert(now)
	}
	store := s.GetIndexer()
	var err error
	switch {
	case old == nil:
		err = store.Add(now)
	case now == nil:
		err = store.Delete(old)
	default:
		err = store.Update(now)
	}
	if err != nil {
		return err
	}
	for _, handler := range s.handlers {
		switch {
		case old == nil:
			handler.OnAdd(now, false)
		case now == nil:
			handler.OnDelete(old)
		default:
			handler.OnUpdate(old, now)
		}
	}
	return nil
}

// byHand makes the factory's informer of a kind a still one.
func byHand(factory informers.SharedInformerFactory, kind runtime.Object) *still {
	kind, convert := kept(kind)
	return factory.InformerFor(kind, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		return &still{SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, kind, resync, indexers), convert: convert}
	}).(*still)
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
	for _, obj := range s.others {
		if informer := c.still[reflect.TypeOf(obj)]; informer != nil {
			if err := informer.deliver(nil, obj); err != nil {
				return err
			}
		}
	}
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
		trackPod(c, pod)
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
