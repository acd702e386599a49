//go:build !kube136

package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// These minors have no pod groups, or others that are not followed.

var groupVersions []schema.GroupVersion

func groupOf(*v1.Pod) string { return "" }

func joinGroup(*cluster, *v1.Pod) {}

func preEnqueued(*cluster, *v1.Pod) bool { return true }

func (r *run) scheduleGroup([]string) error { return nil }
