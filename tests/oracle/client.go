package main

import (
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// newClient is a fake API server that, unlike the library's own, numbers the versions of
// resource claims (the assume cache drops what is not newer), refuses an update of an older one,
// and can hold a rehearsal, in which writes are answered and forgotten.
func newClient(objects []runtime.Object, rehearsal *bool) (*fake.Clientset, error) {
	client := fake.NewSimpleClientset()
	for _, obj := range objects {
		if err := client.Tracker().Add(obj); err != nil {
			return nil, err
		}
	}
	client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		obj := action.(clienttesting.UpdateAction).GetObject()
		if err := checkVersion(client.Tracker(), action.GetResource(), obj); err != nil {
			return true, nil, err
		}
		return false, nil, nextVersion(obj)
	})
	client.PrependReactor("patch", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		_, obj, err := clienttesting.ObjectReaction(client.Tracker())(action)
		if err != nil {
			return true, nil, err
		}
		if err := nextVersion(obj); err != nil {
			return true, nil, err
		}
		return true, obj, client.Tracker().Update(action.GetResource(), obj, action.GetNamespace())
	})
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if !*rehearsal {
			return false, nil, nil
		}
		switch action := action.(type) {
		case clienttesting.UpdateAction:
			return true, action.GetObject(), nil
		case clienttesting.PatchAction:
			obj, err := client.Tracker().Get(action.GetResource(), action.GetNamespace(), action.GetName())
			return true, obj, err
		case clienttesting.DeleteAction:
			return true, nil, nil
		}
		return false, nil, nil
	})
	return client, nil
}

// checkVersion refuses what was made of an older version than the one there is.
func checkVersion(tracker clienttesting.ObjectTracker, resource schema.GroupVersionResource, obj runtime.Object) error {
	updated, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	stored, err := tracker.Get(resource, updated.GetNamespace(), updated.GetName())
	if err != nil {
		return err
	}
	current, err := meta.Accessor(stored)
	if err != nil {
		return err
	}
	if current.GetResourceVersion() != updated.GetResourceVersion() {
		return apierrors.NewConflict(resource.GroupResource(), updated.GetName(), errors.New("the object has been modified"))
	}
	return nil
}

func nextVersion(obj runtime.Object) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	version, err := strconv.ParseInt(accessor.GetResourceVersion(), 10, 64)
	if err != nil {
		return err
	}
	accessor.SetResourceVersion(strconv.FormatInt(version+1, 10))
	return nil
}
