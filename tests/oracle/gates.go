package main

import (
	"fmt"
	"strings"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsfeatures "k8s.io/component-base/metrics/features"
)

// untouched are the gates before any is set, with those that kube-scheduler's command adds.
var untouched featuregate.MutableFeatureGate

// keepGates is called before the first gate is set.
func keepGates() {
	utilruntime.Must(logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
	metricsfeatures.AddFeatureGates(utilfeature.DefaultMutableFeatureGate)
	untouched = utilfeature.DefaultMutableFeatureGate.DeepCopy()
}

// setGates sets feature gates for one question, and gives what sets them back.
func setGates(text string) (restore func(), err error) {
	before := map[string]bool{}
	for _, part := range strings.Split(text, ",") {
		name, _, _ := strings.Cut(part, "=")
		gate := featuregate.Feature(strings.TrimSpace(name))
		if gate == "" {
			continue
		}
		if !isGate(gate) {
			// Set would remember it, and refuse whatever is set later.
			return nil, fmt.Errorf("unrecognized feature gate: %s", gate)
		}
		before[string(gate)] = utilfeature.DefaultFeatureGate.Enabled(gate)
	}
	restore = func() { utilruntime.Must(utilfeature.DefaultMutableFeatureGate.SetFromMap(before)) }
	if err := utilfeature.DefaultMutableFeatureGate.Set(text); err != nil {
		restore()
		return nil, err
	}
	return restore, nil
}

func isGate(gate featuregate.Feature) bool {
	_, known := utilfeature.DefaultMutableFeatureGate.GetAll()[gate]
	return known
}

type gatesAnswer struct {
	Error string `json:"error"`
}

// refusalOf says why kube-scheduler refuses a value of --feature-gates, or nothing.
func refusalOf(text string) gatesAnswer {
	if err := untouched.DeepCopy().Set(text); err != nil {
		return gatesAnswer{err.Error()}
	}
	return gatesAnswer{}
}
