package main

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// speed is what a bench measures. Seconds are those of the scheduling loop alone.
type speed struct {
	Oracle        string  `json:"oracle"`
	Nodes         int     `json:"nodes"`
	Pods          int     `json:"pods"`
	Placed        int     `json:"placed"`
	Evicted       int     `json:"evicted"`
	Seconds       float64 `json:"seconds"`
	PodsPerSecond float64 `json:"podsPerSecond"`
	Parallelism   int32   `json:"parallelism"`
}

// bench lets the scheduler place the pending pods as fast as it can: its own SchedulePod with the
// configuration's parallelism, drawing its own lots, the cache's AssumePod, and the plugins of Reserve,
// Permit and PreBind. Of these only PreBind writes to the API server, which is a fake one, and only for
// resource claims; nothing is bound.
func bench(texts [][]byte, configText []byte, percentage int32) (*speed, error) {
	cfg, err := loadConfig(configText)
	if err != nil {
		return nil, err
	}
	if percentage >= 0 {
		cfg.PercentageOfNodesToScore = &percentage
		for i := range cfg.Profiles {
			cfg.Profiles[i].PercentageOfNodesToScore = nil
		}
	}
	s, err := loadState(texts)
	if err != nil {
		return nil, err
	}
	c, err := newCluster(context.Background(), cfg, s, scheduler.WithParallelism(cfg.Parallelism))
	if err != nil {
		return nil, &refusal{"framework", err.Error()}
	}
	defer c.close()
	r := &run{cluster: c, out: &outcome{}}
	r.enqueue(s.pods, cfg.Profiles[0].SchedulerName)
	pods := make([]*v1.Pod, 0, len(r.queue))
	for _, name := range r.queue {
		pods = append(pods, r.pod(name))
	}
	evicted := c.evictAtOnce()
	m := &speed{Oracle: version(), Nodes: len(s.nodes), Pods: len(pods), Parallelism: cfg.Parallelism}
	begin := time.Now()
	for _, pod := range pods {
		placed, err := c.place(pod)
		if err != nil {
			return nil, err
		}
		if placed {
			m.Placed++
		}
	}
	m.Seconds = time.Since(begin).Seconds()
	m.PodsPerSecond = float64(m.Pods) / m.Seconds
	close(evicted)
	for range evicted {
		m.Evicted++
	}
	return m, nil
}

// place schedules a pod, after preemption if it must be.
func (c *cluster) place(pod *v1.Pod) (bool, error) {
	fw := c.sched.Profiles[pod.Spec.SchedulerName]
	for second := range 2 {
		state := framework.NewCycleState()
		result, err := schedulePod(c, fw, state, pod)
		if err == nil {
			return c.reserve(fw, state, pod, result.SuggestedHost)
		}
		var misfit *framework.FitError
		if !errors.As(err, &misfit) || second > 0 || !fw.HasPostFilterPlugins() {
			return false, nil
		}
		found, _ := fw.RunPostFilterPlugins(c.ctx, state, pod, misfit.Diagnosis.NodeToStatus)
		if found == nil || found.Mode() == modeNoop || found.NominatedNodeName == "" {
			return false, nil
		}
		old := pod
		pod = pod.DeepCopy()
		pod.Status.NominatedNodeName = found.NominatedNodeName
		if err := c.podLister.Update(pod); err != nil {
			return false, err
		}
		updateQueued(c, old, pod)
	}
	return false, nil
}

// reserve is what follows when a node was found, up to but not with the binding itself.
func (c *cluster) reserve(fw framework.Framework, state fwk.CycleState, pod *v1.Pod, node string) (bool, error) {
	logger := klog.FromContext(c.ctx)
	assumed := assumedPod(c, state, pod, node)
	if err := c.sched.Cache.AssumePod(logger, assumed); err != nil {
		return false, err
	}
	c.sched.SchedulingQueue.DeleteNominatedPodIfExists(assumed)
	status := fw.RunReservePluginsReserve(c.ctx, state, assumed, node)
	if status.IsSuccess() {
		status = permit(c, fw, state, assumed, node)
	}
	if status.IsSuccess() {
		// Binding volumes would wait for a volume controller.
		state.SetSkipPreBindPlugins(sets.New(names.VolumeBinding))
		status = fw.RunPreBindPlugins(c.ctx, state, assumed, node)
	}
	if !status.IsSuccess() {
		fw.RunReservePluginsUnreserve(c.ctx, state, assumed, node)
		return false, c.sched.Cache.ForgetPod(logger, assumed)
	}
	deleteQueued(c, pod)
	return true, c.podLister.Update(assumed)
}

// evictAtOnce has victims leave the cache without a detour through the API server, and counts
// them in a channel.
func (c *cluster) evictAtOnce() chan string {
	evicted := make(chan string, 1<<20)
	for _, fw := range c.sched.Profiles {
		for _, plugin := range plugins(fw) {
			plugin, ok := plugin.(*defaultpreemption.DefaultPreemption)
			if !ok {
				continue
			}
			evictWith(plugin, func(victim *v1.Pod) error {
				evicted <- key(victim)
				if err := c.podLister.Delete(victim); err != nil {
					return err
				}
				return c.sched.Cache.RemovePod(klog.FromContext(c.ctx), victim)
			})
		}
	}
	return evicted
}
