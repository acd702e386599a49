package main

import (
	"fmt"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	schedulinghelpers "k8s.io/kubernetes/pkg/apis/scheduling/v1"
)

// admit does the priority admission plugin's work on every pod that has no priority yet. Pods
// with one have passed admission before.
func (s *state) admit() error {
	classes := map[string]*schedulingv1.PriorityClass{}
	for _, class := range schedulinghelpers.SystemPriorityClasses() {
		classes[class.Name] = class
	}
	var byDefault *schedulingv1.PriorityClass
	for _, obj := range s.others {
		class, ok := obj.(*schedulingv1.PriorityClass)
		if !ok {
			continue
		}
		classes[class.Name] = class
		// Of several global defaults the lowest value counts, as in the admission plugin.
		if class.GlobalDefault && (byDefault == nil || class.Value < byDefault.Value) {
			byDefault = class
		}
	}
	for _, pod := range s.pods {
		spec := &pod.Spec
		class := classes[spec.PriorityClassName]
		if spec.Priority == nil && spec.PriorityClassName == "" {
			class = byDefault
		} else if spec.Priority == nil && class == nil {
			return fmt.Errorf("pod %s: no PriorityClass with name %s was found", key(pod), spec.PriorityClassName)
		}
		if spec.Priority == nil {
			value := int32(scheduling.DefaultPriorityWhenNoDefaultClassExists)
			if class != nil {
				value = class.Value
			}
			spec.Priority = &value
		}
		if spec.PreemptionPolicy == nil && class != nil {
			spec.PreemptionPolicy = class.PreemptionPolicy
		}
	}
	return s.admitGroups(classes, byDefault)
}
