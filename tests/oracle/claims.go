package main

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// extendedResources is what a pod's claim for extended resources is called before it has a name.
const extendedResources = "<extended-resources>"

// reactToClaims has the fake API server do what the real one does with the claims that the scheduler
// creates for extended resources, and what drivers do: binding conditions become true at once.
func (c *cluster) reactToClaims() {
	c.client.PrependReactor("create", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		claim := action.(clienttesting.CreateAction).GetObject().(*resourceapi.ResourceClaim).DeepCopy()
		c.created++
		claim.Name = fmt.Sprintf("%s%d", claim.GenerateName, c.created)
		claim.UID = types.UID(claim.Namespace + "/" + claim.Name)
		claim.ResourceVersion = "1"
		if err := c.client.Tracker().Create(action.GetResource(), claim, claim.Namespace); err != nil {
			return true, nil, err
		}
		if informer := c.still[reflect.TypeFor[*resourceapi.ResourceClaim]()]; informer != nil {
			if err := informer.deliver(nil, claim); err != nil {
				return true, nil, err
			}
		}
		// Upstream looks for it in its cache once, and then every second.
		return true, claim, c.awaitClaim(claim)
	})
	c.client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		prepareDevices(action.(clienttesting.UpdateAction).GetObject().(*resourceapi.ResourceClaim))
		return false, nil, nil
	})
}

// awaitClaim waits until the scheduler's cache has a new claim.
func (c *cluster) awaitClaim(claim *resourceapi.ResourceClaim) error {
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(100 * time.Microsecond) {
		if _, err := c.draManager().ResourceClaims().Get(claim.Namespace, claim.Name); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the scheduler's cache did not take in claim %s within ten seconds", claim.Name)
}

// draManager is the one that all profiles share.
func (c *cluster) draManager() sharedDRAManager {
	for _, fw := range c.sched.Profiles {
		return fw.SharedDRAManager()
	}
	return nil
}

// prepareDevices makes the binding conditions of a claim's devices true, unless one of the failure
// conditions is, and its allocation a new one: no time passes.
func prepareDevices(claim *resourceapi.ResourceClaim) {
	allocation := claim.Status.Allocation
	if allocation == nil {
		return
	}
	if allocation.AllocationTimestamp != nil {
		allocation.AllocationTimestamp = &metav1.Time{Time: time.Now()}
	}
	for i := range allocation.Devices.Results {
		result := &allocation.Devices.Results[i]
		if len(result.BindingConditions) == 0 {
			continue
		}
		device := deviceStatus(claim, result)
		failed := slices.ContainsFunc(result.BindingFailureConditions, func(name string) bool {
			return apimeta.IsStatusConditionTrue(device.Conditions, name)
		})
		for _, name := range result.BindingConditions {
			if !failed {
				condition := metav1.Condition{Type: name, Status: metav1.ConditionTrue}
				apimeta.SetStatusCondition(&device.Conditions, condition)
			}
		}
	}
}

// deviceStatus is a claim's status of a device, made where there is none.
func deviceStatus(claim *resourceapi.ResourceClaim, result *resourceapi.DeviceRequestAllocationResult) *resourceapi.AllocatedDeviceStatus {
	for i := range claim.Status.Devices {
		device := &claim.Status.Devices[i]
		if device.Driver == result.Driver && device.Pool == result.Pool && device.Device == result.Device {
			return device
		}
	}
	claim.Status.Devices = append(claim.Status.Devices, resourceapi.AllocatedDeviceStatus{
		Driver: result.Driver, Pool: result.Pool, Device: result.Device,
	})
	return &claim.Status.Devices[len(claim.Status.Devices)-1]
}

// tellClaims notes what the pod's claims were allocated.
func (r *run) tellClaims(a *attempt, pod *v1.Pod) error {
	claims, err := r.claims()
	if err != nil {
		return err
	}
	a.Claims = map[string][]string{}
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		for i := range claims {
			if claims[i].Namespace == pod.Namespace && claims[i].Name == *name {
				a.tellClaim(*name, &claims[i])
			}
		}
	}
	for i := range claims {
		if isExtendedOf(&claims[i], pod) {
			a.tellClaim(extendedResources, &claims[i])
		}
	}
	return nil
}

func (a *attempt) tellClaim(name string, claim *resourceapi.ResourceClaim) {
	if claim.Status.Allocation == nil {
		return
	}
	for _, d := range claim.Status.Allocation.Devices.Results {
		device := fmt.Sprintf("%s=%s/%s/%s", d.Request, d.Driver, d.Pool, d.Device)
		a.Claims[name] = append(a.Claims[name], device)
	}
}

// isExtendedOf says whether a claim was made for a pod's extended resources.
func isExtendedOf(claim *resourceapi.ResourceClaim, pod *v1.Pod) bool {
	owner := metav1.GetControllerOf(claim)
	return claim.Annotations["resource.kubernetes.io/extended-resource-claim"] == "true" &&
		owner != nil && owner.UID == pod.UID
}
