// Prints the feature gates that kube-scheduler of this module's Kubernetes release knows, as JSON:
// gate → stage, default, locked, the gates that it needs, and whether its default is the other one where
// --min-compatibility-version is this minor. releases.py makes ksched's table of it.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsfeatures "k8s.io/component-base/metrics/features"
	_ "k8s.io/kubernetes/pkg/features"
)

type gate struct {
	Stage   string   `json:"stage"`
	Default bool     `json:"default"`
	Locked  bool     `json:"locked,omitempty"`
	Needs   []string `json:"needs,omitempty"`
	Flips   bool     `json:"flips,omitempty"`
}

// compatible is the gates of releases whose defaults depend on a compatibility version.
type compatible interface {
	EmulationVersion() *version.Version
	SetEmulationVersionAndMinCompatibilityVersion(emulation, compatibility *version.Version) error
}

// dependent is the gates of releases that know which gate needs which.
type dependent interface {
	Dependencies() map[featuregate.Feature][]featuregate.Feature
}

func main() {
	// As cmd/kube-scheduler/app registers them, beside those that pkg/features does.
	must(logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
	metricsfeatures.AddFeatureGates(utilfeature.DefaultMutableFeatureGate)
	needs := map[featuregate.Feature][]featuregate.Feature{}
	if gates, ok := utilfeature.DefaultMutableFeatureGate.(dependent); ok {
		needs = gates.Dependencies()
	}
	table := map[string]gate{}
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		row := gate{Stage: string(spec.PreRelease), Default: spec.Default, Locked: spec.LockToDefault}
		for _, other := range needs[name] {
			row.Needs = append(row.Needs, string(other))
		}
		table[string(name)] = row
	}
	if gates, ok := utilfeature.DefaultMutableFeatureGate.(compatible); ok {
		own := version.MajorMinor(gates.EmulationVersion().Major(), gates.EmulationVersion().Minor())
		must(gates.SetEmulationVersionAndMinCompatibilityVersion(own, own))
		for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
			row := table[string(name)]
			row.Flips = row.Default != spec.Default
			table[string(name)] = row
		}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	must(out.Encode(table))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
