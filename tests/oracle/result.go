package main

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// outcome has the form of expected.json.
type outcome struct {
	Oracle     string            `json:"oracle"`
	Attempts   []*attempt        `json:"attempts"`
	Placements map[string]string `json:"placements,omitempty"`
	Pending    []string          `json:"pending,omitempty"`
	Gated      []string          `json:"gated,omitempty"`
	Evicted    []string          `json:"evicted,omitempty"`

	shared int // attempts that are no cycles of their own
}

type attempt struct {
	Pod            string                      `json:"pod"`
	Profile        string                      `json:"profile"`
	PreFilter      *verdict                    `json:"preFilter,omitempty"`
	Filter         map[string]*verdict         `json:"filter,omitempty"`
	EvaluatedNodes int                         `json:"evaluatedNodes"`
	Feasible       []string                    `json:"feasible,omitempty"`
	Scores         map[string]map[string]int64 `json:"scores,omitempty"`
	Totals         map[string]int64            `json:"totals,omitempty"`
	Ties           []string                    `json:"ties,omitempty"`
	Node           string                      `json:"node,omitempty"`
	Reserve        *verdict                    `json:"reserve,omitempty"`
	Permit         *verdict                    `json:"permit,omitempty"`
	Claims         map[string][]string         `json:"claims,omitempty"`
	Message        string                      `json:"message,omitempty"`
	PostFilter     *postFilter                 `json:"postFilter,omitempty"`
	Error          string                      `json:"error,omitempty"`
}

type verdict struct {
	Plugin  string   `json:"plugin,omitempty"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons,omitempty"`
}

type postFilter struct {
	Code       string                `json:"code"`
	Message    string                `json:"message,omitempty"`
	Node       string                `json:"node,omitempty"`
	Ties       []string              `json:"ties,omitempty"`
	Victims    []string              `json:"victims,omitempty"`
	Candidates map[string]*candidate `json:"candidates,omitempty"`
}

type candidate struct {
	Victims       []string `json:"victims"`
	PDBViolations int64    `json:"pdbViolations"`
}

func verdictOf(status *fwk.Status) *verdict {
	return &verdict{Plugin: status.Plugin(), Code: status.Code().String(), Reasons: status.Reasons()}
}
