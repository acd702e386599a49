package main

// The scheduler's own count of nodes that are enough is not exported, and upstream's nodes are visited in parallel, so
// that a search goes on for a while after enough were found; the rules have it stop there.

// extenders are those of the scheduler; its frameworks hold this same slice.
func extenders(c *cluster) []Extender {
	for _, fw := range c.sched.Profiles {
		return fw.Extenders()
	}
	return nil
}

// enough is how many of so many nodes the scheduler wants for a pod of a profile.
func (r *recorder) enough(nodes int) int {
	wanted := r.HasScorePlugins()
	for _, extender := range r.Framework.Extenders() {
		wanted = wanted || extender.IsFilter() || extender.IsPrioritizer()
	}
	if !wanted {
		return 1 // nothing will tell the nodes apart
	}
	return int(numFeasibleNodesToFind(r.sched, r.Framework.PercentageOfNodesToScore(), int32(nodes)))
}
