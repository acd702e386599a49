package main

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// preemptionRecord is what one run of the preemption plugin found.
type preemptionRecord struct {
	found map[string]*extenderv1.Victims // every candidate, by node
	left  map[string]*extenderv1.Victims // what the last extender made of them, if one was asked
	ties  []string
}

// steady is the preemption plugin without its two draws of lots: the node to begin with, and the
// one to take of several equally good candidates. It also listens.
type steady struct {
	preemption.Interface
	chooser *preemption.Evaluator
	to      *listeners
}

// steadyPreemption takes the lots out of a profile's preemption plugin.
func steadyPreemption(fw framework.Framework, to *listeners) {
	for _, plugin := range plugins(fw) {
		if plugin, ok := plugin.(*defaultpreemption.DefaultPreemption); ok {
			upstream := plugin.Evaluator.Interface
			chooser := &preemption.Evaluator{PluginName: plugin.Name(), Handler: fw, Interface: upstream}
			plugin.Evaluator.Interface = &steady{Interface: upstream, chooser: chooser, to: to}
		}
	}
}

func (s *steady) GetOffsetAndNumCandidates(nodes int32) (int32, int32) {
	_, candidates := s.Interface.GetOffsetAndNumCandidates(nodes)
	return 0, candidates
}

// found notes what SelectVictimsOnNode says of a node.
func (s *steady) found(node fwk.NodeInfo, victims []*v1.Pod, violations int, status *fwk.Status) {
	if status.IsSuccess() && len(victims) > 0 {
		s.to.preemption.found[node.Node().Name] = &extenderv1.Victims{Pods: victims, NumPDBViolations: int64(violations)}
	}
}

// OrderedScoreFuncs is asked before one of several candidates is taken. The answer makes the
// first by name win among those that upstream holds equally good.
func (s *steady) OrderedScoreFuncs(ctx context.Context, victims map[string]*extenderv1.Victims) []func(string) int64 {
	best := s.better(ctx, victims)
	ties := []string{best}
	for node := range victims {
		if node != best && s.asGood(ctx, node, best, victims) {
			ties = append(ties, node)
		}
	}
	slices.Sort(ties)
	if len(ties) > 1 {
		s.to.preemption.ties = ties
	}
	return []func(string) int64{func(node string) int64 {
		if node == ties[0] {
			return 1
		}
		return 0
	}}
}

// asGood says whether upstream might take a node in place of the best: the node enters seven
// times over against the best, and the draw is repeated until missing a tie by chance is out of
// the question.
func (s *steady) asGood(ctx context.Context, node, best string, victims map[string]*extenderv1.Victims) bool {
	duel := map[string]*extenderv1.Victims{best: victims[best]}
	for i := range 7 {
		duel[node+strings.Repeat("'", i)] = victims[node]
	}
	for range 24 {
		if s.better(ctx, duel) != best {
			return true
		}
	}
	return false
}

func (s *steady) better(ctx context.Context, victims map[string]*extenderv1.Victims) string {
	var all []preemptionCandidate
	for node, on := range victims {
		all = append(all, &contender{node, on})
	}
	return s.chooser.SelectCandidate(ctx, all).Name()
}

type contender struct {
	node    string
	victims *extenderv1.Victims
}

func (c *contender) Name() string                 { return c.node }
func (c *contender) Victims() *extenderv1.Victims { return c.victims }

// NumPodGroupDisruptions is asked for from 1.37 on.
func (c *contender) NumPodGroupDisruptions() int { return 0 }

// inNodeOrder lists nodes in the order of the scheduler's node tree. Upstream takes rejected
// nodes from a map.
type inNodeOrder struct{ NodeToStatusReader }

func (m inNodeOrder) NodesForStatusCode(nodes nodeInfoLister, code fwk.Code) ([]fwk.NodeInfo, error) {
	found, err := m.NodeToStatusReader.NodesForStatusCode(nodes, code)
	if err != nil {
		return nil, err
	}
	all, err := nodes.List()
	if err != nil {
		return nil, err
	}
	position := make(map[string]int, len(all))
	for i, node := range all {
		position[node.Node().Name] = i
	}
	slices.SortFunc(found, func(a, b fwk.NodeInfo) int { return position[a.Node().Name] - position[b.Node().Name] })
	return found, nil
}

// postFilterOf tells a PostFilter run as expected.json does.
func (r *preemptionRecord) postFilterOf(result *postFilterResult, status *fwk.Status) *postFilter {
	p := &postFilter{Code: status.Code().String(), Message: status.Message(), Candidates: map[string]*candidate{}}
	for node, victims := range r.found {
		p.Candidates[node] = &candidate{Victims: keys(victims.Pods), PDBViolations: victims.NumPDBViolations}
	}
	if status.IsSuccess() && result != nil && result.NominatingInfo != nil {
		p.Node, p.Ties = result.NominatedNodeName, r.ties
		victims := r.found
		if r.left != nil {
			victims = r.left
		}
		if chosen := victims[p.Node]; chosen != nil {
			p.Victims = keys(chosen.Pods)
		}
	}
	return p
}

func keys(pods []*v1.Pod) []string {
	out := make([]string, 0, len(pods))
	for _, pod := range pods {
		out = append(out, key(pod))
	}
	return out
}
