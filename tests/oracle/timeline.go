package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// timeline is a file of kind Timeline: what happens to a cluster, and when.
type timeline struct {
	metav1.TypeMeta
	Start     *time.Time                 `json:"start"`
	Until     *float64                   `json:"until"`
	Templates map[string]json.RawMessage `json:"templates"`
	Events    []*entry                   `json:"events"`
}

// entry is one event of a timeline.
type entry struct {
	At       json.RawMessage  `json:"at"`
	Pod      json.RawMessage  `json:"pod"`
	Template string           `json:"template"`
	RunsFor  *float64         `json:"runsFor"`
	Put      json.RawMessage  `json:"put"`
	Delete   *deleted         `json:"delete"`
	Grace    float64          `json:"gracePeriod"`
	Change   *json.RawMessage `json:"change"`

	at instant
}

type deleted struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

// instant is microseconds since the timeline's start.
type instant int64

const second instant = 1_000_000

func instantOf(seconds float64) instant { return instant(math.Round(seconds * float64(second))) }

func (i instant) seconds() float64        { return float64(i) / float64(second) }
func (i instant) duration() time.Duration { return time.Duration(i) * time.Microsecond }

// loadTimeline decodes a timeline whose events may be in any order.
func loadTimeline(text []byte) (*timeline, error) {
	t := &timeline{}
	if err := yaml.UnmarshalStrict(text, t); err != nil {
		return nil, err
	}
	if t.Start == nil || t.Until == nil {
		return nil, errors.New("the oracle takes timelines with start and until only")
	}
	for i, e := range t.Events {
		if err := t.complete(e); err != nil {
			return nil, fmt.Errorf("events[%d]: %w", i, err)
		}
	}
	slices.SortStableFunc(t.Events, func(a, b *entry) int { return int(a.at - b.at) })
	return t, nil
}

// complete sets an entry's instant, and makes the pod of a template.
func (t *timeline) complete(e *entry) error {
	if e.Change != nil {
		return errors.New("the oracle does not take change")
	}
	var seconds float64
	if err := json.Unmarshal(e.At, &seconds); err != nil {
		var moment time.Time
		if err := json.Unmarshal(e.At, &moment); err != nil {
			return err
		}
		seconds = moment.Sub(*t.Start).Seconds()
	}
	e.at = instantOf(seconds)
	if e.Template == "" {
		return nil
	}
	var name string
	if err := json.Unmarshal(e.Pod, &name); err != nil {
		return err
	}
	var pod map[string]any
	if err := json.Unmarshal(t.Templates[e.Template], &pod); err != nil {
		return fmt.Errorf("template %s: %w", e.Template, err)
	}
	metadata, _ := pod["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	pod["metadata"] = metadata
	if namespace, alone, ok := strings.Cut(name, "/"); ok {
		metadata["namespace"], name = namespace, alone
	}
	metadata["name"] = name
	text, err := json.Marshal(pod)
	e.Pod = text
	return err
}

// object is what an entry creates or replaces, as the API server would hold it.
func (e *entry) object(others []runtime.Object) (runtime.Object, error) {
	s := &state{others: slices.Clone(others)}
	raw, inherited := e.Put, metav1.TypeMeta{}
	if e.Pod != nil {
		raw, inherited = e.Pod, metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	}
	if err := s.add(raw, inherited); err != nil {
		return nil, err
	}
	if err := s.admit(); err != nil {
		return nil, err
	}
	switch {
	case len(s.pods) == 1:
		return s.pods[0], nil
	case len(s.nodes) == 1:
		return s.nodes[0], nil
	case len(s.others) == len(others)+1:
		return s.others[len(others)], nil
	}
	return nil, fmt.Errorf("one object expected, of a kind that the scheduler knows: %s", raw)
}

// find is the stored object that an entry deletes; nil for a pod that is not there any more, since nobody
// knows beforehand which pods are evicted.
func (d *deleted) find(c *cluster) (metav1.Object, error) {
	for kind, informer := range c.still {
		if kind.Elem().Name() != d.Kind {
			continue
		}
		key := d.Name
		if !clusterScoped[d.Kind] {
			key = metav1.NamespaceDefault + "/" + d.Name
			if d.Namespace != "" {
				key = d.Namespace + "/" + d.Name
			}
		}
		obj, ok, err := informer.GetIndexer().GetByKey(key)
		if err == nil && !ok && d.Kind == "Pod" {
			return nil, nil
		}
		if err != nil || !ok {
			return nil, fmt.Errorf("no %s %s to delete", d.Kind, key)
		}
		return meta.Accessor(obj)
	}
	return nil, fmt.Errorf("the oracle does not replay changes of %s", d.Kind)
}

// startOf is when a pod began to run, in whole seconds as the API server keeps times.
func startOf(moment time.Time) *metav1.Time { return &metav1.Time{Time: moment.Truncate(time.Second)} }

// graceOf is how long an evicted pod runs on.
func graceOf(pod *v1.Pod) instant {
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		return instant(*seconds) * second
	}
	return v1.DefaultTerminationGracePeriodSeconds * second
}
