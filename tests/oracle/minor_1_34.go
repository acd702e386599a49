//go:build !from135

package main

import (
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

type (
	Extender           = framework.Extender
	NodeToStatusReader = framework.NodeToStatusReader

	enqueueExtensions = framework.EnqueueExtensions
	nodeInfoLister    = framework.NodeInfoLister
	nodePluginScores  = framework.NodePluginScores
	nominatingInfo    = framework.NominatingInfo
	postFilterResult  = framework.PostFilterResult
	preFilterResult   = framework.PreFilterResult
	sharedDRAManager  = framework.SharedDRAManager
)

const (
	modeNoop     = framework.ModeNoop
	modeOverride = framework.ModeOverride

	clearsNomination = false // where no PostFilter plugin runs
)

// orderTies does nothing: this minor draws lots, and choose corrects the draw.
func orderTies([]nodePluginScores) {}

// countCycles does nothing: this minor has no batches.
func (r *run) countCycles() {}

func cachedVolume(binding *volumebinding.VolumeBinding, name string) (any, error) {
	return binderCache[volumebinding.PVAssumeCache](binding, "pvCache").GetPV(name)
}

func cachedClaim(binding *volumebinding.VolumeBinding, name string) (any, error) {
	return binderCache[volumebinding.PVCAssumeCache](binding, "pvcCache").GetPVC(name)
}
