package main

import (
	"errors"
	"reflect"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

// plugins are a profile's plugin instances. The framework has no list of them as such, but the
// ones that may reject a pod can be asked which events they wait for.
func plugins(fw framework.Framework) []enqueueExtensions { return fw.EnqueueExtensions() }

// settle waits until every cache of the scheduler has taken in what the API server holds;
// informers deliver in goroutines of their own.
func (c *cluster) settle(s *state) error {
	for begin := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		claims, err := c.claimsArrived(time.Since(begin) > 200*time.Millisecond)
		if err != nil {
			return err
		}
		if claims && (s == nil || c.volumesArrived(s) && classesArrived(c.draManager(), s)) {
			return nil
		}
		if time.Since(begin) > 10*time.Second {
			return errors.New("the scheduler's caches did not take in the state within ten seconds")
		}
	}
}

// claimsArrived also looks at the set of devices in use, which is made up a moment after a claim is
// known. Upstream's set loses a device that two claims held and one gave back, so it is not waited
// for without end.
func (c *cluster) claimsArrived(late bool) (bool, error) {
	claims, err := c.claims()
	if err != nil {
		return false, err
	}
	all, exclusive := sets.New[structured.DeviceID](), sets.New[structured.DeviceID]()
	manager := c.draManager()
	if cached, err := manager.ResourceClaims().List(); err != nil || len(cached) != len(claims) {
		return false, err
	}
	for i := range claims {
		claim := &claims[i]
		seen, err := manager.ResourceClaims().Get(claim.Namespace, claim.Name)
		if err != nil || seen.ResourceVersion != claim.ResourceVersion {
			return false, nil
		}
		if claim.Status.Allocation == nil {
			continue
		}
		for _, device := range claim.Status.Allocation.Devices.Results {
			id := structured.MakeDeviceID(device.Driver, device.Pool, device.Device)
			if device.AdminAccess == nil || !*device.AdminAccess {
				all.Insert(id)
				if device.ShareID == nil {
					exclusive.Insert(id)
				}
			}
		}
	}
	allocated, err := manager.ResourceClaims().ListAllAllocatedDevices()
	return late || allocated.Equal(all) || allocated.Equal(exclusive), err
}

func (c *cluster) volumesArrived(s *state) bool {
	for _, fw := range c.sched.Profiles {
		for _, plugin := range plugins(fw) {
			binding, ok := plugin.(*volumebinding.VolumeBinding)
			if !ok {
				continue
			}
			for _, obj := range s.others {
				switch obj := obj.(type) {
				case *v1.PersistentVolume:
					if _, err := cachedVolume(binding, obj.Name); err != nil {
						return false
					}
				case *v1.PersistentVolumeClaim:
					name := obj.Namespace + "/" + obj.Name
					if _, err := cachedClaim(binding, name); err != nil {
						return false
					}
				}
			}
		}
	}
	return true
}

// binderCache reads a cache that the volume binder keeps to itself: upstream starts scheduling
// without knowing whether the binder has seen the volumes, the oracle must know.
func binderCache[T any](binding *volumebinding.VolumeBinding, field string) *T {
	binder := reflect.ValueOf(binding.Binder).Elem()
	value := binder.FieldByName(field)
	if value.Kind() == reflect.Pointer {
		return (*T)(value.UnsafePointer())
	}
	return (*T)(unsafe.Pointer(value.UnsafeAddr()))
}
