package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// recorder is the framework that SchedulePod is given: the real one, listening to what its
// plugins answer. What SchedulePod does with the answers is its own business.
type recorder struct {
	framework.Framework
	sched     *scheduler.Scheduler
	among     int // nodes that may be visited
	passed    int // nodes that passed in the search under way
	preFilter *fwk.Status
	filter    map[string]*verdict // the rejected nodes
	nodes     []string            // the nodes to be scored, so those that passed
	scores    []nodePluginScores
}

func record(sched *scheduler.Scheduler, fw framework.Framework) *recorder {
	return &recorder{Framework: fw, sched: sched, filter: map[string]*verdict{}}
}

func (r *recorder) RunPreFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (*preFilterResult, *fwk.Status, sets.Set[string]) {
	result, status, plugins := r.Framework.RunPreFilterPlugins(ctx, state, pod)
	r.preFilter = status
	r.among = r.candidates(result)
	return result, status, plugins
}

// candidates counts the nodes that PreFilter leaves.
func (r *recorder) candidates(result *preFilterResult) int {
	if result.AllNodes() {
		return nodesInPlacement(r)
	}
	count := 0
	for name := range result.NodeNames {
		if inPlacement(r, name) {
			count++
		}
	}
	return count
}

// PercentageOfNodesToScore is what SchedulePod asks for at the beginning of each search.
func (r *recorder) PercentageOfNodesToScore() *int32 {
	r.passed = 0
	return r.Framework.PercentageOfNodesToScore()
}

// RunFilterPluginsWithNominatedPods ends the search when enough nodes have passed: it lets one
// more node pass unseen, on which SchedulePod stops and drops that node.
func (r *recorder) RunFilterPluginsWithNominatedPods(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if r.passed > 0 && r.passed == r.enough(r.among) {
		return nil
	}
	status := r.Framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
	if status.IsSuccess() {
		r.passed++
	}
	if status.IsRejected() {
		r.filter[node.Node().Name] = verdictOf(status)
	}
	return status
}

func (r *recorder) RunPreScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	for _, node := range nodes {
		r.nodes = append(r.nodes, node.Node().Name)
	}
	return r.Framework.RunPreScorePlugins(ctx, state, pod, nodes)
}

// RunScorePlugins keeps the very slice that it hands over: SchedulePod adds the extenders'
// scores to its elements.
func (r *recorder) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) ([]nodePluginScores, *fwk.Status) {
	scores, status := r.Framework.RunScorePlugins(ctx, state, pod, nodes)
	orderTies(scores)
	r.scores = scores
	return scores, status
}

// recordingExtender is a real extender whose answers are listened to.
type recordingExtender struct {
	Extender
	to *listeners
}

// listeners is where the recorders of the attempt under way are found.
type listeners struct {
	cycle      *recorder
	preemption *preemptionRecord
	bound      func(*v1.Binding) error // hears of bindings by extenders; nil where nobody has to
}

func (e *recordingExtender) Filter(pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodeInfo, extenderv1.FailedNodesMap, extenderv1.FailedNodesMap, error) {
	passed, failed, final, err := e.Extender.Filter(pod, nodes)
	if err == nil {
		for name, reason := range failed {
			e.to.cycle.filter[name] = verdictOf(fwk.NewStatus(fwk.Unschedulable, reason))
		}
		for name, reason := range final {
			e.to.cycle.filter[name] = verdictOf(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason))
		}
	}
	return passed, failed, final, err
}

func (e *recordingExtender) ProcessPreemption(pod *v1.Pod, victims map[string]*extenderv1.Victims, nodes nodeInfoLister) (map[string]*extenderv1.Victims, error) {
	left, err := e.Extender.ProcessPreemption(pod, victims, nodes)
	if err == nil {
		e.to.preemption.left = left
	}
	return left, err
}

func (e *recordingExtender) Bind(binding *v1.Binding) error {
	err := e.Extender.Bind(binding)
	if err == nil && e.to.bound != nil {
		return e.to.bound(binding)
	}
	return err
}
